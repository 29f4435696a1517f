#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/verify/levels/nccl_measurement.h"
#include "engine/wire/nccl_messages.h"

/// Reads the answers of the ranks of a run, and decides which failure counts. Everything here is pure.
namespace sparkplan {

enum class NcclTrouble : std::uint8_t {
  kConnection,     ///< A rank could not be started, or its connection broke.
  kFault,          ///< A rank reports why it cannot go on.
  kEnded,          ///< A rank ended without a report: it was killed, or it crashed.
  kSilent,         ///< A rank does not end.
  kMixedVersions,  ///< The ranks have different versions of NCCL.
  kStopped,
};
enum class NcclPhase : std::uint8_t { kStart, kPrepare, kJoin, kRun };

struct NcclFailure {
  NcclTrouble trouble = NcclTrouble::kConnection;
  NcclPhase phase = NcclPhase::kStart;
  std::size_t place = 0;           ///< The rank that failed.
  std::optional<RankFault> fault;  ///< For kFault.
  Error error;
  NcclTransport transport;  ///< From that rank's log up to the failure.
};

struct NcclOutcome {
  std::vector<PreparedRank> prepared;     ///< By place; empty if one of them failed.
  std::vector<std::int64_t> memory = {};  ///< As `prepared`: memory_of_rank().
  std::vector<NcclTransport> transports;  ///< By place, the last ones reported.
  std::vector<NcclMeasurement> measured;  ///< Up to the failure, if there is one.
  std::vector<std::string> left_running;  ///< Nodes whose rank may still run.
  std::optional<NcclFailure> failure;
};

/// True for an answer that a rank may give in `phase`. The rank that makes the unique id must send one.
bool fits_phase(const RankAnswer& answer, NcclPhase phase, bool makes_id);

/// The rank with the least memory, the first of equal ones: it limits the sizes of all. Nothing without ranks.
std::optional<std::size_t> place_of_least_memory(const NcclOutcome& outcome);

/// How far a failure is from the cause; 0: its rank is the cause. A rank's report about its peers is worth less than
/// the peers' own reports. NCCL's errors may be of either kind.
int distance_of(const NcclFailure& failure);

}  // namespace sparkplan
