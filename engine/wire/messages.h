#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/facts.h"
#include "engine/model/manifest.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/wire/cable_messages.h"
#include "engine/wire/history_messages.h"
#include "engine/wire/rdma_messages.h"
#include "engine/wire/storage_messages.h"
#include "engine/wire/verify_messages.h"
#include "engine/wire/window_messages.h"

namespace sparkplan {

/// A peer of another major is not spoken to. A newer minor only adds.
inline constexpr std::int64_t kProtocolMajor = 1;
inline constexpr std::int64_t kProtocolMinor = 3;
/// The first minor whose agent knows FactsRequest::observe_managed; an older one refuses what it does not know.
inline constexpr std::int64_t kMinorOfObserveManaged = 2;
/// The same for FactsRequest::everything.
inline constexpr std::int64_t kMinorOfEverything = 3;

/// The agent's first message, unasked.
struct Hello {
  std::int64_t protocol_major = kProtocolMajor;
  std::int64_t protocol_minor = kProtocolMinor;
  std::string build;               ///< elf_build_id() of the running agent.
  std::string architecture;        ///< uname -m
  std::vector<std::string> types;  ///< The resource types it knows.
};

/// Who holds a node's lock, in words that help to find them.
struct LockHolder {
  std::string who;        ///< "anna@laptop"
  std::int64_t pid = 0;   ///< Of the controller process, on its own machine.
  std::string operation;  ///< "apply"
  std::string since;      ///< RFC 3339, UTC.

  std::string describe() const;
  bool operator==(const LockHolder&) const = default;
};

struct FactsRequest {
  std::map<std::string, Value> exports;  ///< Types whose exports are wanted, each with the node's section.
  /// A manifest or a record of a change on trial that cannot be read is moved away, so that the next run is
  /// not stopped by it; this one is all the same, with an error that names it. Only for runs that write.
  bool set_damaged_aside = false;
  /// What the manifest names is observed in the same turn: in sync, that is all a plan asks about.
  bool observe_managed = false;
  bool everything = false;  ///< Facts::extended as well, which takes programs and a second or so.
};
struct FactsReply {
  Facts facts;
  std::optional<Manifest> manifest;  ///< Nothing: the node was never applied.
  std::optional<LockHolder> lock_holder;
  std::optional<TransactionReport> transaction;  ///< The latest, while nobody has taken note of it.
  std::map<std::string, Value> exports;          ///< By type; null Values are left out.
  std::map<std::string, Error> export_errors;    ///< Types whose exports could not be read.
  ObservedState observed;                        ///< Of names_managed(); empty unless it was asked for.
};

struct ObserveNodeRequest {
  std::map<std::string, std::vector<std::string>> names;  ///< By type.
};

/// After an apply: what of the desired values does not take effect, by ResourceType::check_effect().
struct EffectRequest {
  std::map<std::string, std::map<std::string, Value>> desired;  ///< type -> resource name -> value
};
struct EffectReply {
  std::map<std::string, std::vector<Ineffective>> ineffective;  ///< By type.
};

struct LockRequest {
  LockHolder holder;
  RunPurpose purpose = {};
};

/// Carries out steps in order, each one compared first (compare-and-swap) and journaled. Needs the lock.
struct ApplyRequest {
  std::string run;
  std::string node;  ///< The node's name, for its manifest.
  Roster roster;     ///< Written into a manifest that is only now begun.
  std::vector<Step> steps;
  /// NodePlan::after_steps: written to the manifest with the steps, so that nothing is ever on the
  /// node that the manifest does not know.
  std::map<ResourceId, Value> after_steps;
  /// Not 0: all steps or none, on trial. The node undoes them by itself that many seconds later unless
  /// a ConfirmRequest comes; the lock is given back, as the trial keeps others away.
  std::int64_t window_seconds = 0;
};

enum class StepOutcome : std::uint8_t {
  kDone,
  kFailed,   ///< Tried; the artifact is as it was before.
  kStale,    ///< Not tried: the artifact was not as planned on.
  kUndone,   ///< Was done, and taken back because another step of its group failed.
  kNotDone,  ///< Not tried: its group had failed, or the run was stopped.
};
std::string_view to_string(StepOutcome outcome);
std::optional<StepOutcome> step_outcome_from(std::string_view name);

struct StepResult {
  ArtifactId artifact;
  StepOutcome outcome = StepOutcome::kNotDone;
  std::optional<Error> error;  ///< For kFailed and kStale; for kUndone only if the undoing failed.
};
struct ApplyReply {
  std::vector<StepResult> results;  ///< One for each step, in the same order.
  bool stopped = false;             ///< A StopNotice came in between.
};

/// The end of a run on a node: its manifest now says this. Needs the lock.
struct CommitRequest {
  std::string run;
  std::string node;
  Roster roster;
  std::map<ResourceId, ManagedResource> resources;
  std::string audit;  ///< One line for syslog.
};

/// Sparkplan leaves a node on which everything has been undone: manifest, journal and agent go. Needs
/// the lock.
struct ReleaseRequest {
  std::string audit;  ///< One line for syslog.
};

/// Finish the step in hand and answer. Has no reply of its own.
struct StopNotice {};
struct UnlockRequest {};
struct PingRequest {};

using Request =
    std::variant<FactsRequest, ObserveNodeRequest, EffectRequest, LockRequest, ApplyRequest, CommitRequest,
                 ReleaseRequest, HistoryRequest, UndoRequest, BreakLockRequest, TransactionRequest, ConfirmRequest,
                 RollBackRequest, ExtendRequest, ProbeRequest, OpenEarRequest, CloseEarRequest, SendDatagramsRequest,
                 MeasureTcpRequest, ListenToCablesRequest, CallIntoCablesRequest, HearCablesRequest, SshLoginRequest,
                 MeasurementsRequest, ReadStorageRequest, RdmaOpenRequest, RdmaConnectRequest, RdmaWriteRequest,
                 RdmaLatencyRequest, RdmaCountersRequest, RdmaCloseRequest, UnlockRequest, PingRequest, StopNotice>;

/// A request with the number its reply will carry.
struct NumberedRequest {
  std::int64_t id = 0;
  Request request;
};

/// What the agent is at while it works on a request: {"id": n, "progress": "..."}. Any number of
/// them may come before the reply; each shows that the agent is alive.
Value encode_progress(std::int64_t id, std::string_view doing);
/// The text, when the message is such a one.
std::optional<std::string> progress_in(const Value& message);

/// {"id": n, "reply": ...} or {"id": n, "error": {...}}.
struct NumberedReply {
  std::int64_t id = 0;
  Result<Value> body;
};

Value encode(const Hello& hello);
Value encode(const NumberedRequest& request);
Value encode(const NumberedReply& reply);
Value encode(const FactsReply& reply);
Value encode(const ApplyReply& reply);
Value encode(const EffectReply& reply);
Value encode(const LockHolder& holder);

/// Errors of all decoders: kInvalidInput; decode_request() also for a request it does not know.
Result<Hello> decode_hello(const Value& value);
Result<NumberedRequest> decode_request(const Value& value);
Result<NumberedReply> decode_reply(Value value);  ///< Moves the body out of it.
Result<FactsReply> decode_facts_reply(const Value& value);
Result<ApplyReply> decode_apply_reply(const Value& value);
Result<EffectReply> decode_effect_reply(const Value& value);
Result<LockHolder> decode_lock_holder(const Value& value);

}  // namespace sparkplan
