#include "engine/doctor/gpu_bands.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

std::string row_of(const GpuClockSeen& seen) {
  const auto judged = judge_gpu_clock(seen);
  return std::string(to_string(judged.status)) + (judged.row ? " " + std::string(judged.row->id) : "");
}

}  // namespace

TEST_CASE("gpu bands: the states of a DGX Spark's clock, from the field") {
  CHECK(row_of({true, 2400, 3003, 90.0, 0}) == "pass");
  CHECK(row_of({true, 2100, 3003, 65.0, kClockSetting}) == "pass");
  CHECK(row_of({true, 1400, 3003, 30.0, 0}) == "pass");
  for (const std::int64_t clock : {481, 513, 611, 650, 721, 858}) {
    CHECK(row_of({true, clock, 3003, 20.0, 0}) == "fail gpu-clock-stuck");
    CHECK(row_of({true, clock, std::nullopt, std::nullopt, 0}) == "fail gpu-clock-stuck");
  }
  // A limit that the driver reports, or more power than a stuck GPU uses, has another cause.
  CHECK(row_of({true, 721, 3003, 20.0, kClockSetting}) == "fail gpu-clock-low");
  CHECK(row_of({true, 1300, 3003, 60.0, 0}) == "fail gpu-clock-low");
  CHECK(judge_gpu_clock({true, 2400, 3003, 90.0, 0}).threshold == 1400.0);
}

TEST_CASE("gpu bands: heat and power throttle any GPU, a limit of power alone does not") {
  for (const bool spark : {true, false}) {
    CHECK(row_of({spark, 1800, 1980, 600.0, kClockHardwareHeat | kClockHardware}) == "fail gpu-throttled");
    CHECK(row_of({spark, 1800, 1980, 600.0, kClockPowerBrake}) == "fail gpu-throttled");
    CHECK(row_of({spark, 1800, 1980, 600.0, kClockHardware}) == "fail gpu-throttled");
    CHECK(row_of({spark, 1800, 1980, 600.0, kClockSoftwareHeat}) == "warn gpu-throttled");
    CHECK(row_of({spark, 1800, 1980, 600.0, kClockPowerCap}) == "pass");
  }
}

TEST_CASE("gpu bands: another GPU is compared with its own highest clock") {
  CHECK(row_of({false, 990, 1980, std::nullopt, 0}) == "pass");
  CHECK(row_of({false, 989, 1980, std::nullopt, 0}) == "warn gpu-clock-low");
  CHECK(row_of({false, 100, std::nullopt, std::nullopt, 0}) == "pass");
  CHECK_FALSE(judge_gpu_clock({false, 100, std::nullopt, std::nullopt, 0}).threshold);
}

TEST_CASE("gpu bands: only a DGX Spark has an expected copy") {
  CHECK(judge_gpu_copy(218, true).status == CheckStatus::kPass);
  CHECK(judge_gpu_copy(kSparkCopy, true).status == CheckStatus::kPass);
  CHECK(judge_gpu_copy(180, true).row == RowId("gpu-memory-slow"));
  CHECK(judge_gpu_copy(1, false).status == CheckStatus::kPass);
  CHECK_FALSE(judge_gpu_copy(1, false).threshold);
}

TEST_CASE("gpu bands: an Xid of the hardware fails, one of a program passes") {
  for (const std::int64_t xid : {48, 79, 95, 119, 140}) CHECK(status_of_xid(xid) == CheckStatus::kFail);
  for (const std::int64_t xid : {13, 31, 43, 45}) CHECK(status_of_xid(xid) == CheckStatus::kPass);
  for (const std::int64_t xid : {0, 61, 9999}) CHECK(status_of_xid(xid) == CheckStatus::kWarn);
}

}  // namespace sparkplan
