// Whole runs in which a node does not say what is in its files, or lists names that no other node would list.
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/sync/sync_bench.h"

namespace sparkplan {
namespace {

using test::kFirst;
using test::kSecond;

CopyEntry file_with(const std::string& path, const std::string& sum, std::int64_t size = 1) {
  CopyEntry entry;
  entry.path = path;
  entry.size = size;
  entry.mode = 0644;
  entry.sum = sum;
  return entry;
}

/// n1 is the source; every question gets a yes.
struct ReadingBench : test::Bench {
  explicit ReadingBench(const std::string& kind = "path", const std::string& name = "/srv/models/one") : Bench(3) {
    declare("models", Value::map({{kind, name}, {"from", "n1"}}));
    options.may_replace = [](const ContentReport&) { return true; };
  }

  bool has_begun() const {
    return std::ranges::any_of(nodes, [](const test::CopyNode& node) { return !node.all<CopyBegin>().empty(); });
  }
};

void check_only_source_failed(const SyncReport& report, const std::string& file) {
  const auto& nodes = report.items.at(0).nodes;
  CHECK(nodes[0].status == ContentStatus::kFailed);
  REQUIRE(nodes[0].error);
  INFO(nodes[0].error->message);
  CHECK(nodes[0].error->message.find(file) != std::string::npos);
  CHECK_FALSE(nodes[1].error);
  CHECK_FALSE(nodes[2].error);
}

}  // namespace

TEST_CASE("sync run: a source that was to read a file and lists no sum of it fails alone, and replaces nothing") {
  ReadingBench bench;
  const bool has_other_file = GENERATE(true, false);
  std::vector<CopyEntry> entries{file_with("weights", "")};
  if (has_other_file) entries.push_back(file_with("README", kSecond));
  bench.nodes[0].reaction = test::that_lists(entries);
  for (const std::size_t other : {1U, 2U}) {
    bench.nodes[other].reaction = test::that_lists({file_with("weights", kFirst), file_with("README", kFirst)});
  }
  check_only_source_failed(bench.run(), "weights");
  CHECK_FALSE(bench.has_begun());
}

TEST_CASE("sync run: a receiver that was to read a file and lists no sum of it fails alone") {
  ReadingBench bench;
  bench.nodes[0].reaction = test::that_lists({file_with("a", kFirst), file_with("b", kFirst)});
  bench.nodes[1].reaction = test::that_lists({file_with("a", "")});
  bench.nodes[2].reaction = test::that_lists({file_with("a", kFirst)});
  const auto report = bench.run();
  const auto& nodes = report.items[0].nodes;
  CHECK_FALSE(nodes[0].error);
  CHECK(nodes[1].error);
  CHECK(nodes[2].status == ContentStatus::kSent);
  CHECK(bench.nodes[1].all<CopyBegin>().empty());
}

TEST_CASE("sync run: a source that knows less of a file after the reading than before fails alone") {
  ReadingBench bench;
  const CopyEntry before = GENERATE(file_with("weights", kFirst), file_with("weights", kFirst, 2));
  bench.nodes[0].reaction =
      test::that_lists({file_with("a", kFirst), before}, {file_with("a", kFirst), file_with("weights", "")});
  // The reading of "a" makes the source list its files again.
  bench.nodes[1].reaction = test::that_lists({file_with("a", ""), file_with("weights", kFirst)},
                                             {file_with("a", kFirst), file_with("weights", kFirst)});
  bench.nodes[2].reaction = test::that_lists({file_with("a", kFirst), file_with("weights", kFirst)});
  check_only_source_failed(bench.run(), "weights");
  CHECK_FALSE(bench.has_begun());
}

TEST_CASE("sync run: a receiver that changes a file while it reads is not compared, and its source does not fail") {
  ReadingBench bench;
  bench.nodes[0].reaction = test::that_lists({file_with("a", kFirst), file_with("weights", "")});
  bench.nodes[1].reaction = test::that_lists({file_with("a", ""), file_with("weights", kFirst, 2)},
                                             {file_with("a", kFirst), file_with("weights", kFirst)});
  bench.nodes[2].reaction = test::that_lists({file_with("a", kFirst)});
  const auto report = bench.run();
  const auto& nodes = report.items[0].nodes;
  CHECK_FALSE(nodes[0].error);
  CHECK(nodes[1].error);
  CHECK(nodes[2].status == ContentStatus::kSent);
  CHECK(bench.nodes[1].all<CopyBegin>().empty());
}

TEST_CASE("sync run: a yes lets only the nodes of the question have files replaced") {
  ReadingBench bench;
  bench.nodes[0].reaction = test::that_lists({file_with("README", kFirst), file_with("b", kFirst)});
  bench.nodes[1].reaction = test::that_lists({file_with("README", kSecond)});
  bench.nodes[2].reaction = test::that_lists({file_with("README", kFirst)});
  const auto report = bench.run();
  for (const std::size_t receiver : {1U, 2U}) {
    CHECK(report.items[0].nodes[receiver].status == ContentStatus::kSent);
    REQUIRE(bench.nodes[receiver].all<CopyBegin>().size() == 1);
    CHECK(bench.nodes[receiver].all<CopyBegin>()[0].replace == (receiver == 1));
  }
}

TEST_CASE("sync run: a source that lists an unfinished download of the hub fails, as no receiver would list it") {
  const std::string name = GENERATE("blobs/x.lock", "blobs/x.incomplete");
  CopyEntry blobs;
  blobs.path = "blobs";
  blobs.kind = CopyKind::kDirectory;
  blobs.mode = 0755;
  SECTION("a model of the hub") {
    ReadingBench bench("hub", "org/name");
    bench.nodes[0].reaction = test::that_lists({blobs, file_with(name, kFirst)});
    for (const std::size_t other : {1U, 2U}) bench.nodes[other].reaction = test::that_lists({blobs});
    const auto report = bench.run();
    CHECK(report.items[0].nodes[0].status == ContentStatus::kFailed);
    CHECK_FALSE(report.items[0].nodes[1].error);
    CHECK_FALSE(bench.has_begun());
  }
  SECTION("a directory has such names as any other") {
    ReadingBench bench;
    bench.nodes[0].reaction = test::that_lists({blobs, file_with(name, kFirst)});
    for (const std::size_t other : {1U, 2U}) bench.nodes[other].reaction = test::that_lists({blobs});
    CHECK(bench.run().items[0].nodes[1].status == ContentStatus::kSent);
  }
}

}  // namespace sparkplan
