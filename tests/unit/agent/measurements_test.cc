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
