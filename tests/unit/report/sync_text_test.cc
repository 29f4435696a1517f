// The output of `sync`.
#include <limits>

#include "engine/core/json.h"
#include "engine/report/sync_report.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"

namespace sparkplan {
namespace {

using test::has;

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
  // Only a node that receives has a network.
  const auto& nodes = *json.find("items")->list_items()->front().find("nodes")->list_items();
  CHECK(nodes[0].find("network") == nullptr);
  CHECK(nodes[1].text_or("network", "") == "management");
}

TEST_CASE("sync text: without a source, the reason of each node that was not read is there") {
  SyncReport report;
  report.items.push_back(item_of(ContentKind::kDirectory, "/srv/models/one"));
  ContentReport& item = report.items[0];
  item.error = make_error(ErrorCode::kNotFound, "spark-01 does not have it, or was not read");
  item.nodes[0].status = ContentStatus::kFailed;
  item.nodes[0].error = make_error(ErrorCode::kRefused, "below is on another file system than its tree");
  const auto text = to_text(report, false, TextStyle{});
  CHECK(has(text, "! spark-01 does not have it, or was not read"));
  CHECK(has(text, "! spark-01 failed: below is on another file system than its tree"));
  CHECK(exit_code(report) == ExitCode::kRefused);
}

TEST_CASE("sync text: with quiet, only what needs attention is printed") {
  TextStyle quiet;
  quiet.quiet = true;
  SyncReport report;
  report.items.push_back(item_of(ContentKind::kDirectory, "/srv/models/llama"));
  ContentOfNode& node = report.items[0].nodes[1];
  node.status = ContentStatus::kSent;
  node.bytes_received = 30'000'000;
  CHECK(to_text(report, false, quiet).empty());
  CHECK(has(to_text(report, false, TextStyle{}), "1 node received 30.0 MB"));
  node.status = ContentStatus::kFailed;
  node.error = make_error(ErrorCode::kFailed, "the disk is broken");
  const std::string failed = to_text(report, false, quiet);
  CHECK(has(failed, "/srv/models/llama"));
  CHECK(has(failed, "the disk is broken"));
  CHECK(has(failed, "1 node failed"));
}

TEST_CASE("sync text: a slow node is named") {
  SyncReport report;
  report.items.push_back(item_of(ContentKind::kDirectory, "/srv/models/one"));
  ContentOfNode& node = report.items[0].nodes[1];
  node.status = ContentStatus::kSent;
  node.bytes_received = 30'000'000;
  node.seconds = 20;
  const auto slow_in_json = [&] {
    const auto json = to_json_value(report);
    return json.find("items")->list_items()->front().find("nodes")->list_items()->back().find("slow") != nullptr;
  };
  CHECK_FALSE(slow_in_json());
  node.slow = true;
  CHECK(slow_in_json());
  const auto text = to_text(report, false, TextStyle{});
  CHECK(has(text, "spark-02 received 30.0 MB in 20.0 s; slow; the others did not wait for it"));
  node.slower_than = "spark-03";
  CHECK(has(to_text(report, false, TextStyle{}), "slow compared with spark-03; the others did not wait for it"));
  const auto json = to_json_value(report);
  const Value* named =
      json.find("items")->list_items()->front().find("nodes")->list_items()->back().find("slower_than");
  REQUIRE(named != nullptr);
  CHECK(*named == Value("spark-03"));
  node.slower_than.clear();
  node.status = ContentStatus::kPresent;
  node.stopped = make_error(ErrorCode::kUnreachable, "the connection ended");
  CHECK(has(to_text(report, false, TextStyle{}), "spark-02 present; sent no more: the connection ended"));
  CHECK(exit_code(report) == ExitCode::kDone);
  node.status = ContentStatus::kSent;
  node.delays = true;
  CHECK(has(to_text(report, false, TextStyle{}), "slow, and the cables leave the nodes behind it no other way"));
}

TEST_CASE("sync text: missing content has the bytes in unfinished files, and other content has its bytes") {
  SyncReport report;
  report.items.push_back(item_of(ContentKind::kDirectory, "/srv/models/one"));
  ContentOfNode& node = report.items[0].nodes[1];
  node.status = ContentStatus::kMissing;
  node.comparison.missing = {"a", "b"};
  node.comparison.missing_bytes = 400'000'000'000;
  const auto in_json = [&] {
    return to_json_value(report).find("items")->list_items()->front().find("nodes")->list_items()->back();
  };
  CHECK(in_json().find("bytes_unfinished") == nullptr);
  CHECK_FALSE(has(to_text(report, true, TextStyle{}), "unfinished"));
  node.comparison.unfinished_bytes = 390'000'000'000;
  CHECK(in_json().integer_or("bytes_unfinished", 0) == 390'000'000'000);
  CHECK(in_json().integer_or("bytes_missing", 0) == 400'000'000'000);
  const std::string missing =
      "400 GB missing (2 files), 390 GB of them are there unfinished, 10.0 GB are still to be sent";
  Report plan;
  add_content(plan, report);
  REQUIRE(plan.diagnostics.size() == 1);
  CHECK(plan.diagnostics[0].message == "spark-02: /srv/models/one: " + missing + "; compared with spark-01");
  node.status = ContentStatus::kDiffers;
  node.comparison.differing = {"c"};
  node.comparison.differing_bytes = 5'000'000'000;
  Report other;
  add_content(other, report);
  CHECK(other.diagnostics[0].message ==
        "spark-02: /srv/models/one: " + missing + "; 1 file differs (5.0 GB): c; compared with spark-01");
  node.comparison.differing.add("d");
  Report two;
  add_content(two, report);
  CHECK(has(two.diagnostics[0].message, "; 2 files differ (5.0 GB): c, d"));
  report.items[0].item.from = "spark-01";
  Report named;
  add_content(named, report);
  CHECK_FALSE(has(named.diagnostics[0].message, "compared with"));
}

TEST_CASE("sync text: progress has the rate and the time that is left") {
  CHECK(progress_text({1'000'000'000, 5'000'000'000, 0, 2e9}) == "1.0 GB of 5.0 GB, 2.0 GB/s, 2 s left");
  CHECK(progress_text({0, 5'000'000'000, 0, 0}) == "0 bytes of 5.0 GB");
  CHECK(progress_text({1'000'000'000, 5'000'000'000, 0, 2e9, TransferPhase::kReading}) ==
        "read 1.0 GB of 5.0 GB, 2.0 GB/s, 2 s left");
  CHECK(progress_text({5'000'000'000, 5'000'000'000, 0, 2e9, TransferPhase::kReceiving, true}) == "5.0 GB of 5.0 GB");
  ContentItem item;
  item.name = "/srv/models/one";
  const auto line = progress_json(item, "spark-02", {1, 4, 1, 2});
  CHECK_FALSE(has(line, "\n"));
  const auto json = parse_plain_json(line);
  REQUIRE(json);
  CHECK(json->text_or("node", "") == "spark-02");
  for (const char* key : {"name", "bytes_done", "bytes_total", "bytes_per_second", "seconds_left"}) {
    CHECK(json->find(key) != nullptr);
  }
  CHECK(json->text_or("doing", "") == "receiving");
  CHECK_FALSE(has(progress_json(item, "spark-02", {0, 4, 0, 0}), "seconds_left"));
  CHECK(has(progress_json(item, "spark-02", {1, 4, 0, 2, TransferPhase::kReading}), "\"reading\""));
  CHECK(has(progress_json(item, "spark-02", {0, 0, 0, 0, TransferPhase::kSaving}), "\"saving\""));
  CHECK(has(progress_json(item, "spark-02", {0, 0, 0, 0, TransferPhase::kLoading}), "\"loading\""));
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

TEST_CASE("sync text: a node that names thousands of directories to prune has twenty of them in the question") {
  std::vector<PrunedTree> trees;
  for (int node = 1; node <= 2; ++node) {
    for (int i = 0; i < 1000; ++i) {
      PrunedTree& tree = trees.emplace_back(tree_of_two());
      tree.node = "spark-0" + std::to_string(node);
      tree.path += std::to_string(i);
      if (node == 2) tree.bytes = std::numeric_limits<std::int64_t>::max();
    }
  }
  const auto question = question_text(trees);
  CHECK(has(question, "/srv/models/old19: 5.0 MB in 2 files"));
  CHECK_FALSE(has(question, "/srv/models/old20:"));
  CHECK(has(question, "980 more directories: 4.9 GB in 1960 files"));
  CHECK(has(question, "980 more directories: 9223372 TB in 1960 files"));
  trees.back().error = make_error(ErrorCode::kBusy, "in use");
  CHECK(has(question_text(trees), "in 1960 files, 1 with an error"));
}

TEST_CASE("sync text: a name of thousands of characters is cut in a question") {
  ContentReport report = item_of(ContentKind::kDirectory, "/srv/models/one");
  report.unshared.add(std::string(4000, 'x'));
  CHECK(spread_question_text(report).size() < 400);
  report.nodes[1].status = ContentStatus::kDiffers;
  report.nodes[1].comparison.differing.add(std::string(4000, 'x'));
  CHECK(question_text(report).size() < 400);
  PrunedTree tree = tree_of_two();
  tree.path += std::string(4000, 'x');
  CHECK(question_text(std::vector<PrunedTree>{tree}).size() < 600);
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

TEST_CASE("sync text: progress for programs is one object on one line") {
  ContentItem item;
  item.name = "/srv/a\nb";
  const std::string line = progress_json(item, "spark-02", {50, 100, 0, 10.0});
  CHECK_FALSE(has(line, "\n"));
  const auto object = decode_json(line);
  REQUIRE(object);
  CHECK(object->text_or("name", "") == item.name);
  CHECK(object->integer_or("bytes_done", 0) == 50);
}

TEST_CASE("sync text: a rate that no integer holds is shown as the largest one") {
  const auto claimed = static_cast<double>(std::numeric_limits<std::int64_t>::max());
  CHECK(progress_text({0, 100, 0, claimed}) == "0 bytes of 100 bytes, 1000000 TB/s, 0 s left");
}

}  // namespace sparkplan
