#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/fleet/cluster_run.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// The past runs of one node.
struct NodeHistory {
  std::string node;
  std::optional<Error> error;  ///< It could not be asked.
  bool applied = true;         ///< False: sparkplan has never been there.
  HistoryReply reply;
};

/// Asks the selected nodes, all at once. Writes nothing, but for an agent of another build, which is
/// replaced; a node without one has no history.
std::vector<NodeHistory> read_histories(const Cluster& cluster, const RunOptions& options, bool with_artifacts);

/// One run on all nodes that took part in it.
struct ClusterHistoryEntry {
  JournaledRun run;                ///< Its outcome is the worst of all nodes, its changes those of all.
  std::vector<std::string> nodes;  ///< In the order of the file.
};

/// Pure. Newest first.
std::vector<ClusterHistoryEntry> merged(const std::vector<NodeHistory>& histories);

/// Who holds the lock of one node; nothing when nobody does.
/// Errors: those of AgentClient::open().
Result<std::optional<LockHolder>> holder_of_lock(const NodeSpec& node, const AgentOptions& options);

/// Ends the agent that holds the node's lock for exactly this holder. Errors: those of AgentClient::open(),
/// and kNotFound, kBusy, kRefused as break_lock() of the agent tells them.
Result<void> break_lock(const NodeSpec& node, const AgentOptions& options, const LockHolder& holder,
                        const std::string& cluster);

}  // namespace sparkplan
