// The values of a run: bands, thresholds, series.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/doctor/nccl_bands.h"
#include "engine/verify/levels/nccl_checks.h"
#include "engine/verify/measurements.h"
#include "tests/support/catch.h"
#include "tests/unit/nccl/outcomes.h"

namespace sparkplan {

using namespace test;

TEST_CASE("a measurement of zero bytes causes no division by zero") {
  NcclOutcome run = outcome(23.7);
  for (auto& measured : run.measured) measured.bytes = 0;
  CHECK(first_of(run).text.starts_with("0 "));
}

TEST_CASE("the bands of two Sparks select status and cause") {
  const auto row = [](double bus) {
    const Check check = first_of(outcome(bus));
    return std::string(to_string(check.status)) + " " + row_of(check);
  };
  CHECK(row(23.7) == "pass ");
  CHECK(row(21.875) == "pass ");
  CHECK(row(21.8) == "warn nccl-tuning");
  CHECK(row(18) == "warn nccl-tuning");
  CHECK(row(17.9) == "fail nccl-slow");
  CHECK(row(13.4) == "fail nccl-one-half");
  CHECK(row(10) == "fail nccl-one-half");
  CHECK(row(9.9) == "fail nccl-slow");
  CHECK(row(3) == "fail nccl-wrong-build");
  CHECK(row(1) == "fail nccl-management-network");
}

TEST_CASE("TCP fails where HCAs are declared, however fast it is") {
  const NcclTransport sockets{"Socket", {"enp1s0f1np1"}, 0, 4, 0, false, {}};
  CHECK(row_of(first_of(outcome(23, sockets))) == "nccl-sockets");
  auto ground = two_sparks();
  ground.hcas_wanted = 0;
  CHECK(first_of(outcome(23, sockets), ground).status == CheckStatus::kPass);
  auto one = outcome(23);
  one.transports[1] = sockets;
  CHECK(row_of(first_of(one)) == "nccl-sockets");
  CHECK(first_of(one).cause.starts_with("TCP on spark-02: "));
}

TEST_CASE("an unused HCA explains a low value, and is a warning on machines without known values") {
  const NcclTransport one{"IB", {"a"}, 4, 0, 0, false, {}};
  CHECK(row_of(first_of(outcome(8, one))) == "nccl-one-half");
  CHECK(first_of(outcome(23, one)).status == CheckStatus::kPass);
  auto ground = two_sparks();
  ground.sparks = false;
  CHECK(first_of(outcome(8, one), ground).status == CheckStatus::kWarn);
  CHECK(first_of(outcome(8), ground).status == CheckStatus::kPass);
}

TEST_CASE("a rank that reports fewer HCAs than the others is named") {
  auto run = outcome(8);
  run.transports[1].devices = {"a"};
  CHECK(row_of(first_of(run)) == "nccl-one-half");
  CHECK(first_of(run).cause.starts_with("1 HCA on spark-02: "));
  run.transports[0].devices = {"a"};
  CHECK(row_of(first_of(run)) == "nccl-one-half");
  CHECK_FALSE(first_of(run).cause.starts_with("1 HCA"));
}

TEST_CASE("a node that reports other hardware is named where a known value no longer judges all") {
  auto ground = two_sparks();
  ground.sparks = false;
  ground.other_nodes = {"spark-02"};
  const auto claims = [&] { return first_of(outcome(8), ground).text.find("spark-02 reports other hardware"); };
  CHECK(claims() != std::string::npos);
  ground.threshold = 80e9;  // The user's.
  CHECK(claims() == std::string::npos);
  ground.threshold.reset();
  ground.other_nodes.clear();
  CHECK(claims() == std::string::npos);
}

TEST_CASE("the user's threshold applies to any machine and scales the bands") {
  auto ground = two_sparks();
  ground.sparks = false;
  ground.threshold = 80e9;  // 10 GB/s
  CHECK(first_of(outcome(10), ground).status == CheckStatus::kPass);
  const auto check = first_of(outcome(9), ground);
  CHECK(row_of(check) == "nccl-tuning");
  CHECK(check.threshold == Approx(10));
  CHECK(row_of(first_of(outcome(0.5), ground)) == "nccl-management-network");
}

TEST_CASE("a ring is compared with its own expected value") {
  auto ground = two_sparks();
  ground.nodes = {"a", "b", "c"};
  ground.ring = true;
  CHECK(first_of(outcome(10.5), ground).status == CheckStatus::kPass);
  const auto has_remark = [&](double bus) {
    return first_of(outcome(bus), ground).text.find("(most rings reach 13.5 GB/s)") != std::string::npos;
  };
  CHECK(has_remark(10));
  CHECK(has_remark(13.4));
  CHECK_FALSE(has_remark(13.5));
  CHECK_FALSE(has_remark(9.9));  // That is a failure with a cause of its own.
  ground.threshold = 80e9;       // The user's, 10 GB/s.
  CHECK_FALSE(has_remark(10.5));
}

TEST_CASE("2 to 5 GB/s beside good RDMA is first of all a matter of power, then of the build and the MTU") {
  auto ground = two_sparks();
  ground.rdma_passed = true;
  for (const double bus : {2.0, 3.0, 4.9}) {
    INFO(bus);
    const Check check = first_of(outcome(bus), ground);
    CHECK(check.status == CheckStatus::kFail);
    CHECK(row_of(check) == "nccl-power-drain");
    CHECK(check.fix.starts_with("shut both machines down, unplug them"));
    CHECK(check.fix.find("released NCCL") < check.fix.find("--level mtu"));
  }
  CHECK(row_of(first_of(outcome(1.9), ground)) == "nccl-management-network");
  CHECK(row_of(first_of(outcome(5), ground)) == "nccl-slow");
}

TEST_CASE("a size that memory limits names the rank that claims the least memory") {
  auto run = outcome(24);
  for (auto& measured : run.measured) measured.bytes = kGibibyte / 4;
  CHECK(first_of(run).text.find("(limited by free memory)") != std::string::npos);
  run.memory = {8 * kGibibyte, kGibibyte};
  CHECK(first_of(run).text.find("(limited by the free memory that spark-02 reports)") != std::string::npos);
}

TEST_CASE("sizes that little memory leaves out do not let a slow network pass") {
  const std::vector<NcclRequest> sweep{{Collective::kAllReduce, {kGibibyte / 1024, kGibibyte}}};
  auto run = outcome(0.5);
  // The last size became the first one again, and was not measured twice.
  run.measured.resize(1);
  run.measured[0].asked_bytes = run.measured[0].bytes = kGibibyte / 1024;
  run.memory = {8 * kGibibyte, 16 << 20};
  const auto check = checks_of_run("all", sweep, run, two_sparks()).at(0);
  CHECK(check.status == CheckStatus::kWarn);
  CHECK(check.threshold == kSparkBusBandwidth);
  CHECK(check.text.find("(limited by the free memory that spark-02 reports)") != std::string::npos);
}

TEST_CASE("beside the mean of all ranks, a check of NCCL has the value of the slowest rank") {
  auto run = outcome(24);
  run.measured[0].longest = run.measured[0].seconds * 2;
  CHECK(first_of(run).value == 24);
  CHECK(first_of(run).of_slowest == Approx(12));
  const NcclMeasurement small{Collective::kAllReduce, 8192, 8192, 20, 0.00002, {0.4, 0.4}, 0, "", false, "", 0.00003};
  run.measured.push_back(small);
  const auto checks = checks_of_run("", {{Collective::kAllReduce, {8192}, false, true}}, run, two_sparks());
  CHECK(checks.at(0).value == Approx(20));
  CHECK(checks.at(0).of_slowest == Approx(30));
}

TEST_CASE("a rank's time that cannot be is named") {
  auto run = outcome(24);
  run.measured[0].early = "spark-02";
  CHECK(first_of(run).text.ends_with("busbw (without the time of spark-02, which is too short)"));
}

TEST_CASE("all measured sizes of an operation are its series, smallest first and each once") {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  const std::vector<NcclRequest> requests{{Collective::kAllReduce, {kMebibyte, 4 * kMebibyte, kGibibyte}},
                                          {Collective::kAllGather, {kGibibyte}}};
  NcclOutcome run = outcome(24);
  run.measured.clear();
  const auto add = [&](Collective collective, std::int64_t asked, std::int64_t bytes, double bus) {
    run.measured.push_back({collective, asked, bytes, 20, 0.002, {bus / 2, bus}, 0, ""});
  };
  add(Collective::kAllReduce, kGibibyte, 64 * kMebibyte, 22);
  add(Collective::kAllReduce, 4 * kMebibyte, 4 * kMebibyte, 7);
  add(Collective::kAllReduce, kMebibyte, kMebibyte, 3);
  add(Collective::kAllReduce, 256 * kMebibyte, 64 * kMebibyte, 21);  // Memory is short: the same size again.
  add(Collective::kAllReduce, 8, 0, 1);
  add(Collective::kAllGather, kGibibyte, kGibibyte, 23);
  const auto checks = checks_of_run("all", requests, run, two_sparks());
  REQUIRE(checks.size() == 2);
  const auto& series = checks[0].series;
  REQUIRE(series.size() == 3);
  CHECK(series[0].bytes == kMebibyte);
  CHECK(series[0].time_us == Approx(2000));
  CHECK(series[0].algbw == 1.5);
  CHECK(series[0].busbw == 3);
  CHECK(series[1].bytes == 4 * kMebibyte);
  CHECK(series[2].bytes == 64 * kMebibyte);
  CHECK(series[2].busbw == 22);
  // A single requested size is the check itself.
  CHECK(checks[1].value == Approx(23));
  CHECK(checks[1].series.empty());
}

TEST_CASE("a sweep has both placements in its series, and wrong data in place fails") {
  const std::vector<NcclRequest> requests{{Collective::kBroadcast, {8192, kGibibyte}, true}};
  NcclOutcome run = outcome(24);
  run.measured.clear();
  for (const std::int64_t bytes : {std::int64_t{8192}, kGibibyte}) {
    for (const bool in_place : {false, true}) {
      run.measured.push_back(
          {Collective::kBroadcast, bytes, bytes, 20, 0.002, {1, in_place ? 2.0 : 3.0}, 0, "", in_place});
    }
  }
  auto check = checks_of_run("all", requests, run, two_sparks()).at(0);
  CHECK(check.status == CheckStatus::kPass);
  CHECK(check.value == 3);
  CHECK_FALSE(check.threshold);  // Only all_reduce and all_gather have a known value.
  REQUIRE(check.series.size() == 4);
  CHECK_FALSE(check.series[1].in_place);
  CHECK(check.series[1].bytes == kGibibyte);
  CHECK(check.series[2].in_place);
  CHECK(check.series[2].bytes == 8192);
  run.measured[1].wrong = 1;
  run.measured[1].first_wrong = "spark-02: element 1 is 3, not 6";
  check = checks_of_run("all", requests, run, two_sparks()).at(0);
  CHECK(row_of(check) == "nccl-wrong-data");
  CHECK(check.cause.find("1 wrong elements in place") != std::string::npos);
}

TEST_CASE("a node that vanishes in a sweep is named, and what was measured before it stays") {
  const std::vector<NcclRequest> requests{{Collective::kAllReduce, {8192, kGibibyte}, true},
                                          {Collective::kBroadcast, {8192, kGibibyte}, true}};
  auto run = failed(NcclTrouble::kConnection);
  run.transports.resize(2);
  run.measured.push_back({Collective::kAllReduce, 8192, 8192, 20, 0.002, {1, 1}, 0, "", false});
  // The last size, but not yet in place.
  run.measured.push_back({Collective::kAllReduce, kGibibyte, kGibibyte, 20, 0.002, {1, 1}, 0, "", false});
  const auto checks = checks_of_run("all", requests, run, two_sparks());
  CHECK(checks[0].status == CheckStatus::kFail);
  CHECK(checks[0].cause.starts_with("on spark-02: "));
  CHECK(checks[0].series.size() == 2);
  CHECK(checks[1].status == CheckStatus::kSkip);
  auto of_ranks = two_sparks();
  of_ranks.ranks = {"spark-01 GPU 0", "spark-02 GPU 0", "spark-02 GPU 1"};
  CHECK(checks_of_run("all", requests, run, of_ranks)[0].cause.starts_with("on spark-02 GPU 0: "));
}

TEST_CASE("small sizes and several GPUs per node are not held against the value of a Spark") {
  NcclOutcome run = outcome(3);
  for (auto& measured : run.measured) measured.asked_bytes = measured.bytes = 8192;
  const auto small = checks_of_run("", {{Collective::kAllReduce, {8192}}}, run, two_sparks()).at(0);
  CHECK(small.status == CheckStatus::kPass);
  CHECK_FALSE(small.threshold);
  auto ground = two_sparks();
  ground.ranks = {"a GPU 0", "a GPU 1", "b GPU 0"};
  CHECK(first_of(outcome(3), ground).status == CheckStatus::kPass);
}

TEST_CASE("a measurement with settings of one run is not compared with earlier runs") {
  auto ground = two_sparks();
  CHECK_FALSE(first_of(outcome(24), ground).one_off);
  ground.one_off = true;
  CHECK(first_of(outcome(24), ground).one_off);
}

TEST_CASE("the value of a size that one rank's little memory has reduced does not enter the history") {
  NcclOutcome run = outcome(24);
  CHECK(is_measurement(first_of(run)));
  for (auto& measured : run.measured) measured.bytes = measured.asked_bytes / 2;
  CHECK_FALSE(is_measurement(first_of(run)));
}

TEST_CASE("the latency has its own check, and is no part of the series of another check") {
  NcclOutcome run = outcome(24);
  run.measured.push_back({Collective::kAllReduce, 8192, 8192, 20, 0.0000415, {0.2, 0.2}, 0, ""});
  auto requests = kRequests;
  requests.push_back({Collective::kAllReduce, {8192}, false, true});
  auto checks = checks_of_run("", requests, run, two_sparks());
  REQUIRE(checks.size() == 3);
  CHECK(checks[0].value == Approx(24));
  CHECK(checks[2].id == "nccl/spark-01/spark-02/latency");
  CHECK(checks[2].status == CheckStatus::kPass);
  CHECK(checks[2].value == Approx(41.5));
  CHECK(checks[2].unit == "us");
  CHECK(checks[2].text == "all_reduce of 8 KiB, IB over a, b, time");
  CHECK(checks[2].series.empty());
  run.measured[2].wrong = 1;
  checks = checks_of_run("", requests, run, two_sparks());
  CHECK(row_of(checks[2]) == "nccl-wrong-data");
}

TEST_CASE("an operation that these ranks cannot do is skipped with the reason") {
  auto ground = two_sparks();
  ground.nodes = {"a", "b", "c"};
  const std::vector<NcclRequest> requests{{Collective::kHypercube, {kGibibyte}}, {Collective::kAllGather, {16}}};
  const auto checks = checks_of_run("all", requests, NcclOutcome{}, ground);
  CHECK(checks[0].status == CheckStatus::kSkip);
  CHECK(checks[0].cause == "hypercube needs a power of two of ranks, and there are 3");
  CHECK(checks[1].cause == "each size is too small for all_gather with 3 ranks");
}

TEST_CASE("wrong data fails at any value, and no node is blamed for what it has received") {
  auto run = outcome(24);
  run.measured[0].wrong = 2;
  run.measured[0].first_wrong = "spark-02: element 17 is 3, not 6";
  const auto check = first_of(run);
  CHECK(row_of(check) == "nccl-wrong-data");
  CHECK(check.cause.starts_with(
      "2 wrong elements, found first on spark-02: element 17 is 3, not 6; any rank may have sent them: "));
  CHECK(check.fix.starts_with("take out of use the machine that all failing pairs share"));
}

}  // namespace sparkplan
