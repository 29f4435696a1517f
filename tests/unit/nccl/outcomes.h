#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/doctor/doctor_table.h"
#include "engine/verify/levels/nccl_checks.h"

/// Outcomes of runs of the NCCL test, and what becomes of them.
namespace sparkplan::test {

inline constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
inline const std::vector<NcclRequest> kRequests{{Collective::kAllReduce, {kGibibyte}},
                                                {Collective::kAllGather, {kGibibyte}}};

inline NcclGround two_sparks() { return {{"spark-01", "spark-02"}, true, false, std::nullopt, 2, false}; }

inline NcclOutcome outcome(double bus, NcclTransport transport = {"IB", {"a", "b"}, 4, 0, 0, false, {}}) {
  NcclOutcome result;
  for (const auto& request : kRequests) {
    result.measured.push_back({request.collective, kGibibyte, kGibibyte, 20, 0.05, {bus, bus}, 0, ""});
  }
  result.transports = {transport, transport};
  return result;
}

/// The check of the first request.
inline Check first_of(const NcclOutcome& run, const NcclGround& ground = two_sparks()) {
  return checks_of_run("", kRequests, run, ground).at(0);
}

inline NcclOutcome failed(NcclTrouble trouble, std::optional<RankFault> fault = {}, NcclPhase phase = NcclPhase::kRun) {
  NcclOutcome result;
  result.failure = NcclFailure{trouble, phase, 1, fault, {ErrorCode::kFailed, "as it was given", {}, {}, ""}, {}};
  return result;
}

/// The row whose cause and fix the check has; empty without one. An error that names its cause stands alone.
inline std::string row_of(const Check& check) {
  for (const auto& row : kNcclRows) {
    const bool fits = check.cause.ends_with(row.cause) || check.cause.ends_with(": as it was given");
    if (check.fix == row.fix && fits) return std::string(row.id);
  }
  return "";
}

}  // namespace sparkplan::test
