#include "engine/verify/levels/nccl_outcome.h"

#include <algorithm>
#include <variant>

namespace sparkplan {

bool fits_phase(const RankAnswer& answer, NcclPhase phase, bool makes_id) {
  const auto* prepared = std::get_if<PreparedRank>(&answer);
  if (phase == NcclPhase::kPrepare) return prepared != nullptr && !(makes_id && prepared->id.empty());
  if (phase == NcclPhase::kJoin) return std::holds_alternative<JoinedRank>(answer);
  return phase == NcclPhase::kRun && std::holds_alternative<CollectiveResult>(answer);
}

std::optional<std::size_t> place_of_least_memory(const NcclOutcome& outcome) {
  const auto least = std::min_element(outcome.memory.begin(), outcome.memory.end());
  if (least == outcome.memory.end()) return std::nullopt;
  return static_cast<std::size_t>(least - outcome.memory.begin());
}

int distance_of(const NcclFailure& failure) {
  if (failure.trouble != NcclTrouble::kFault) return 0;
  return failure.fault == RankFault::kPeer ? 2 : failure.fault == RankFault::kNccl ? 1 : 0;
}

}  // namespace sparkplan
