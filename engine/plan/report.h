#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/named_enum.h"
#include "engine/core/result.h"
#include "engine/model/plan.h"

namespace sparkplan {

/// The state of a node after the command.
enum class NodeStatus : std::uint8_t {
  kInSync,
  kPending,  ///< cluster.yaml has settings that were never applied to the node.
  kDrifted,  ///< The node was changed since the last apply, or a foreign file overrides it.
  kUnreachable,
  kFailed,
  kRefused,  ///< Refused by a safety rule: no change was made.
  kSkipped,  ///< maintenance, or filtered out.
  kRolledBack,
  kApplied,
  kReleased,
  kForgotten,  ///< Left the roster without contact; it keeps its configuration.
};
enum class Membership : std::uint8_t { kMember, kJoining, kLeaving };

constexpr EnumNames<11> names_of(NodeStatus /*status*/) {
  return {"in_sync", "pending",     "drifted", "unreachable", "failed",   "refused",
          "skipped", "rolled_back", "applied", "released",    "forgotten"};
}
constexpr EnumNames<3> names_of(Membership /*membership*/) { return {"member", "joining", "leaving"}; }

/// The outcome of one change of an apply.
enum class Outcome : std::uint8_t {
  kPlanned,
  kDone,
  kFailed,
  kNotDone,
  kUnknown,  ///< The connection broke during the change: the next plan shows its state.
};
constexpr EnumNames<5> names_of(Outcome /*outcome*/) { return {"planned", "done", "failed", "not_done", "unknown"}; }

struct NodeReport {
  std::string name;
  std::string address;
  NodeStatus status = NodeStatus::kInSync;
  Membership membership = Membership::kMember;
  bool not_contacted = false;              ///< Leaving, and without --yes-prune.
  std::optional<Error> error;              ///< The first error of the node as a whole.
  NodePlan plan;                           ///< For apply: the first stage's plan, with later stages' changes appended.
  std::map<ResourceId, Outcome> outcomes;  ///< Only after an apply.
  std::string lock_holder;                 ///< The holder of the node's lock: "anna@laptop (pid 4242, apply)".
  bool may_have_changed = false;           ///< A step of an apply was done and stays, or its reply was lost.
  std::string undoes = {};                 ///< The run that a rollback undoes on the node; empty: none.
};

/// The outcome of a command. Text, JSON and the exit code derive from it: engine/report.
struct Report {
  std::string command;  ///< "plan", "apply", "drift", "release", "rollback"
  std::string cluster;
  std::string file;
  std::string config_digest;
  std::vector<NodeReport> nodes;
  std::vector<Diagnostic> diagnostics;
  std::chrono::duration<double> duration{};
  bool partial = false;              ///< --only or --exclude left some resources out.
  bool interrupted = false;          ///< Ctrl-C.
  bool not_begun = false;            ///< A lock or a guard stopped an apply before its first step.
  bool content_changed = false;      ///< Content that a sync has brought was changed.
  bool verification_failed = false;  ///< A check of `verify` failed.
  std::string run = {};              ///< The id of the run; empty if it could not be made.
  std::string cluster_id = {};       ///< The uuid of the roster; empty if no node has one, or one of several alone.

  /// True for commands that carry out their plan.
  bool carries_out() const { return command == "apply" || command == "release" || command == "rollback"; }
};

/// The outcome of the resource's change; kPlanned before it is tried.
Outcome outcome_of(const NodeReport& node, const ResourceId& id);

/// The status of a node with that plan and without other events.
NodeStatus status_of(const NodePlan& plan);

/// True for a node that this run has taken out of the cluster: kReleased, kForgotten.
constexpr bool has_left(NodeStatus status) {
  return status == NodeStatus::kReleased || status == NodeStatus::kForgotten;
}

}  // namespace sparkplan
