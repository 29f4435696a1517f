#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/verify/check.h"
#include "engine/verify/levels/gpu_run.h"
#include "engine/wire/measure_messages.h"

/// The GPUs of the nodes as checks. Pure.
namespace sparkplan {

/// One node, as the level has measured it.
struct GpuNode {
  std::string name;
  bool spark = false;  ///< A DGX Spark, which must have a GPU.
  GpuOutcome outcome;
  std::optional<GpuErrorsReply> log;  ///< The errors in the kernel's log.
  std::string log_unread;             ///< Why `log` is missing.
};

/// "gpu/NODE": driver and GPUs. Then, with "clock", "power", "temperature", "compute", "bandwidth" behind it, one check
/// for each measured GPU; in a node with several, the GPU's number comes before that: "gpu/NODE/3/clock". Then
/// "gpu/NODE/errors", which a node without an answer has only for logged errors. A GPU that was not measured has one
/// skipped check, "gpu/NODE/use", which names the programs.
std::vector<Check> checks_of_gpus(const GpuNode& node);

/// "nccl/NODE/use", in the words of checks_of_gpus(), from an answer to MeasureGpus without a load. A GPU that programs
/// use has a skipped check, with `force` a passed one. A GPU whose list of programs failed has a passed one: NCCL is
/// measured there, because no driver has to have such a list. A free GPU has none. Nor has a node without NVML or
/// without an answer.
std::vector<Check> checks_of_use(const std::string& node, const GpuOutcome& seen, bool force);
/// True if the node must have no rank, because of the result of checks_of_use().
bool forbids_ranks(const std::vector<Check>& uses);

/// "gpu/NODE/parity", for each measured node if there are two or more. A node is compared with the majority and with
/// the medians of the nodes with the same model. So no single node decides about another one. Where two nodes differ,
/// both have the warning, and neither is called the slow one.
std::vector<Check> parity_of_gpus(const std::vector<GpuNode>& nodes);

}  // namespace sparkplan
