#include "engine/verify/measurements.h"

#include <limits>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

Check measured(double value, const std::string& unit = "Gb/s") {
  Check check;
  check.id = "tcp/spark-01/spark-02/A";
  check.level = Level::kTcp;
  check.nodes = {"spark-01", "spark-02"};
  check.status = CheckStatus::kPass;
  check.value = value;
  check.unit = unit;
  return check;
}

CheckStatus against(const std::vector<double>& earlier, Check check) {
  hold_against(earlier, check);
  return check.status;
}

}  // namespace

TEST_CASE("a rate below 0.9 times the median of earlier runs is a warning") {
  CHECK(against({100, 100, 100}, measured(90.0)) == CheckStatus::kPass);
  CHECK(against({100, 100, 100}, measured(89.9)) == CheckStatus::kWarn);
  CHECK(against({10, 100, 100, 1000}, measured(89.9)) == CheckStatus::kWarn);
  CHECK(against({1, 1, 100}, measured(2)) == CheckStatus::kPass);
  auto check = measured(50);
  hold_against({100, 100, 100}, check);
  CHECK(check.threshold == 90.0);
  CHECK(check.cause.find("the median of 3 earlier runs in the record of spark-01 is 100 Gb/s") != std::string::npos);
}

TEST_CASE("earlier values that are no measurements count for nothing") {
  const double infinite = std::numeric_limits<double>::infinity();
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {infinite, none, -5.0, 0.0, 1e300}) {
    INFO(value);
    CHECK(against({value, value, value}, measured(1)) == CheckStatus::kPass);
    CHECK(against({value, 100, value, 100}, measured(1)) == CheckStatus::kPass);
    CHECK(against({100, value, 100, value, 100}, measured(95)) == CheckStatus::kPass);
    CHECK(against({100, value, 100, value, 100}, measured(50)) == CheckStatus::kWarn);
  }
}

TEST_CASE("a result that is slower than before names the node whose record says so") {
  auto check = measured(50, "GB/s");
  check.id = "nccl/all/all_reduce";
  check.nodes = {"spark-02", "spark-01", "spark-03"};
  hold_against({100, 100, 100}, check);
  CHECK(check.cause.find("of 3 earlier runs in the record of spark-02 is 100 GB/s") != std::string::npos);
}

TEST_CASE("a value that this run alone measures in its way is neither kept nor compared") {
  auto check = measured(50);
  CHECK(is_measurement(check));
  check.one_off = true;
  CHECK_FALSE(is_measurement(check));
  CHECK(against({100, 100, 100}, check) == CheckStatus::kPass);
}

TEST_CASE("a longer time is worse") {
  CHECK(against({9, 9, 9}, measured(10.0, "us")) == CheckStatus::kPass);
  CHECK(against({9, 9, 9}, measured(10.1, "us")) == CheckStatus::kWarn);
  CHECK(against({9, 9, 9}, measured(1.0, "us")) == CheckStatus::kPass);
}

TEST_CASE("two earlier runs are too few for a comparison, and a failed check stays failed") {
  CHECK(against({100, 100}, measured(1)) == CheckStatus::kPass);
  auto failed = measured(1);
  failed.status = CheckStatus::kFail;
  CHECK(against({100, 100, 100}, failed) == CheckStatus::kFail);
  CHECK(against({9000, 9000, 9000}, measured(84, "bytes")) == CheckStatus::kPass);
}

TEST_CASE("a summary counts the checks of one node") {
  const Cluster cluster;
  VerifyOptions options;
  options.required = Level::kTcp;
  VerifyContext context{cluster, {}, options, {}, {}};
  auto failed = measured(1);
  failed.status = CheckStatus::kFail;
  auto skipped = measured(1);
  skipped.status = CheckStatus::kSkip;
  auto of_others = measured(1);
  of_others.nodes = {"spark-03"};
  context.checks = {measured(1), measured(1), failed, skipped, of_others};
  CHECK(summary_for("spark-02", context) == VerifySummary{"", "tcp", 2, 0, 1});
  options.required.reset();
  CHECK(summary_for("spark-03", context) == VerifySummary{"", "all", 1, 0, 0});
}

}  // namespace sparkplan
