#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/model/collective.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/verify/levels/nccl_container.h"
#include "engine/verify/levels/nccl_outcome.h"

namespace sparkplan {

/// The node and the settings of one rank.
struct RankPlace {
  const NodeSpec* node = nullptr;
  int device = 0;                                  ///< The GPU's number.
  std::string library;                             ///< As in PrepareRank.
  std::map<std::string, std::string> environment;  ///< As in PrepareRank.
  int ranks_on_node = 1;                           ///< All ranks of this node.
  std::optional<RankContainer> container = {};     ///< Nothing: it runs on the host.

  /// "spark-01"; "spark-01 GPU 1" if the node has several ranks.
  std::string name() const;
};

struct NcclRequest {
  Collective collective = Collective::kAllReduce;
  std::vector<std::int64_t> sizes;  ///< In bytes. A size that has no element for each rank is left out.
  bool in_place = false;            ///< Each size also in place, if the operation has that.
  bool latency = false;             ///< The time of a small message, not a bandwidth.

  /// True if the last size is measured in place, too.
  bool ends_in_place() const { return in_place && has_in_place(collective); }
};

struct NcclRunOptions {
  AgentOptions agent;
  std::stop_token stop;
  int warm_up = 5;
  int iterations = 20;
  bool check = true;
  /// A size whose iterations would take longer is measured with fewer.
  std::chrono::milliseconds longest_measurement{20'000};
  std::chrono::milliseconds prepare_timeout{60'000};
  std::chrono::milliseconds join_timeout{60'000};
  std::chrono::milliseconds run_timeout{120'000};
  /// For all sizes of one NcclRequest together. A slow network that keeps to `run_timeout` takes less.
  std::chrono::milliseconds request_timeout{900'000};
  /// No wait for a rank ends later, whatever the time limits above allow.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  /// Called from one thread at a time with the step of the ranks.
  std::function<void(std::string_view doing)> progress;
};

/// Starts a rank at each place, measures, and ends all ranks; ends them as soon as one fails. The first place makes the
/// unique id, which goes to the others over their connections.
NcclOutcome run_nccl(const std::vector<RankPlace>& places, const std::vector<NcclRequest>& requests,
                     const NcclRunOptions& options);

/// The GPU and NCCL of each place, without joining them: one outcome per place, with `prepared` or `failure`.
std::vector<NcclOutcome> inspect_nccl(const std::vector<RankPlace>& places, const NcclRunOptions& options);

}  // namespace sparkplan
