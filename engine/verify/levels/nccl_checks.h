#pragma once

#include <string>
#include <vector>

#include "engine/verify/check.h"
#include "engine/verify/levels/nccl_run.h"

/// What NCCL runs say, as checks. Pure.
namespace sparkplan {

/// What is known of the ranks that took part, beside the run.
struct NcclGround {
  std::vector<std::string> nodes;   ///< By place.
  bool sparks = false;              ///< All of them.
  bool ring = false;                ///< Three or more, each joined to two others by a cable.
  std::optional<double> threshold;  ///< The user's, in bits per second.
  std::size_t hcas_wanted = 0;      ///< RDMA devices that each was told to use, the fewest.
  bool library_declared = false;    ///< `nccl: library` names a file.
};

/// "nccl/NODE": GPU, driver and NCCL of one node.
Check check_of_node(const NcclOutcome& looked, const NcclGround& ground);

/// One check per operation, ID/all_reduce and so on, of the largest size that was measured; of operations
/// that were not come to, a skip. A run that failed says why in the first one that it did not come to.
std::vector<Check> checks_of_run(const std::string& id, const std::vector<NcclRequest>& requests,
                                 const NcclOutcome& outcome, const NcclGround& ground);

}  // namespace sparkplan
