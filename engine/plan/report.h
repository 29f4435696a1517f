#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/plan.h"

namespace sparkplan {

/// How a node stands after the command.
enum class NodeStatus : std::uint8_t {
  kInSync,
  kPending,  ///< cluster.yaml asks for something the node was never given.
  kDrifted,  ///< The node was changed behind our back, or somebody else's file wins.
  kUnreachable,
  kFailed,
  kRefused,  ///< A safety rule: nothing was written there.
  kSkipped,  ///< maintenance, or filtered out.
  kRolledBack,
  kApplied,
  kReleased,
};
enum class Membership : std::uint8_t { kMember, kJoining, kLeaving };

/// "in_sync", "pending", "drifted", "unreachable", "failed", "refused", "skipped", "rolled_back",
/// "applied", "released"; "member", "joining", "leaving".
std::string_view to_string(NodeStatus status);
std::string_view to_string(Membership membership);

/// How one change of an apply ended.
enum class Outcome : std::uint8_t {
  kPlanned,
  kDone,
  kFailed,
  kNotDone,
  kUnknown,  ///< The connection broke while it was in hand: the next plan will tell.
};
std::string_view to_string(Outcome outcome);

struct NodeReport {
  std::string name;
  std::string address;
  NodeStatus status = NodeStatus::kInSync;
  Membership membership = Membership::kMember;
  bool not_contacted = false;              ///< Leaving, and without --yes-prune: nothing is known of it.
  std::optional<Error> error;              ///< The first thing that went wrong for the node as a whole.
  NodePlan plan;                           ///< For apply: the first stage's plan, with later stages' changes appended.
  std::map<ResourceId, Outcome> outcomes;  ///< Only after an apply.
  std::string lock_holder;                 ///< Who holds the node's lock, if anybody: "anna@laptop (pid 4242, apply)".
};

/// Everything a command has to say. Text, JSON and the exit code all derive from this one value.
struct Report {
  std::string command;  ///< "plan", "apply", "drift", "release", "rollback"
  std::string cluster;
  std::string file;
  std::string config_digest;
  std::vector<NodeReport> nodes;
  std::vector<Diagnostic> diagnostics;
  std::chrono::duration<double> duration{};
  bool partial = false;              ///< --only or --exclude left something out.
  bool interrupted = false;          ///< Ctrl-C.
  bool not_begun = false;            ///< A lock or a guard stopped an apply before its first step.
  bool verification_failed = false;  ///< A check of `verify` has failed.

  /// True for the commands that carry out what they have planned.
  bool carries_out() const { return command == "apply" || command == "release" || command == "rollback"; }
};

/// What a node's plan amounts to, when nothing else happened to the node.
NodeStatus status_of(const NodePlan& plan);

struct ExitRules {
  bool changes_are_2 = false;  ///< plan --detailed-exitcode
  bool drift_is_2 = false;     ///< drift
  bool pending_is_2 = false;   ///< drift --pending
};

/// The first that applies of 1, 3, 7, 9, 4, 6, 5, 8, 2, 0. 0 never follows a failure.
/// An error decides by its code: kBug 1, kRefused 9, kBusy 6, kStalePlan 5, all others 4; the same
/// for a blocked resource. Without an error a failed or unreachable node, a change of an apply that
/// failed or was not done, and a resource that a whole apply left waiting are 4. An error among the
/// diagnostics is 3, a check that failed 8. An interrupted run is judged by what it left undone, hence 4 or 0; 1 is for
/// usage and broken invariants only.
int exit_code(const Report& report, const ExitRules& rules);

/// The JSON of plan, drift and apply. Schema: schemas/report.schema.json.
Value to_json_value(const Report& report);

struct TextStyle {
  bool color = false;
  bool quiet = false;  ///< Only what needs attention and the last line.
  bool show_in_sync = true;
  int width = 100;
};

/// What a person reads: nodes with changes first, equal changes on several nodes once, the summary
/// line last. Everything from a node or the file passes printable().
std::string to_text(const Report& report, const TextStyle& style);

}  // namespace sparkplan
