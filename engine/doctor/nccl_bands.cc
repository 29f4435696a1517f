#include "engine/doctor/nccl_bands.h"

namespace sparkplan {
namespace {

// Bands of two Sparks, GB/s.
constexpr double kTuning = 18;
constexpr double kOneHalfFrom = 10;
constexpr double kOneHalfTo = 14;
constexpr double kManyCauses = 5;
constexpr double kManagement = 2;

// Source: NCCL's release notes up to 2.31.2. 2.29.3: "CAS usage in case of weak failure which was causing a hang on
// ARM", of builds by gcc before 10. 2.30.7: rings without a switch.
constexpr int kWithoutKnownHang = 22903;
constexpr int kWithRings = 23007;

RowId row_below(double bandwidth, bool rdma_passed) {
  if (bandwidth < kManagement) return "nccl-management-network";
  if (bandwidth < kManyCauses) return rdma_passed ? RowId("nccl-power-drain") : "nccl-wrong-build";
  if (bandwidth >= kOneHalfFrom && bandwidth < kOneHalfTo) return "nccl-one-half";
  return "nccl-slow";
}

}  // namespace

Judgement judge_nccl_bandwidth(const NcclSeen& seen) {
  if (seen.over_sockets && seen.hcas_wanted > 0) return {CheckStatus::kFail, "nccl-sockets"};
  const bool fewer = seen.hcas_used > 0 && seen.hcas_used < seen.hcas_wanted;
  if (!seen.threshold) return fewer ? Judgement{CheckStatus::kWarn, "nccl-one-half"} : Judgement{};
  if (seen.bus_bandwidth >= *seen.threshold) return {};
  if (fewer) return {CheckStatus::kFail, "nccl-one-half"};
  if (seen.bus_bandwidth >= nccl_warning_from(*seen.threshold)) return {CheckStatus::kWarn, "nccl-tuning"};
  const double as_on_spark = seen.bus_bandwidth * kSparkBusBandwidth / *seen.threshold;
  return {CheckStatus::kFail, row_below(as_on_spark, seen.rdma_passed)};
}

double nccl_warning_from(double threshold) { return kTuning * threshold / kSparkBusBandwidth; }

Judgement judge_nccl_version(int version, bool spark, bool ring) {
  if (!spark) return {};
  if (ring && version < kWithRings) return {CheckStatus::kWarn, "nccl-version-ring"};
  if (version < kWithoutKnownHang) return {CheckStatus::kWarn, "nccl-version-hang"};
  return {};
}

}  // namespace sparkplan
