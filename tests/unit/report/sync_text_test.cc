// The output of `sync`.
#include "engine/core/json.h"
#include "engine/report/sync_report.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

ContentReport item_of(ContentKind kind, const std::string& name) {
  ContentReport report;
  report.item.kind = kind;
  report.item.name = name;
  report.bytes = 30'000'000;
  report.files = 3;
  report.nodes.resize(2);
  report.nodes[0].node = "spark-01";
  report.nodes[0].is_source = true;
  report.nodes[1].node = "spark-02";
  return report;
}

PrunedTree tree_of_two() {
  PrunedTree tree;
  tree.node = "spark-02";
  tree.path = "/srv/models/old";
  tree.files = 2;
  tree.bytes = 5'000'000;
  return tree;
}

}  // namespace

TEST_CASE("sync text: a node without a common fabric is a warning, before and after it has received") {
  SyncReport report;
  report.items.push_back(item_of(ContentKind::kHub, "org/name"));
  ContentOfNode& node = report.items[0].nodes[1];
  node.status = ContentStatus::kMissing;
  node.comparison.missing = {"refs/main"};
  node.comparison.missing_bytes = 30'000'000;
  CHECK_FALSE(has(to_text(report, true, TextStyle{}), "warning"));
  node.network = Network::kManagement;
  const auto before = to_text(report, true, TextStyle{});
  CHECK(has(before, "warning: no common fabric network: spark-02 receives over the management network, encrypted"));
  node.status = ContentStatus::kSent;
  CHECK(has(to_text(report, false, TextStyle{}), "warning: no common fabric network"));
  const auto json = to_json_value(report);
  CHECK(json.find("items")->list_items()->front().text_or("kind", "") == "hub");
}

TEST_CASE("sync text: an image has its id, and another one is named") {
  SyncReport report;
  report.items.push_back(item_of(ContentKind::kImage, "local/vllm:1"));
  report.items[0].image_id = std::string(64, 'a');
  ContentOfNode& node = report.items[0].nodes[1];
  node.status = ContentStatus::kDiffers;
  node.comparison.differing = {"image bbbbbbbbbbbb"};
  const auto text = to_text(report, true, TextStyle{});
  CHECK(has(text, "docker, 30.0 MB, id aaaaaaaaaaaa"));
  CHECK(has(text, "another image of this name: image bbbbbbbbbbbb"));
  CHECK_FALSE(has(text, "file"));
  node.comparison = {};
  node.comparison.missing = {"local/vllm:1"};
  node.status = ContentStatus::kMissing;
  CHECK(has(to_text(report, true, TextStyle{}), "the image is missing"));
}

TEST_CASE("sync text: what a prune removes, keeps and does not remove") {
  SyncReport report;
  report.pruned.push_back(tree_of_two());
  CHECK(has(question_text(report.pruned), "/srv/models/old: 5.0 MB in 2 files"));
  CHECK(exit_code(report) == ExitCode::kDone);
  report.pruned[0].removed = true;
  report.pruned[0].kept_files = 1;
  report.pruned[0].kept = {"mine\x1b"};
  const auto text = to_text(report, false, TextStyle{});
  CHECK(has(text, "removed; 1 file not removed"));
  CHECK_FALSE(has(text, "\x1b"));
  CHECK(has(text, "1 directory pruned"));
  report.pruned[0].removed = false;
  report.pruned[0].error = make_error(ErrorCode::kRefused, "not removed");
  CHECK(static_cast<int>(exit_code(report)) == 9);
  const Value json = to_json_value(report);
  CHECK(json.find("pruned")->list_items()->front().text_or("status", "") == "refused");
}

}  // namespace sparkplan
