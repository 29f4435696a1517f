// Questions about files that nodes have with other content, if the file names no source.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/core/text.h"
#include "engine/report/sync_report.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/unit/sync/sync_bench.h"

namespace sparkplan {
namespace {

using test::has;
using test::kFirst;
using test::kSecond;

CopyEntry weights(std::int64_t size, const std::string& sum) {
  CopyEntry entry;
  entry.path = "weights.bin";
  entry.size = size;
  entry.mode = 0644;
  entry.sum = sum;
  return entry;
}

/// n1 and n2 have the same file. n3 has it with a byte more, so that it becomes the source. n4 has these files.
struct LoneSourceBench : test::Bench {
  explicit LoneSourceBench(const std::vector<CopyEntry>& of_fourth, const std::string& sum = kFirst,
                           const std::string& from = "")
      : Bench(4) {
    Value record = Value::map({{"path", "/srv/models/one"}});
    if (!from.empty()) record.set("from", from);
    declare("models", record);
    for (const std::size_t honest : {0U, 1U}) nodes[honest].reaction = test::that_lists({weights(1000, sum)});
    nodes[2].reaction = test::that_lists({weights(1001, kSecond)});
    nodes[3].reaction = test::that_lists(of_fourth);
    options.may_replace = [this](const ContentReport& item) {
      replace_questions.push_back(question_text(item));
      return true;
    };
    options.may_spread = [this](const ContentReport& item) {
      spread_questions.push_back(spread_question_text(item));
      return spreads;
    };
  }

  SyncReport look() {
    RunOptions run;
    run.agent = test::options_for(nodes, test::kMostStarts);
    return look_at_content(cluster, run);
  }
  bool has_begun() const {
    return std::ranges::any_of(nodes, [](const test::CopyNode& node) { return !node.all<CopyBegin>().empty(); });
  }

  bool spreads = true;
  std::vector<std::string> replace_questions;
  std::vector<std::string> spread_questions;
};

}  // namespace

TEST_CASE("sync run: without `from`, the question to replace files names the source, and counts the nodes against it") {
  LoneSourceBench bench({});
  (void)bench.run();
  REQUIRE(bench.replace_questions.size() == 1);
  CHECK(bench.replace_questions[0] ==
        "/srv/models/one: the file names no source, and sparkplan chose n3.\n"
        "These nodes have other content than n3:\n"
        "  ! n[1-2]: weights.bin\n"
        "Only n3 has its version of 1 file, and 2 other nodes agree on another one: weights.bin\n");
}

TEST_CASE(
    "sync run: files that the nodes have not read count as one version if their sizes are equal, and it says so") {
  LoneSourceBench bench({}, "");
  (void)bench.run();
  REQUIRE(bench.replace_questions.size() == 1);
  CHECK(has(bench.replace_questions[0], "2 other nodes agree on another one (by size): weights.bin"));
}

TEST_CASE("sync run: with `from`, the question to replace files names that source, and counts no nodes against it") {
  LoneSourceBench bench({}, kFirst, "n3");
  (void)bench.run();
  REQUIRE(bench.replace_questions.size() == 1);
  CHECK(bench.replace_questions[0] ==
        "/srv/models/one: these nodes have other content than the source n3:\n  ! n[1-2]: weights.bin\n");
  CHECK(bench.spread_questions.empty());
}

TEST_CASE("sync run: without `from`, the notes of a plan name the node compared with, and count the nodes against it") {
  const bool has_read = GENERATE(true, false);
  LoneSourceBench bench({}, has_read ? kFirst : "");
  Report plan;
  add_content(plan, bench.look());
  REQUIRE(plan.diagnostics.size() == 3);
  CHECK(has(plan.diagnostics[0].message, "n3: /srv/models/one: only n3 has its version of 1 file, and 2 other nodes"));
  CHECK(has(plan.diagnostics[0].message, " agree on another one"));
  CHECK(has(plan.diagnostics[0].hint, "on n3, and name the node with the right ones in `from`"));
  CHECK(has(plan.diagnostics[1].message, "n[1-2]: /srv/models/one: 1 file differs"));
  CHECK(has(plan.diagnostics[2].message, "n4: /srv/models/one: "));
  for (const std::size_t note : {1U, 2U}) CHECK(has(plan.diagnostics[note].message, "; compared with n3"));
}

TEST_CASE("sync run: with `from`, the notes of a plan count no nodes against that node") {
  LoneSourceBench bench({}, kFirst, "n3");
  Report plan;
  add_content(plan, bench.look());
  REQUIRE(plan.diagnostics.size() == 2);
  CHECK(has(plan.diagnostics[0].message, "n[1-2]: /srv/models/one: 1 file differs"));
}

TEST_CASE("sync run: a yes to replace a file sends it to no node that lacks it, without a yes to that") {
  LoneSourceBench bench({});
  bench.spreads = GENERATE(false, true);
  const auto report = bench.run();
  REQUIRE(bench.spread_questions.size() == 1);
  CHECK(has(bench.spread_questions[0], "only n3 has 1 file: weights.bin"));
  CHECK(bench.has_begun() == bench.spreads);
  CHECK(report.items[0].error.has_value() != bench.spreads);
  CHECK((report.items[0].nodes[3].status == ContentStatus::kSent) == bench.spreads);
}

TEST_CASE("sync run: a yes to replace a file is enough if every node that gets it was in the question") {
  LoneSourceBench bench({weights(1000, kFirst)});
  const auto report = bench.run();
  CHECK(bench.spread_questions.empty());
  for (const std::size_t receiver : {0U, 1U, 3U}) {
    CHECK(report.items[0].nodes[receiver].status == ContentStatus::kSent);
  }
}

TEST_CASE("sync run: without a yes, the error of each node with other content names the source") {
  LoneSourceBench bench({weights(1000, kFirst)});
  bench.options.may_replace = nullptr;
  const auto report = bench.run();
  for (const std::size_t honest : {0U, 1U, 3U}) {
    const auto& error = report.items[0].nodes[honest].error;
    REQUIRE(error);
    CHECK(error->message == "1 file with other content than on the source n3: weights.bin");
    CHECK(has(error->hint, "name the node with the right ones in `from`"));
  }
  CHECK_FALSE(bench.has_begun());
}

TEST_CASE("sync run: of a cluster of eight nodes, the question to replace files fits into 100 columns") {
  ContentReport report;
  report.item.kind = ContentKind::kHub;
  report.item.name = "meta-llama/Llama-3.1-70B-Instruct";
  for (int i = 1; i <= 8; ++i) {
    ContentOfNode& node = report.nodes.emplace_back();
    node.node = "spark-0" + std::to_string(i);
    node.is_source = i == 8;
    if (node.is_source) continue;
    node.status = ContentStatus::kDiffers;
    node.comparison.differing.add("refs/main");
  }
  report.outvoted = {{"refs/main"}, 7, false};
  const std::string question = question_text(report);
  CHECK(has(question, "sparkplan chose spark-08."));
  CHECK(has(question, "  ! spark-[01-07]: refs/main\n"));
  CHECK(has(question, "7 other nodes agree on another one: refs/main"));
  for (const auto line : split(question, '\n')) CHECK(line.size() <= 100);
}

}  // namespace sparkplan
