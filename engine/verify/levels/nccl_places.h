#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/resource/registry.h"
#include "engine/verify/levels/gpu_run.h"
#include "engine/verify/levels/nccl_run.h"
#include "engine/verify/verify_context.h"

/// Where the ranks of the NCCL test run.
namespace sparkplan {

/// The options of the command, with short measurements.
NcclRunOptions nccl_run_options(const VerifyContext& context);

/// The rank on a node's first GPU. Errors: kUnreachable (not connected), kUnsupported (not a running system).
Result<RankPlace> first_rank_of(const VerifyContext& context, const VerifyNode& node);

/// Asks the node of each place for the programs on its GPUs, all nodes at the same time. Loads no GPU and takes none of
/// its memory.
std::vector<GpuOutcome> list_programs(const std::vector<RankPlace>& places, const NcclRunOptions& options);

/// Pure. The number of ranks that the choice means for a node with `gpus` GPUs.
int ranks_on_node(const NcclChoice& choice, int gpus);

/// Pure. Adds the ranks of one node, one per GPU from 0 on: first.ranks_on_node of them.
void append_ranks(const RankPlace& first, std::vector<RankPlace>& places);

/// Pure. "spark-02 reports memory for 1 MiB at most, of 256 MiB"; empty if the largest size was measured. `names` are
/// those of the ranks.
std::string memory_limit_of(const std::vector<NcclRequest>& requests, const NcclOutcome& outcome,
                            const std::vector<std::string>& names);

/// Pure. What an error about the first silent rank adds: a rank that does not take part silences all of them, and can
/// claim to have ended. Empty if no other rank is silent, or has answered in a phase in which all end together.
std::string beside_silent(const std::vector<RankPlace>& places, const std::vector<bool>& answered, NcclPhase phase);

/// Pure. "; no answer from spark-02": beside the report of a rank whose cause may be another rank. `heard` has
/// the order of the places. Empty if all were heard, or in a phase in which no rank waits for another one.
std::string beside_report(const std::vector<RankPlace>& places, const std::vector<bool>& heard, NcclPhase phase);

/// The GPUs and the memory of a node, as its rank reports them.
struct NcclNode {
  std::string name;
  PreparedRank rank;
};

/// Pure. Why the choice cannot be measured on these nodes: more ranks than GPUs, sizes that do not fit into memory.
std::vector<Diagnostic> misfits_of(const NcclChoice& choice, const std::vector<NcclNode>& nodes);

/// misfits_of() for the nodes of the run, which it asks. Asks none if the choice is the usual run. Nodes that do not
/// answer are left to the level, and so are those that programs use, unless forced.
std::vector<Diagnostic> nccl_misfits(const VerifyContext& context);

/// The variables and the library of NCCL on a node. They are compiled from the node's section `nccl`, and an apply
/// writes the same values to its files.
struct NcclEnvironment {
  std::map<std::string, std::string> variables;
  std::string library;             ///< The file that `nccl: library` names; empty: none.
  std::set<std::string> in_front;  ///< Variables that are paths, whose value goes in front of what is there.
};

/// Pure.
NcclEnvironment nccl_environment(const Cluster& cluster, const NodeSpec& node, const Facts& facts,
                                 const Registry& registry);

}  // namespace sparkplan
