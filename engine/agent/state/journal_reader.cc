#include "engine/agent/state/journal_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/agent/state/journal.h"
#include "engine/core/json.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kEnding = ".jsonl";
constexpr std::size_t kMaxJournalBytes = std::size_t{64} << 20;

Result<JournaledStep> decode_intent(Value line) {
  JournaledStep journaled;
  // An older version recorded only the artifact and its values.
  journaled.complete = line.find("phase") != nullptr && line.find("managed") != nullptr;
  if (line.find("phase") == nullptr) line.set("phase", to_string(Phase::kFiles));
  SPARK_TRY(journaled.step, decode<Step>(line));
  if (const Value* managed = line.find("managed")) {
    SPARK_TRY(journaled.managed, decode<decltype(journaled.managed)>(*managed));
  }
  return journaled;
}

Result<void> note_result(const Value& line, RunJournal& journal) {
  SPARK_TRY(const auto artifact, ArtifactId::parse(line.text_or("artifact", "")));
  const auto outcome = value_named<StepOutcome>(line.text_or("outcome", ""));
  if (!outcome) return failure(ErrorCode::kInvalidInput, "unknown outcome of a step");
  const auto of_artifact = [&](const JournaledStep& journaled) { return journaled.step.artifact == artifact; };
  const auto latest = std::find_if(journal.steps.rbegin(), journal.steps.rend(), of_artifact);
  // A step that did not begin has no intent: it was stale, or there was no room for its intent.
  const bool begun = latest != journal.steps.rend();
  const bool of_later_stage = begun && latest->outcome && *outcome != StepOutcome::kUndone;
  if (!begun || of_later_stage) {
    journal.refused = true;
    return {};
  }
  latest->outcome = *outcome;
  latest->error = line.text_or("error", "");
  return {};
}

/// The steps before the trial were no part of it.
void note_rollback(RunJournal& journal) {
  journal.rolled_back = true;
  for (std::size_t i = journal.trial; i < journal.steps.size(); ++i) {
    if (journal.steps[i].may_have_happened()) journal.steps[i].outcome = StepOutcome::kUndone;
  }
}

Result<void> read_line(Value line, RunJournal& journal) {
  if (!line.is_map()) return failure(ErrorCode::kInvalidInput, "it is not a map");
  const auto event = line.text_or("event", "");
  if (journal.time.empty()) journal.time = line.text_or("time", "");
  if (event == "begin") {
    journal.previous = line.text_or("previous", "");
    journal.who = line.text_or("who", "");
    journal.operation = line.text_or("operation", "");
    journal.purpose = {line.text_or("saved_plan", ""), line.text_or("undoes", "")};
  } else if (event == "intent") {
    SPARK_TRY(auto intent, decode_intent(std::move(line)));
    journal.steps.push_back(std::move(intent));
  } else if (event == "result") {
    return note_result(line, journal);
  } else if (event == "commit") {
    journal.committed = true;
  } else if (event == "armed") {
    journal.trial = journal.steps.size();
  } else if (event == "rolled_back") {
    note_rollback(journal);
  }
  // Other events come from a newer version and do not matter here.
  return {};
}

/// Newest first. Each run names the run before it, so a clock that was set back does no harm. The times in the run ids
/// count only where a journal of the chain cannot be read.
void sort_by_age(Journals& journals) {
  std::map<std::string, std::size_t> rank;
  std::map<std::string, std::string> previous;
  for (const auto& journal : journals.runs) previous[journal.run] = journal.previous;
  const auto rank_of = [&](const std::string& run) {
    std::size_t before = 0;
    for (auto at = previous.find(run); at != previous.end() && before <= previous.size(); ++before) {
      at = previous.find(at->second);
    }
    return before;
  };
  if (journals.damaged.empty()) {
    for (const auto& journal : journals.runs) rank[journal.run] = rank_of(journal.run);
  }
  std::sort(journals.runs.begin(), journals.runs.end(), [&](const RunJournal& a, const RunJournal& b) {
    return std::pair(rank[a.run], a.run) > std::pair(rank[b.run], b.run);
  });
}

JournaledRun summary_of(const RunJournal& journal, const std::map<std::string, std::string>& undone,
                        bool with_artifacts) {
  JournaledRun run;
  run.run = journal.run;
  run.time = journal.time;
  run.who = journal.who;
  run.operation = journal.operation;
  run.purpose = journal.purpose;
  run.outcome = journal.outcome();
  if (const auto by = undone.find(journal.run); by != undone.end()) {
    run.undone_by = by->second;
    run.outcome = RunOutcome::kRolledBack;
  }
  std::set<ResourceId> changed;
  for (const auto& journaled : journal.steps) {
    if (journaled.may_have_happened()) changed.insert(journaled.step.resources.begin(), journaled.step.resources.end());
    if (!with_artifacts) continue;
    if (run.artifacts.size() == kMostJournaledArtifacts) {
      run.more_artifacts = true;
      continue;
    }
    const std::string outcome(journaled.outcome ? to_string(*journaled.outcome) : "unknown");
    run.artifacts.push_back({journaled.step.type, journaled.step.artifact, outcome, journaled.error});
  }
  run.changes = static_cast<std::int64_t>(changed.size());
  return run;
}

}  // namespace

bool RunJournal::changed_something() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const JournaledStep& journaled) { return journaled.may_have_happened(); });
}

RunOutcome RunJournal::outcome() const {
  if (rolled_back) return changed_something() ? RunOutcome::kFailed : RunOutcome::kRolledBack;
  const auto any = [&](auto matches) { return std::any_of(steps.begin(), steps.end(), matches); };
  const bool cut = any([](const JournaledStep& journaled) { return !journaled.outcome; });
  const bool done = any([](const JournaledStep& journaled) { return journaled.outcome == StepOutcome::kDone; });
  // A run without any effect writes no manifest at its end.
  if (cut || (done && !committed) || (steps.empty() && !refused && !committed)) return RunOutcome::kBrokenOff;
  const bool failed = any([](const JournaledStep& journaled) { return journaled.outcome != StepOutcome::kDone; });
  return failed || refused ? RunOutcome::kFailed : RunOutcome::kApplied;
}

Result<RunJournal> parse_journal(const std::string& run, std::string_view text) {
  RunJournal journal;
  journal.run = run;
  text = text.substr(0, text.rfind('\n') + 1);  // A crash can have cut off the last line.
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = decode_json(take_line(text));
    const auto read = line ? read_line(std::move(*line), journal) : failure(std::move(line).error());
    if (!read) return failure(Error(read.error()).within("line " + std::to_string(number)));
  }
  return journal;
}

Result<Journals> read_journals(const NodeReader& node) {
  Journals journals;
  SPARK_TRY(auto names, or_empty(node.list_directory(journal_directory())));
  // Run ids begin with their time.
  std::sort(names.rbegin(), names.rend());
  for (const auto& name : names) {
    if (!name.ends_with(kEnding)) continue;
    const auto path = journal_directory() / name;
    const auto text = node.read_file(path, kMaxJournalBytes);
    auto journal = text ? parse_journal(name.substr(0, name.size() - kEnding.size()), *text)
                        : Result<RunJournal>(failure(Error(text.error())));
    if (journal) {
      journals.runs.push_back(std::move(*journal));
    } else {
      journals.damaged.push_back({path.string(), std::move(journal).error()});
    }
  }
  sort_by_age(journals);
  return journals;
}

std::map<std::string, std::string> undone_runs(const Journals& journals) {
  std::map<std::string, std::string> undone;
  for (const auto& journal : journals.runs) {
    if (!journal.purpose.undoes.empty() && !journal.steps.empty() && journal.outcome() == RunOutcome::kApplied)
      undone.emplace(journal.purpose.undoes, journal.run);
  }
  return undone;
}

HistoryReply history_of(const Journals& journals, bool with_artifacts) {
  HistoryReply reply;
  const auto undone = undone_runs(journals);
  for (const auto& journal : journals.runs) reply.runs.push_back(summary_of(journal, undone, with_artifacts));
  reply.damaged = journals.damaged;
  return reply;
}

}  // namespace sparkplan
