#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "engine/model/cluster.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/verify/levels/nccl_run.h"
#include "engine/wire/gpu_messages.h"

namespace sparkplan {

struct GpuRunOptions {
  AgentOptions agent;
  std::stop_token stop;
  MeasureGpus command;
  /// The time beside the load: the start of the driver, the compilation, the copies.
  std::chrono::milliseconds patience{90'000};
};

/// The GPUs of one node, or why there is no answer.
struct GpuOutcome {
  std::optional<MeasuredGpus> measured;
  std::optional<NcclFailure> failure;  ///< Its place is 0.
  bool left_running = false;           ///< The program may still run on the node.
};

/// Starts sparkplan-nccl on the node, has it measure the GPUs, and ends it.
GpuOutcome measure_gpus(const NodeSpec& node, const GpuRunOptions& options);

}  // namespace sparkplan
