#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// The past runs of one node.
struct NodeHistory {
  std::string node;
  std::optional<Error> error;  ///< Its journals could not be read.
  bool applied = true;         ///< False: sparkplan was never applied there.
  HistoryReply reply;
  std::string cluster_id = {};  ///< The uuid in its manifest; empty without one.
  std::string address = {};     ///< As reports show it: of a local node, its directory.
};

/// A connection with an agent of this build, which replaces another one. Installs none on a machine without an agent.
/// Errors: those of AgentClient::open(); kNotFound without an agent.
Result<AgentClient> open_existing(const NodeSpec& node, AgentOptions options);

/// Reads the journals of the selected nodes, all at once. Replaces an agent of another build, and writes nothing else.
/// A node without an agent has no history.
std::vector<NodeHistory> read_histories(const Cluster& cluster, const RunOptions& options, bool with_artifacts);

/// The report of one node alone, or of a minority, about a run. Empty where it agrees with the others.
struct OtherClaim {
  std::string node;
  std::optional<RunOutcome> outcome;
  std::optional<std::int64_t> changes;  ///< Not counted: far more than the other nodes report.
  std::optional<std::string> saved_plan;
  std::optional<std::string> undoes;
  std::optional<std::string> undone_by;

  bool empty() const { return !outcome && !changes && !saved_plan && !undoes && !undone_by; }
};

/// One run on all nodes that took part in it.
struct ClusterHistoryEntry {
  /// As more than half of `nodes` report it, with the sum of their changes and the time in the run's id. Without such a
  /// majority: the worst outcome, and no other run.
  JournaledRun run;
  std::vector<std::string> nodes;  ///< In the order of the file.
  /// Nodes that could report it: their journals are read, and reach back to it.
  std::size_t could_report = 0;
  std::vector<std::string> recorded_nodes = {};   ///< In the file, and only the controller's log names them.
  std::vector<std::string> left_nodes = {};       ///< No longer in the file; the controller's log names them.
  std::vector<std::string> forgotten_nodes = {};  ///< The controller's log: the run has forgotten them.
  std::vector<OtherClaim> other_claims = {};      ///< In the order of `nodes`.
  std::size_t journals = 0;                       ///< Nodes whose journals are read.
  bool is_recorded = false;                       ///< The controller's log knows the run.

  /// One node alone reports it, and other journals are read.
  bool reported_by_one() const { return !is_recorded && nodes.size() == 1 && journals > 1; }
  /// Half of the nodes that could report it or fewer do. It may be a run on few nodes, or their invention.
  bool reported_by_few() const {
    return reported_by_one() || (!is_recorded && !nodes.empty() && nodes.size() * 2 <= could_report);
  }
};

/// The most such runs that one node can add to the history.
inline constexpr std::size_t kMostRunsReportedByFew = 20;

/// Names a run. Nodes that name different users or operations report different runs.
struct RunKey {
  std::string run;
  std::string who;
  std::string operation;
  auto operator<=>(const RunKey&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
};

/// "2026-03-01T12:00:00Z" from the id "20260301T120000Z-4f9a1c07"; empty for a text that is no such id.
std::string time_of_run(const std::string& run);

/// Newest first. Of the runs that few nodes report, only the newest of each node. `recorded`: the runs of the
/// controller's own log, which are never limited. Takes the artifacts out of `histories`, because a node can list
/// megabytes of them.
std::vector<ClusterHistoryEntry> merged(std::vector<NodeHistory>& histories, const std::set<RunKey>& recorded = {});

/// The holder of one node's lock; nothing if it is free.
/// Errors: those of AgentClient::open().
Result<std::optional<LockHolder>> holder_of_lock(const NodeSpec& node, const AgentOptions& options);

/// Ends the agent that holds the node's lock for exactly this holder.
/// Errors: those of AgentClient::open(), and kNotFound, kBusy, kRefused from break_lock() of the agent.
Result<void> break_lock(const NodeSpec& node, const AgentOptions& options, const LockHolder& holder,
                        const std::string& cluster);

}  // namespace sparkplan
