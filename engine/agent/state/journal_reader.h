#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// A step that a run meant to carry out, and how that ended.
struct JournaledStep {
  Step step;
  /// What the manifest said of the step's resources before; nothing: it did not know of them.
  std::map<ResourceId, std::optional<ManagedResource>> managed;
  std::optional<StepOutcome> outcome;  ///< Nothing: the agent ended before it was known.
  std::string error;
  /// False for a line of an older version, which lacks a part of what undoing needs.
  bool complete = true;

  /// The artifact may be as the step wanted it.
  bool may_have_happened() const { return !outcome || *outcome == StepOutcome::kDone; }
};

/// One run as journaled.
struct RunJournal {
  std::string run;
  std::string previous;  ///< The run before it on this node; empty: none, or not known.
  std::string time;      ///< Of the first line.
  std::string who;
  std::string operation;
  RunPurpose purpose;
  std::vector<JournaledStep> steps;
  bool committed = false;    ///< It came to its end.
  bool rolled_back = false;  ///< By the node itself.
  bool refused = false;      ///< Something was not even begun: its artifact was stale, or no tool wanted it.

  bool changed_something() const;
  RunOutcome outcome() const;
};

/// Pure. A last line that is only half there is what a power cut leaves, and is passed over.
/// Errors: kInvalidInput, with the number of the line that is none.
Result<RunJournal> parse_journal(const std::string& run, std::string_view text);

struct Journals {
  std::vector<RunJournal> runs;         ///< Newest first.
  std::vector<DamagedJournal> damaged;  ///< Newest first.
};

/// All journals of the node. One that cannot be read is among the damaged ones.
/// Errors: kPermissionDenied and the like, for the directory.
Result<Journals> read_journals(const NodeReader& node);

/// Which run has rolled back which, counting only those that came to their end without a failure.
std::map<std::string, std::string> undone_runs(const Journals& journals);

/// The answer to a HistoryRequest.
HistoryReply history_of(const Journals& journals, bool with_artifacts);

}  // namespace sparkplan
