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

/// A step that a run intended, and its result.
struct JournaledStep {
  Step step;
  /// The manifest's entries about the step's resources before it; nothing: the manifest did not have the resource.
  std::map<ResourceId, std::optional<ManagedResource>> managed;
  std::optional<StepOutcome> outcome;  ///< Nothing: the agent ended before the result.
  std::string error;
  /// False for a line of an older version, which lacks a part of the data that undoing needs.
  bool complete = true;

  /// True if the artifact may be as the step wanted it.
  bool may_have_happened() const { return !outcome || *outcome == StepOutcome::kDone; }
};

/// One run as journaled.
struct RunJournal {
  std::string run;
  std::string previous;  ///< The run before it on this node; empty: none, or unknown.
  std::string time;      ///< The time of the first line.
  std::string who;
  std::string operation;
  RunPurpose purpose;
  /// With the outcome kUndone for those of a trial that the node has rolled back. Safe steps before it stay.
  std::vector<JournaledStep> steps;
  std::size_t trial = 0;     ///< The place of the first step of the last trial; 0 without a trial.
  bool committed = false;    ///< It has ended normally.
  bool rolled_back = false;  ///< The node has undone a trial by itself.
  bool refused = false;      ///< A step did not begin: its artifact was stale, or a tool rejected it.

  /// At least one step may still be in effect.
  bool changed_something() const;
  RunOutcome outcome() const;
};

/// Pure. An incomplete last line results from a power cut and is skipped.
/// Errors: kInvalidInput, with the number of the invalid line.
Result<RunJournal> parse_journal(const std::string& run, std::string_view text);

struct Journals {
  std::vector<RunJournal> runs;         ///< Newest first.
  std::vector<DamagedJournal> damaged;  ///< Newest first.
};

/// All journals of the node. Unreadable journals are among the damaged ones.
/// Errors: kPermissionDenied and similar errors, for the directory.
Result<Journals> read_journals(const NodeReader& node);

/// Maps each undone run to the run that undid it. Only rollbacks that ended without a failure count.
std::map<std::string, std::string> undone_runs(const Journals& journals);

/// The answer to a HistoryRequest.
HistoryReply history_of(const Journals& journals, bool with_artifacts);

}  // namespace sparkplan
