#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/manifest.h"
#include "engine/model/plan.h"

namespace sparkplan {

/// What a run is carried out for; the node's journal says it at its beginning.
struct RunPurpose {
  std::string saved_plan;  ///< The id of the saved plan that is carried out; empty: none.
  std::string undoes;      ///< The run that is rolled back; empty: none.
};

/// How a run ended on a node.
enum class RunOutcome : std::uint8_t {
  kApplied,
  kFailed,      ///< Something was not done; the rest was.
  kRolledBack,  ///< What it did was undone, by itself or by a later run.
  kBrokenOff,   ///< The agent ended in the middle: killed, or the node lost power.
};
/// "applied", "failed", "rolled_back", "broken_off".
std::string_view to_string(RunOutcome outcome);

/// What a run did to one artifact.
struct JournaledArtifact {
  std::string type;
  ArtifactId artifact;
  std::string outcome;  ///< As to_string(StepOutcome); "unknown" when the journal ends before it.
  std::string error;    ///< Empty: none.
};

/// One run as a node's journal tells it.
struct JournaledRun {
  std::string run;
  std::string time;       ///< Of its beginning on the node. RFC 3339, UTC.
  std::string who;        ///< "anna@laptop"; empty where an older version has not written it down.
  std::string operation;  ///< "apply", "release", "rollback"
  RunPurpose purpose;
  RunOutcome outcome = RunOutcome::kApplied;
  std::string undone_by;     ///< The run that rolled it back; empty: none.
  std::int64_t changes = 0;  ///< Resources of which something was carried out.
  std::vector<JournaledArtifact> artifacts;
  bool more_artifacts = false;  ///< `artifacts` has been cut at kMostJournaledArtifacts.
};
inline constexpr std::size_t kMostJournaledArtifacts = 500;

struct DamagedJournal {
  std::string file;
  Error error;
};

/// The runs whose journals the node still has.
struct HistoryRequest {
  bool with_artifacts = false;
};
struct HistoryReply {
  std::vector<JournaledRun> runs;  ///< Newest first.
  std::vector<DamagedJournal> damaged;
};

/// What would undo a run on this node.
struct UndoRequest {
  std::string run;  ///< Empty: the newest that changed something and was not undone yet.
};

/// An artifact that undoing leaves as it is.
struct KeptArtifact {
  std::string type;
  ArtifactId artifact;
  std::vector<ResourceId> resources;
  std::string reason;  ///< One clause: "it was changed since".
};

struct UndoReply {
  std::string run;  ///< Empty: there is no run left to undo.
  std::string time;
  std::string who;
  std::string operation;
  std::vector<Step> steps;  ///< In the order of execution.
  std::vector<KeptArtifact> kept;
  /// What the manifest said of the run's resources before it; nothing: it did not know of them.
  std::map<ResourceId, std::optional<ManagedResource>> managed_before;
};

/// Ends the agent that holds the node's lock.
struct BreakLockRequest {
  std::string holder;  ///< LockHolder::describe() of the one that is meant; another one is left alone.
  std::string audit;   ///< One line for syslog.
};

Value encode_body(const HistoryRequest& request);
Value encode_body(const UndoRequest& request);
Value encode_body(const BreakLockRequest& request);
Value encode(const HistoryReply& reply);
Value encode(const UndoReply& reply);

/// Errors of all decoders: kInvalidInput.
Result<HistoryReply> decode_history_reply(const Value& value);
Result<UndoReply> decode_undo_reply(const Value& value);

}  // namespace sparkplan
