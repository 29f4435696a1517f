#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/fields.h"
#include "engine/model/manifest.h"
#include "engine/model/plan.h"
#include "engine/wire/apply_messages.h"

namespace sparkplan {

/// The outcome of a run on a node.
enum class RunOutcome : std::uint8_t {
  kApplied,
  kFailed,      ///< Some steps were not done; the others were.
  kRolledBack,  ///< Its changes were undone, by itself or by a later run.
  kBrokenOff,   ///< The agent ended during the run: killed, or the node lost power.
};
constexpr EnumNames<4> names_of(RunOutcome /*outcome*/) { return {"applied", "failed", "rolled_back", "broken_off"}; }

/// The effect of a run on one artifact.
struct JournaledArtifact {
  std::string type;
  ArtifactId artifact;
  std::string outcome;  ///< As to_string(StepOutcome); "unknown" when the journal ends before it.
  std::string error;    ///< Empty: none.
};

/// One run, from a node's journal.
struct JournaledRun {
  std::string run;
  std::string time;       ///< The beginning on the node. RFC 3339, UTC.
  std::string who;        ///< "anna@laptop"; empty if an older version did not record it.
  std::string operation;  ///< "apply", "release", "rollback"
  RunPurpose purpose;
  RunOutcome outcome = RunOutcome::kApplied;
  std::string undone_by;     ///< The run that rolled it back; empty: none.
  std::int64_t changes = 0;  ///< The number of resources that the run changed, at least in part.
  std::vector<JournaledArtifact> artifacts;
  bool more_artifacts = false;  ///< `artifacts` was cut at kMostJournaledArtifacts.
};
inline constexpr std::size_t kMostJournaledArtifacts = 500;

struct DamagedJournal {
  std::string file;
  Error error;
};

struct HistoryReply {
  std::vector<JournaledRun> runs;  ///< Newest first.
  std::vector<DamagedJournal> damaged;
};

/// The runs whose journals the node still has.
struct HistoryRequest {
  static constexpr std::string_view kName = "history";
  using Reply = HistoryReply;
  bool with_artifacts = false;
};

/// An artifact that the rollback does not change.
struct KeptArtifact {
  std::string type;
  ArtifactId artifact;
  std::vector<ResourceId> resources;
  std::string reason;  ///< One clause: "it was changed since".
};

struct UndoReply {
  std::string run;  ///< Empty: no run is left to undo.
  std::string time;
  std::string who;
  std::string operation;
  std::vector<Step> steps;  ///< In the order of execution.
  std::vector<KeptArtifact> kept;
  /// The manifest's entries for the run's resources before that run. Nothing: the manifest had no entry.
  std::map<ResourceId, std::optional<ManagedResource>> managed_before;
};

/// The steps that would undo a run on this node.
struct UndoRequest {
  static constexpr std::string_view kName = "undo";
  using Reply = UndoReply;
  std::string run;  ///< Empty: the newest run that made changes and is not undone yet.
};

void list_fields(FieldVisitor& field, JournaledArtifact& artifact);
void list_fields(FieldVisitor& field, JournaledRun& run);
void list_fields(FieldVisitor& field, DamagedJournal& damaged);
void list_fields(FieldVisitor& field, HistoryReply& reply);
void list_fields(FieldVisitor& field, HistoryRequest& request);
void list_fields(FieldVisitor& field, KeptArtifact& kept);
void list_fields(FieldVisitor& field, UndoReply& reply);
void list_fields(FieldVisitor& field, UndoRequest& request);

}  // namespace sparkplan
