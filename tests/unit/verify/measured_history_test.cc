// The earlier measurements of `verify`, as the nodes report them.
#include "engine/verify/measured_history.h"

#include <limits>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/verify/sample_context.h"

namespace sparkplan {
namespace {

/// The id of a run at noon of that day in March.
std::string run_at(std::size_t day) {
  const std::string text = std::to_string(day);
  return "202603" + std::string(text.size() < 2 ? "0" : "") + text + "T120000Z-4f9a1c07";
}

/// The stored values of one check, one per day from the tenth on.
NodeMeasurements kept(const std::string& node, const std::string& id, const std::vector<double>& values) {
  NodeMeasurements one;
  one.node = node;
  StoredValues stored;
  for (std::size_t at = 0; at < values.size(); ++at) {
    const auto number = static_cast<std::int64_t>(at) + 1;
    one.measured.runs.push_back({number, run_at(10 + at), {{"kernel", "6.11"}}});
    stored.values.push_back(values[at]);
    stored.runs.push_back(number);
  }
  one.measured.checks.emplace(id, std::move(stored));
  return one;
}

NodeMeasurements only_runs(const std::string& node, std::vector<JournaledRun> runs) {
  NodeMeasurements one;
  one.node = node;
  one.runs = std::move(runs);
  return one;
}

/// An apply one second before noon of that day: just before the run of `verify`.
JournaledRun applied(std::size_t day, const std::string& who = "anna@laptop") {
  JournaledRun run;
  run.run = run_at(day).replace(9, 6, "115959");
  run.who = who;
  run.operation = "apply";
  run.changes = 3;
  return run;
}

constexpr const char* kId = "tcp/spark-01/spark-02/A";
const std::vector<double> kStep{100, 101, 99, 100, 50, 51, 49};

}  // namespace

TEST_CASE("a value that changes and stays changed is a lasting change") {
  const auto change = change_in(kStep, false);
  REQUIRE(change);
  CHECK(change->at == 4);
  CHECK(change->before == 100);
  CHECK(change->after == 50);
  CHECK(change->lasting);
  CHECK(change->worse);
  const auto better = change_in({50, 50, 50, 100, 100}, false);
  REQUIRE(better);
  CHECK_FALSE(better->worse);
  const auto longer = change_in({50, 50, 50, 100, 100}, true);
  REQUIRE(longer);
  CHECK(longer->worse);
}

TEST_CASE("a newest value that is worse than the usual one is a change that may not last") {
  const auto change = change_in({100, 102, 98, 85}, false);
  REQUIRE(change);
  CHECK(change->at == 3);
  CHECK(change->before == 100);
  CHECK(change->after == 85);
  CHECK_FALSE(change->lasting);
  CHECK(change->worse);
  CHECK(change_in({10, 10, 10, 12}, true));
  CHECK_FALSE(change_in({10, 10, 10, 12}, false));
  CHECK_FALSE(change_in({100, 102, 98, 91}, false));
  CHECK_FALSE(change_in({100, 100, 50}, false));
}

TEST_CASE("an improvement of the past does not hide that the newest value is slow") {
  const auto change = change_in({50, 50, 50, 100, 100, 100, 100, 100, 100, 60}, false);
  REQUIRE(change);
  CHECK(change->at == 9);
  CHECK(change->before == 100);
  CHECK(change->worse);
}

TEST_CASE("noise, a single bad value in the past and a small change are no change") {
  CHECK_FALSE(change_in({}, false));
  CHECK_FALSE(change_in({100}, false));
  CHECK_FALSE(change_in({100, 100, 100, 50, 100, 100, 100}, false));
  CHECK_FALSE(change_in({100, 101, 99, 100, 95, 96, 94}, false));
  CHECK_FALSE(change_in({100, 50, 100, 50, 100, 50, 100, 100}, false));
  CHECK_FALSE(change_in({100, 120, 80, 110, 90, 85, 105}, false));
}

TEST_CASE("a change names the apply and the versions beside it, on the nodes of the check") {
  const testing::SampleContext sample(3);
  auto first = kept("spark-01", kId, kStep);
  first.measured.runs[4].versions["kernel"] = "6.14";
  first.runs = {applied(14), applied(13, "too early"), applied(15, "too late")};
  const auto second = only_runs("spark-02", {applied(14, "bert@desk")});
  const auto third = only_runs("spark-03", {applied(14, "other node")});
  const auto histories = check_histories(sample.cluster, {first, second, third});
  REQUIRE(histories.size() == 1);
  CHECK(histories[0].id == kId);
  CHECK(histories[0].node == "spark-01");
  REQUIRE(histories[0].change);
  CHECK(histories[0].change->beside ==
        std::vector<std::string>{"kernel 6.11 -> 6.14 on spark-01",
                                 "apply by anna@laptop, 3 changes, 2026-03-14T11:59:59Z, on spark-01",
                                 "apply by bert@desk, 3 changes, 2026-03-14T11:59:59Z, on spark-02"});
}

TEST_CASE("values of older versions belong to no run, and their change is not explained") {
  const testing::SampleContext sample(2);
  auto node = kept("spark-01", kId, kStep);
  node.measured.checks.at(kId).runs.assign(kStep.size(), 0);
  node.runs = {applied(14)};
  const auto histories = check_histories(sample.cluster, {node});
  REQUIRE(histories.size() == 1);
  CHECK(histories[0].values[0].run.empty());
  REQUIRE(histories[0].change);
  CHECK(histories[0].change->beside.empty());
  CHECK(past_runs(histories).empty());
}

TEST_CASE("what a node claims of other nodes, of checks that are none, and of numbers that are none is left out") {
  const testing::SampleContext sample(2);
  auto node = kept("spark-01", "tcp/spark-02/spark-03/A", {1, 2, 3});
  const auto add = [&](const std::string& id, std::vector<double> values) {
    node.measured.checks[id] = {std::move(values), {1}};
  };
  add("nonsense", {1});
  add("", {1});
  add("gossip/spark-01/x", {1});
  add("mtu/spark-01/spark-02/A", {9000});
  add(kId, {1, std::numeric_limits<double>::quiet_NaN(), -5, 0, 1e300, 2});
  add("nccl/all/all_reduce", {20});
  node.measured.runs[0].run = "yesterday\x1b[31m";
  const auto histories = check_histories(sample.cluster, {node});
  REQUIRE(histories.size() == 2);
  CHECK(histories[0].id == "nccl/all/all_reduce");
  CHECK(histories[1].id == kId);
  CHECK(histories[1].values.size() == 2);
  CHECK(histories[1].values[0].run.empty());
}

TEST_CASE("a node that claims many values and many runs is bounded") {
  const testing::SampleContext sample(2);
  auto node = kept("spark-01", kId, kStep);
  for (int at = 0; at < 1000; ++at) node.runs.push_back(applied(14));
  auto histories = check_histories(sample.cluster, {node});
  REQUIRE(histories.at(0).change);
  CHECK(histories[0].change->beside.size() == 7);
  CHECK(histories[0].change->beside.back() == "and 994 more");
  node.measured.checks.at(kId).values.assign(1000, 7);
  histories = check_histories(sample.cluster, {node});
  REQUIRE(histories.size() == 1);
  CHECK(histories[0].values.size() == 50);
}

TEST_CASE(
    "a node that invents hundreds of runs does not push those of other nodes out of sight beside a slower value") {
  const testing::SampleContext sample(3);
  NodeMeasurements liar;
  liar.node = "spark-01";
  for (int at = 0; at < 256; ++at) liar.runs.push_back(applied(14, "nobody"));
  auto keeper = kept("spark-02", "nccl/all/all_reduce", kStep);
  keeper.measured.runs[4].versions["kernel"] = "6.14";
  keeper.runs = {applied(14)};
  const auto third = only_runs("spark-03", {applied(14, "bert@desk")});
  const auto histories = check_histories(sample.cluster, {liar, keeper, third});
  REQUIRE(histories.at(0).change);
  const std::string what = ", 3 changes, 2026-03-14T11:59:59Z, on ";
  const std::string invented = "apply by nobody" + what + "spark-01";
  CHECK(histories[0].change->beside == std::vector<std::string>{"kernel 6.11 -> 6.14 on spark-02",
                                                                "apply by anna@laptop" + what + "spark-02", invented,
                                                                "apply by bert@desk" + what + "spark-03", invented,
                                                                invented, "and 253 more"});
}

TEST_CASE("each of thousands of slower checks that a node invents has a few lines, and their versions are kept once") {
  const testing::SampleContext sample(3);
  NodeMeasurements node;
  node.node = "spark-01";
  Versions versions;
  for (int i = 0; i < 16; ++i) versions[std::to_string(i)] = std::string(300, 'v');
  Versions others;
  for (int i = 0; i < 16; ++i) others[std::to_string(i)] = std::string(300, 'w');
  node.measured.runs = {{1, run_at(10), versions}, {2, run_at(20), others}};
  for (std::size_t at = 0; at < kMostRepliedChecks; ++at) {
    node.measured.checks["nccl/all/" + std::to_string(at)] = {{100, 100, 100, 1}, {1, 1, 1, 2}};
  }
  for (int at = 0; at < 256; ++at) node.runs.push_back(applied(14));
  auto second = only_runs("spark-02", node.runs);
  auto third = only_runs("spark-03", node.runs);
  const auto histories = check_histories(sample.cluster, {node, second, third});
  REQUIRE(histories.size() == kMostRepliedChecks);
  CHECK(histories.front().change->beside.back() == "and 778 more");
  CHECK(histories.front().change->beside.front().size() < 400);
  // One map for all values of a run.
  CHECK(histories.front().values[0].versions == histories.back().values[2].versions);
}

TEST_CASE("a node that replies more values than a reply may have fails alone") {
  MeasurementHistoryReply reply;
  for (std::size_t at = 0; at <= kMostRepliedValues / 1000; ++at) {
    reply.checks["tcp/" + std::to_string(at)].values.assign(1000, 1);
  }
  CHECK_FALSE(decode<MeasurementHistoryReply>(encode(reply)));
  reply.checks.erase(reply.checks.begin());
  CHECK(decode<MeasurementHistoryReply>(encode(reply)));
}

TEST_CASE("a run has the worst value of each kind, and the nodes that keep values of it") {
  const testing::SampleContext sample(2);
  auto first = kept("spark-01", kId, {90, 80});
  first.measured.checks["rdma/spark-01/spark-02/A/bandwidth"] = {{100, 70}, {1, 2}};
  first.measured.checks["rdma/spark-01/spark-02/A/latency"] = {{2, 1.5}, {1, 2}};
  first.measured.checks["rdma/spark-01/spark-02/B/latency"] = {{1.5, 3}, {1, 2}};
  const auto second = kept("spark-02", "tcp/spark-02/spark-01/A", {85});
  const auto runs = past_runs(check_histories(sample.cluster, {second, first}));
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].run == run_at(11));
  CHECK(runs[0].nodes == std::vector<std::string>{"spark-01"});
  CHECK(runs[0].figures.at(Figure::kTcp).value == 80);
  CHECK(runs[0].figures.at(Figure::kRdma).value == 70);
  CHECK(runs[0].figures.at(Figure::kLatency).value == 3);
  CHECK(runs[0].figures.at(Figure::kLatency).check == "rdma/spark-01/spark-02/B/latency");
  CHECK(runs[1].run == run_at(10));
  CHECK(runs[1].nodes == std::vector<std::string>{"spark-01", "spark-02"});
  CHECK(runs[1].figures.at(Figure::kTcp).value == 85);
  CHECK(runs[1].figures.at(Figure::kTcp).check == "tcp/spark-02/spark-01/A");
  CHECK(runs[1].figures.count(Figure::kNccl) == 0);
}

TEST_CASE("the kind and the unit of a stored value follow from the id of its check") {
  const auto unit = [](std::string_view id) {
    const auto figure = figure_of(id);
    return figure ? std::string(unit_of(*figure)) : "none";
  };
  CHECK(unit("tcp/a/b/A") == "Gb/s");
  CHECK(unit("rdma/a/b/A/bandwidth") == "Gb/s");
  CHECK(unit("rdma/a/b/A/latency") == "us");
  CHECK(unit("gpu/a/bandwidth") == "GB/s");
  CHECK(unit("gpu/a/3/bandwidth") == "GB/s");
  CHECK(unit("gpu/a/compute") == "none");
  CHECK(unit("nccl/all/all_reduce") == "GB/s");
  CHECK(unit("nccl/all/latency") == "us");
  CHECK(unit("storage/a/mnt") == "GB/s");
  CHECK(unit("link/a/A") == "none");
  CHECK(unit("latency") == "none");
  CHECK(unit("") == "none");
  std::vector<std::string> names;
  for (const Figure figure : all_figures()) names.emplace_back(to_string(figure));
  CHECK(names == std::vector<std::string>{"tcp", "rdma", "latency", "gpu", "nccl", "nccl_latency", "storage"});
}

}  // namespace sparkplan
