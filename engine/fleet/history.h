#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/fleet/fleet_session.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// The past runs of one node.
struct NodeHistory {
  std::string node;
  std::optional<Error> error;  ///< Its journals could not be read.
  bool applied = true;         ///< False: sparkplan was never applied there.
  HistoryReply reply;
  std::string cluster_id = {};  ///< The uuid in its manifest; empty without one.
};

/// Reads the journals of the selected nodes, all at once. Replaces an agent of another build, and writes nothing else.
/// A node without an agent has no history.
std::vector<NodeHistory> read_histories(const Cluster& cluster, const RunOptions& options, bool with_artifacts);

/// One run on all nodes that took part in it.
struct ClusterHistoryEntry {
  JournaledRun run;                ///< The worst outcome of all nodes, and the sum of their changes.
  std::vector<std::string> nodes;  ///< In the order of the file.
  /// Nodes that could report it: their journals are read, and reach back to it.
  std::size_t could_report = 0;
  std::vector<std::string> recorded_nodes = {};  ///< In the file, and only the controller's log names them.
  std::vector<std::string> left_nodes = {};      ///< No longer in the file; the controller's log names them.

  /// Half of these nodes or fewer report it. It may be a run on few nodes, or their invention.
  bool reported_by_few() const { return !nodes.empty() && nodes.size() * 2 <= could_report; }
};

/// The most such runs that one node can add to the history.
inline constexpr std::size_t kMostRunsReportedByFew = 20;

/// Pure. Newest first. Of the runs that few nodes report, only the newest of each node.
std::vector<ClusterHistoryEntry> merged(const std::vector<NodeHistory>& histories);

/// The holder of one node's lock; nothing if it is free.
/// Errors: those of AgentClient::open().
Result<std::optional<LockHolder>> holder_of_lock(const NodeSpec& node, const AgentOptions& options);

/// Ends the agent that holds the node's lock for exactly this holder.
/// Errors: those of AgentClient::open(), and kNotFound, kBusy, kRefused from break_lock() of the agent.
Result<void> break_lock(const NodeSpec& node, const AgentOptions& options, const LockHolder& holder,
                        const std::string& cluster);

}  // namespace sparkplan
