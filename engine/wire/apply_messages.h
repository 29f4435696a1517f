#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/fields.h"
#include "engine/model/manifest.h"
#include "engine/model/plan.h"

/// Each request declares its name on the wire and the type of its reply. The reply of type void is an empty map.
namespace sparkplan {

/// The holder of a node's lock, described so that the user can find them.
struct LockHolder {
  std::string who;        ///< "anna@laptop"
  std::int64_t pid = 0;   ///< Of the controller process, on its own machine.
  std::string operation;  ///< "apply"
  std::string since;      ///< RFC 3339, UTC.

  std::string describe() const;
  bool operator==(const LockHolder&) const = default;
};

/// The purpose of a run; the node's journal records it at the beginning of the run.
struct RunPurpose {
  std::string saved_plan;  ///< The id of the saved plan that the run carries out; empty: none.
  std::string undoes;      ///< The run that this run rolls back; empty: none.
};

struct LockRequest {
  static constexpr std::string_view kName = "lock";
  using Reply = void;
  LockHolder holder;
  RunPurpose purpose = {};
};

/// Ends the agent that holds the node's lock.
struct BreakLockRequest {
  static constexpr std::string_view kName = "break_lock";
  using Reply = void;
  std::string holder;  ///< LockHolder::describe() of the intended holder; any other holder is left running.
  std::string audit;   ///< One line for syslog.
};

enum class StepOutcome : std::uint8_t {
  kDone,
  kFailed,   ///< Tried; the artifact is as it was before.
  kStale,    ///< Not tried: the artifact differs from the planned state.
  kUndone,   ///< Done, and then undone because another step of its group failed.
  kNotDone,  ///< Not tried: its group had failed, or the run was stopped.
};
constexpr EnumNames<5> names_of(StepOutcome /*outcome*/) { return {"done", "failed", "stale", "undone", "not_done"}; }

struct StepResult {
  ArtifactId artifact;
  StepOutcome outcome = StepOutcome::kNotDone;
  std::optional<Error> error;  ///< For kFailed and kStale; for kUndone only if the undoing failed.
};
/// The bounds of what a rollback did not restore, here and in TransactionReport.
inline constexpr std::size_t kMostNotRestored = 64;
inline constexpr std::size_t kLongestNotRestored = 1000;
struct ApplyReply {
  std::vector<StepResult> results;  ///< One for each step, in the same order.
  bool stopped = false;             ///< A StopNotice arrived during the apply.
  /// Of a trial whose steps were undone: TransactionReport::not_restored.
  std::vector<std::string> not_restored = {};
};

/// A value that the steps of one node write. Only the node that needs it receives it, with the request that writes it.
struct SecretValue {
  std::string token;  ///< Stands for it in the steps: engine/core/keyed_digest.h.
  std::string value;  ///< The agent keeps it nowhere but in its file.
};
inline constexpr std::size_t kMostSecretBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMostSecrets = 256;

/// Carries out steps in order. Each one is compared first (compare-and-swap) and journaled. Needs the lock.
struct ApplyRequest {
  static constexpr std::string_view kName = "apply";
  using Reply = ApplyReply;
  std::string run;
  std::string node;  ///< The node's name, for its manifest.
  Roster roster;     ///< Written into a manifest that this run creates.
  std::vector<Step> steps;
  /// NodePlan::after_steps: written to the manifest with the steps, so that the manifest always lists all changes of
  /// sparkplan on the node.
  std::map<ResourceId, Value> after_steps;
  /// Not 0: all steps or none, on trial. The node undoes them by itself that many seconds later unless it receives a
  /// ConfirmRequest. The lock is released, because the trial itself blocks other runs.
  std::int64_t window_seconds = 0;
  std::vector<SecretValue> secrets = {};  ///< Never together with a window: a trial is recorded with its request.
  bool ignore_jobs = false;  ///< Also carries out disruptive steps while a job runs, which are refused otherwise.
  /// The uuid in the node's manifest, if the controller has found that it names this cluster. Any other one is refused.
  std::string accepted_uuid = {};
};

/// The end of a run on a node, with the manifest's new content. Needs the lock.
struct CommitRequest {
  static constexpr std::string_view kName = "commit";
  using Reply = void;
  std::string run;
  std::string node;
  Roster roster;
  std::map<ResourceId, ManagedResource> resources;
  std::string audit;               ///< One line for syslog.
  std::string accepted_uuid = {};  ///< As in ApplyRequest.
};

/// Removes manifest, journal and agent from a node on which everything is undone. Needs the lock.
struct ReleaseRequest {
  static constexpr std::string_view kName = "release";
  using Reply = void;
  std::string audit;         ///< One line for syslog.
  bool ignore_jobs = false;  ///< As in ApplyRequest.
};

struct UnlockRequest {
  static constexpr std::string_view kName = "unlock";
  using Reply = void;
};

struct PingRequest {
  static constexpr std::string_view kName = "ping";
  using Reply = void;
};

/// Ends an apply after its current step. Its reply is the apply's reply.
struct StopNotice {
  static constexpr std::string_view kName = "stop";
  using Reply = void;
};

void list_fields(FieldVisitor& field, LockHolder& holder);
void list_fields(FieldVisitor& field, LockRequest& request);
void list_fields(FieldVisitor& field, BreakLockRequest& request);
void list_fields(FieldVisitor& field, StepResult& result);
void list_fields(FieldVisitor& field, ApplyReply& reply);
void list_fields(FieldVisitor& field, SecretValue& secret);
void list_fields(FieldVisitor& field, ApplyRequest& request);
void list_fields(FieldVisitor& field, CommitRequest& request);
void list_fields(FieldVisitor& field, ReleaseRequest& request);

}  // namespace sparkplan
