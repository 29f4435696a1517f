#include "engine/agent/state/measurement_history.h"

#include "engine/agent/state/manifest_store.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;

/// A node that sparkplan manages.
LocalNode managed(const ScratchDirectory& root) {
  auto node = LocalNode::open(root.path());
  REQUIRE(node);
  REQUIRE(write_manifest(Manifest{}, *node));
  return std::move(*node);
}

MeasurementsReply keep(LocalNode& node, const std::map<std::string, double>& values) {
  const auto reply = keep_measurements({values}, node);
  REQUIRE(reply);
  return *reply;
}

}  // namespace

TEST_CASE("earlier measurements are returned oldest first, and only for the requested checks") {
  const ScratchDirectory root;
  auto node = managed(root);
  CHECK(keep(node, {{"tcp/a/b/A", 90.5}, {"tcp/a/b/B", 1}}).earlier.empty());
  CHECK(keep(node, {{"tcp/a/b/A", 91}}).earlier == std::map<std::string, std::vector<double>>{{"tcp/a/b/A", {90.5}}});
  CHECK(keep(node, {{"tcp/a/b/A", 92}}).earlier.at("tcp/a/b/A") == std::vector<double>{90.5, 91});
  CHECK(keep(node, {{"tcp/a/b/B", 2}}).earlier.at("tcp/a/b/B") == std::vector<double>{1});
  CHECK(root.mode(kMeasurementsFile) == 0600);
  CHECK(root.mode(kMeasurementsDirectory) == 0700);
}

TEST_CASE("the summary of the latest run is kept, with the time on the node") {
  const ScratchDirectory root;
  auto node = managed(root);
  CHECK_FALSE(last_verify(node));
  REQUIRE(keep_measurements({{}, VerifySummary{"", "all", 8, 1, 2}}, node));
  REQUIRE(keep_measurements({{{"tcp/a/b/A", 1}}, VerifySummary{"", "tcp", 9, 0, 0}}, node));
  // A run of another kind does not replace it.
  REQUIRE(keep_measurements({{{"tcp/a/b/A", 1}}, std::nullopt}, node));
  const auto last = last_verify(node);
  REQUIRE(last);
  CHECK(last->level == "tcp");
  CHECK(last->passed == 9);
  CHECK(last->time.size() == std::string("2026-03-01T12:00:00Z").size());
  CHECK(root.mode(kLastVerifyFile) == 0600);
  root.write(kLastVerifyFile, "{\"passed\": \"many\"}\n");
  CHECK_FALSE(last_verify(node));
}

TEST_CASE("on an unmanaged node no measurement is kept") {
  const ScratchDirectory root;
  auto node = LocalNode::open(root.path());
  REQUIRE(node);
  REQUIRE(keep_measurements({{}, VerifySummary{}}, *node));
  CHECK(keep(*node, {{"tcp/a/b/A", 1}}).earlier.empty());
  CHECK_FALSE(root.exists("/var"));
}

TEST_CASE("the history has every stored value with its run and the versions of the node") {
  const ScratchDirectory root;
  auto node = managed(root);
  REQUIRE(measurement_history(node));
  CHECK(measurement_history(node)->checks.empty());
  const MeasurementsRequest first{{{"tcp/a/b/A", 1}, {"tcp/a/b/B", 2}}, std::nullopt, "run-1", {{"kernel", "6.11"}}};
  const MeasurementsRequest second{{{"tcp/a/b/A", 3}}, std::nullopt, "run-2", {{"kernel", "6.14"}}};
  REQUIRE(keep_measurements(first, node));
  REQUIRE(keep_measurements(second, node));
  const auto all = measurement_history(node);
  REQUIRE(all);
  CHECK(all->checks.at("tcp/a/b/A") == StoredValues{{1, 3}, {1, 2}});
  CHECK(all->checks.at("tcp/a/b/B") == StoredValues{{2}, {1}});
  REQUIRE(all->runs.size() == 2);
  CHECK(all->runs[0].run == "run-1");
  CHECK(all->runs[0].versions.at("kernel") == "6.11");
  CHECK(all->runs[1].run == "run-2");
  CHECK(all->runs[1].versions.at("kernel") == "6.14");
  CHECK(root.mode(kMeasuredRunsFile) == 0600);
}

TEST_CASE("values that an older version stored have no run, and new ones follow them") {
  const ScratchDirectory root;
  auto node = managed(root);
  root.write(kMeasurementsFile, "{\"id\":\"tcp/a/b/A\",\"values\":[1,2]}\n");
  keep(node, {{"tcp/a/b/A", 3}});
  const auto history = measurement_history(node);
  REQUIRE(history);
  CHECK(history->checks.at("tcp/a/b/A") == StoredValues{{1, 2, 3}, {0, 0, 1}});
}

TEST_CASE("a damaged history is an error, a damaged run is left out, and reading changes nothing") {
  const ScratchDirectory root;
  auto node = managed(root);
  keep(node, {{"tcp/a/b/A", 1}});
  root.write(kMeasuredRunsFile, "not JSON\n{\"number\":0}\n{\"number\":1,\"run\":\"run-1\",\"later\":1}\n");
  const auto history = measurement_history(node);
  REQUIRE(history);
  REQUIRE(history->runs.size() == 1);
  CHECK(history->runs[0].run == "run-1");
  root.write(kMeasurementsFile, "not JSON\n");
  CHECK_FALSE(measurement_history(node));
  CHECK(root.read(kMeasurementsFile) == "not JSON\n");
}

TEST_CASE("the newest runs are kept") {
  const ScratchDirectory root;
  auto node = managed(root);
  std::string lines;
  for (int run = 1; run <= 300; ++run) lines += "{\"number\":" + std::to_string(run) + "}\n";
  root.write(kMeasuredRunsFile, lines);
  keep(node, {{"tcp/a/b/A", 1}});
  const auto history = measurement_history(node);
  REQUIRE(history);
  REQUIRE(history->runs.size() == kKeptRuns);
  CHECK(history->runs.back().number == 301);
  CHECK(history->checks.at("tcp/a/b/A").runs == std::vector<std::int64_t>{301});
}

TEST_CASE("a reply has a bounded number of values, of the checks that were made last") {
  const ScratchDirectory root;
  auto node = managed(root);
  std::string lines;
  std::string values;
  for (int value = 0; value < 50; ++value) values += value == 0 ? "1" : ",1";
  for (int check = 0; check < 2000; ++check) {
    lines += "{\"id\":\"tcp/a/" + std::to_string(check) + "\",\"values\":[" + values + "]}\n";
  }
  root.write(kMeasurementsFile, lines);
  REQUIRE(lines.size() < kMaxMeasurementsBytes);
  const auto history = measurement_history(node);
  REQUIRE(history);
  CHECK(history->checks.size() == kMostRepliedValues / 50);
  CHECK(history->checks.contains("tcp/a/1999"));
  CHECK_FALSE(history->checks.contains("tcp/a/0"));
}

TEST_CASE("the newest fifty measurements per check are kept, within a total size") {
  const ScratchDirectory root;
  auto node = managed(root);
  for (int run = 0; run < 60; ++run) keep(node, {{"tcp/a/b/A", run}});
  const auto earlier = keep(node, {{"tcp/a/b/A", 0}}).earlier.at("tcp/a/b/A");
  REQUIRE(earlier.size() == kKeptMeasurements);
  CHECK(earlier.front() == 10);
  CHECK(earlier.back() == 59);

  std::map<std::string, double> many;
  for (int i = 0; i < 30'000; ++i) many.emplace("tcp/" + std::string(20, 'x') + std::to_string(i), 1.5);
  keep(node, many);
  CHECK(root.read(kMeasurementsFile).size() <= kMaxMeasurementsBytes);
  CHECK(keep(node, {{"tcp/a/b/A", 1}}).earlier.empty());
  CHECK(keep(node, {{"tcp/a/b/A", 1}}).earlier.at("tcp/a/b/A") == std::vector<double>{1});
}

TEST_CASE("unreadable measurements are moved aside, and new ones are kept") {
  for (const std::string damaged : {"no JSON", "{\"id\":\"x\"}", "{\"id\":\"x\",\"values\":[\"1\"]}", "[]"}) {
    INFO(damaged);
    const ScratchDirectory root;
    auto node = managed(root);
    root.write(kMeasurementsFile, damaged + "\n");
    const auto reply = keep(node, {{"tcp/a/b/A", 1}});
    CHECK(reply.set_aside == std::string(kMeasurementsFile) + ".damaged");
    CHECK(root.read(reply.set_aside) == damaged + "\n");
    CHECK(keep(node, {{"tcp/a/b/A", 2}}).earlier.at("tcp/a/b/A") == std::vector<double>{1});
  }
}

}  // namespace sparkplan
