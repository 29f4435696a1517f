#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/remote/programs/copy_client.h"
#include "engine/sync/comparison.h"

namespace sparkplan {

/// How far a node is in a transfer.
struct TransferProgress {
  std::int64_t done_bytes = 0;
  std::int64_t total_bytes = 0;
  std::int64_t received_bytes = 0;
  double bytes_per_second = 0;
};

/// A node in a transfer. Its program has opened the tree for writing.
struct TransferMember {
  const NodeSpec* node = nullptr;
  CopyClient* client = nullptr;
  bool replace = false;  ///< Files with other content may be replaced.
};

struct TransferOutcome {
  std::optional<Error> error;  ///< Why the node does not have the whole tree.
  bool too_little_space = false;
  std::int64_t received_bytes = 0;
  double seconds = 0;
};

struct TransferOptions {
  bool encrypt = false;
  int streams = 8;  ///< Connections from one node to the next.
  std::stop_token stop;
  std::chrono::milliseconds longest_silence{15'000};  ///< Then a node counts as dead.
  std::function<void(std::size_t member, const TransferProgress& progress)> progress;
};

/// Brings the source's tree to all other members, from node to node. A member that fails is left out, and the ones that
/// received from it receive from another. Outcomes are in the order of `members`.
std::vector<TransferOutcome> transfer(const Cluster& cluster, const std::vector<TransferMember>& members,
                                      std::size_t source, const std::vector<CopyEntry>& entries,
                                      const TransferOptions& options);

}  // namespace sparkplan
