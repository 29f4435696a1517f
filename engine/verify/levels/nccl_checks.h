#pragma once

#include <string>
#include <vector>

#include "engine/verify/check.h"
#include "engine/verify/levels/nccl_run.h"

/// NCCL runs as checks. Pure.
namespace sparkplan {

/// The ranks of a run.
struct NcclGround {
  std::vector<std::string> nodes;       ///< By place, unless a node has several ranks.
  bool sparks = false;                  ///< All nodes are DGX Sparks.
  bool ring = false;                    ///< Three or more, each joined to two others by a cable.
  std::optional<double> threshold;      ///< The user's, in bits per second.
  std::size_t hcas_wanted = 0;          ///< The fewest RDMA devices that a rank is configured to use.
  bool library_declared = false;        ///< `nccl: library` names a file.
  bool nccl_declared = false;           ///< A node has a section `nccl`.
  bool rdma_passed = false;             ///< RDMA between these nodes reached its bandwidth in this run.
  std::vector<std::string> ranks = {};  ///< By place, if a node has several ranks. Empty: `nodes`.
  bool one_off = false;                 ///< See Check::one_off.
  std::string library = {};             ///< The file that --library names; empty: none.
  std::string image = {};               ///< The image that --image names; empty: none.
  std::string host_nccl = {};           ///< Of a single node: the NCCL that its loader finds; empty: none, or unknown.
  std::vector<std::string> other_nodes = {};  ///< Nodes that report other hardware, where some are DGX Sparks.

  std::size_t rank_count() const { return ranks.empty() ? nodes.size() : ranks.size(); }
  const std::string& name_of(std::size_t place) const { return ranks.empty() ? nodes.at(place) : ranks.at(place); }
};

/// "nccl/NODE": GPU, driver and NCCL of one node.
Check check_of_node(const NcclOutcome& looked, const NcclGround& ground);

/// One check per request, of the largest measured size. A request that was not reached is skipped. The first such
/// request has the reason of a failed run. `group` is empty for a pair, whose nodes are its id; else it names all
/// nodes: "nccl/GROUP/all_reduce".
std::vector<Check> checks_of_run(const std::string& group, const std::vector<NcclRequest>& requests,
                                 const NcclOutcome& outcome, const NcclGround& ground);

/// A check of one request, not made yet.
Check check_of_operation(const std::string& group, const NcclRequest& request, const std::vector<std::string>& nodes,
                         const std::string& reason);

/// Measurements as nccl-tests prints them: bytes, elements, type, iterations, then time, algbw, busbw and wrong
/// elements out of place and, if measured, in place. One table per operation, sizes as rows, smallest first.
std::string nccl_table(const std::vector<NcclMeasurement>& measured, int ranks);

}  // namespace sparkplan
