#include "engine/agent/trial/transaction_end.h"

#include <syslog.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "engine/agent/apply/step_executor.h"
#include "engine/agent/state/journal.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/shell_environment.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

/// The time that a running step has to end before its process is killed.
constexpr std::chrono::milliseconds kPatienceForSteps{15'000};

void note_in_journal(const Transaction& transaction, std::string_view event, const std::string& reason,
                     LocalNode& node) {
  // The step has happened; a full disk must not turn it into a failure.
  if (auto journal = Journal::open(transaction.run(), node)) {
    (void)journal->append(event, Value::map({{"reason", reason}}));
  }
}

/// Undoes the steps one by one, and collects the failures.
class Undoing {
 public:
  Undoing(const Transaction& transaction, const Registry& registry, LocalNode& node)
      : transaction_(transaction), registry_(registry), node_(node), before_(transaction.snapshot(node)) {}

  void files() {
    node_.unstage();
    const auto& steps = transaction_.request().steps;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (!step->activates && is_text_artifact(step->artifact)) file(*step);
    }
  }

  void all_else() {
    const auto& steps = transaction_.request().steps;
    for (const bool activates : {false, true}) {
      for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        if (step->activates == activates && !(is_text_artifact(step->artifact) && !step->activates)) live(*step);
      }
    }
  }

  /// Restores changes that were made by other means than our files and links, such as a rule that a unit set.
  void snapshot() {
    if (!before_ || !node_.live()) return;
    auto restored = restore_snapshot(*before_, node_);
    if (!restored) return failures_.push_back(std::move(restored).error());
    std::ranges::move(*restored, std::back_inserter(not_restored_));
  }

  const std::vector<Error>& failures() const { return failures_; }
  /// TransactionReport::not_restored: no reason to try again.
  const std::vector<std::string>& not_restored() const { return not_restored_; }

 private:
  const ResourceType* type_of(const Step& step) {
    const auto* type = registry_.find(step.type);
    if (type == nullptr) {
      failures_.push_back(make_error(ErrorCode::kUnsupported, "this agent has no resource type " + step.type));
    }
    return type;
  }

  void file(const Step& step) {
    const auto* type = type_of(step);
    if (type == nullptr) return;
    if (const auto staged = staged_file(step, registry_)) {
      if (auto removed = node_.remove_file(staged->twin); !removed) failures_.push_back(std::move(removed).error());
    }
    const auto now = read_artifact(step.artifact, *type, node_);
    // An overridden file is written again, although it never changed: files generated from its twin are then older.
    const bool overridden = staged_file(step, registry_) && !std::holds_alternative<Absent>(step.before);
    if (same_state(now, step.before) && !overridden) return;
    if (!same_state(now, step.before) && !same_state(now, step.after) && !std::holds_alternative<Error>(now)) {
      not_restored_.push_back(step.artifact.name + ": it was changed since");
      return;
    }
    restore(step, *type);
  }

  void live(const Step& step) {
    const auto* type = type_of(step);
    if (type == nullptr) return;
    if (!step.activates && same_state(read_artifact(step.artifact, *type, node_), step.before)) return;
    restore(step, *type);
  }

  void restore(const Step& step, const ResourceType& type) {
    auto undone = apply_artifact(step.artifact, step.before, type, node_);
    if (undone) return;
    Error error = std::move(undone).error().within(step.artifact.name);
    // A neighbour can keep an interface of the fabric from its addresses: by its DHCP server, by its answers to ARP, or
    // by its end of the cable. It must not keep the rollback from ending, nor all later runs from beginning.
    const bool is_up_to_others = type.is_left_to_others(step.artifact, error);
    if (!is_up_to_others || !before_ || carries_connection(step.artifact.name, *before_))
      return failures_.push_back(std::move(error));
    not_restored_.push_back(error.describe());
  }

  const Transaction& transaction_;
  const Registry& registry_;
  LocalNode& node_;
  std::optional<ConnectivitySnapshot> before_;
  std::vector<Error> failures_;
  std::vector<std::string> not_restored_;
};

/// Copies of the earlier files, and the commands that restore them by hand.
std::vector<std::string> manual_commands(const Transaction& transaction, const Registry& registry, LocalNode& node) {
  std::vector<std::string> commands{shell_quote(transaction.program().string()) + " --rollback " + transaction.run()};
  bool netplan = false;
  int number = 0;
  for (const Step& step : transaction.request().steps) {
    if (const auto staged = staged_file(step, registry)) {
      commands.push_back("rm -f " + shell_quote(staged->twin.string()));
      netplan = true;
    }
    if (!is_text_artifact(step.artifact)) continue;
    const auto before = content_of(step.before);
    if (!before) {
      commands.push_back("rm -f " + shell_quote(step.artifact.name));
      continue;
    }
    const fs::path backup = transaction.directory() / ("backup-" + std::to_string(++number));
    if (!node.write_file(backup, private_file(*before))) continue;
    commands.push_back("cp " + shell_quote(backup.string()) + " " + shell_quote(step.artifact.name));
  }
  if (netplan) commands.emplace_back("netplan apply");
  commands.push_back(shell_quote(transaction.program().string()) + " --forget " + transaction.run());
  return commands;
}

Error rollback_failure(const std::vector<Error>& failures) {
  std::vector<std::string> texts;
  for (const auto& error : failures) texts.push_back(error.describe());
  return make_error(ErrorCode::kFailed, "could not be restored: " + join(texts, "; "));
}

Result<void> give_up_on(Transaction& transaction, const std::vector<Error>& failures, const Registry& registry,
                        LocalNode& node) {
  Error error = rollback_failure(failures);
  const auto commands = manual_commands(transaction, registry, node);
  (void)transaction.keep_manual_commands(commands, node);
  (void)transaction.note_reason(error.describe(), node);
  (void)transaction.mark_rollback_failed(node);
  note_in_journal(transaction, "rollback_failed", error.describe(), node);
  error.hint = repair_words(commands);
  log_to_syslog(LOG_CRIT, "run=" + transaction.run() + " rollback failed: " + error.describe() + "; " + error.hint,
                node);
  return failure(std::move(error));
}

}  // namespace

Result<void> undo(Transaction& transaction, UndoScope scope, const Registry& registry, LocalNode& node,
                  RollbackTimer& timer) {
  // Held to the end: the timer and a run that finds its transaction must not undo at the same time.
  SPARK_TRY(const auto work, transaction.take_over_work(kPatienceForSteps, node));
  if (!work || transaction.is_undone(node)) return {};
  Undoing undoing(transaction, registry, node);
  undoing.files();
  if (scope == UndoScope::kAll) {
    undoing.all_else();
    undoing.snapshot();
  }
  if (!undoing.failures().empty()) return give_up_on(transaction, undoing.failures(), registry, node);
  if (scope == UndoScope::kFilesOnly) return {};
  const auto report = transaction.report(node);
  const std::string reason = report && !report->reason.empty() ? report->reason : "not confirmed in time";
  // The next run reports a damaged manifest and moves it away.
  if (auto manifest = read_manifest(node); manifest && *manifest) {
    forget_intentions(transaction.request().steps, **manifest);
    SPARK_CHECK(write_manifest(**manifest, node));
  }
  SPARK_CHECK(transaction.note_reason(reason, node));
  SPARK_CHECK(transaction.note_not_restored(undoing.not_restored(), node));
  SPARK_CHECK(transaction.note_undone(node));
  const std::string except = not_restored_words(undoing.not_restored());
  note_in_journal(transaction, "rolled_back", reason + except, node);
  log_to_syslog(LOG_WARNING, "run=" + transaction.run() + " rolled back" + except + ": " + reason, node);
  return timer.stop(transaction.run(), node);
}

Result<void> finish(Transaction& transaction, const Registry& registry, LocalNode& node, RollbackTimer& timer) {
  node.unstage();
  const auto& request = transaction.request();
  for (const Step& step : request.steps) {
    const auto staged = staged_file(step, registry);
    const auto* type = registry.find(step.type);
    if (!staged || type == nullptr) continue;
    SPARK_CHECK(apply_artifact(step.artifact, step.after, *type, node));
    SPARK_CHECK(node.remove_file(staged->twin));
  }
  SPARK_TRY(auto stored, read_manifest(node));
  Manifest manifest = stored ? std::move(*stored) : Manifest{};
  if (!stored) manifest.roster = request.roster;
  manifest.node = request.node;
  manifest.last_run = request.run;
  record_as_done(request.steps, request.after_steps, manifest);
  SPARK_CHECK(write_manifest(manifest, node));
  note_in_journal(transaction, "confirmed", "", node);
  SPARK_CHECK(timer.stop(transaction.run(), node));
  return transaction.remove(node);
}

Result<void> roll_back_by_timer(const std::string& run, const Registry& registry, LocalNode& node,
                                RollbackTimer& timer) {
  SPARK_TRY(auto found, Transaction::find(node));
  if (!found || found->run() != run) return {};
  SPARK_TRY(const bool ours, found->claim(TransactionState::kRolledBack, node));
  SPARK_TRY(const auto state, found->state(node));
  const bool again =
      state == TransactionState::kRollbackFailed || (state == TransactionState::kRolledBack && !found->is_undone(node));
  if (!ours && !again) return {};
  return undo(*found, UndoScope::kAll, registry, node, timer);
}

Result<void> forget_failed_rollback(const std::string& run, const Registry& /*registry*/, LocalNode& node,
                                    RollbackTimer& timer) {
  SPARK_TRY(auto found, Transaction::find(node));
  if (!found || found->run() != run) return failure(ErrorCode::kNotFound, "there is no record of run " + run);
  if (found->is_worked_on(node)) return failure(ErrorCode::kBusy, "its rollback is being tried again", "wait for it");
  SPARK_TRY(const auto work, found->begin_work(node));
  SPARK_TRY(const auto state, found->state(node));
  if (state != TransactionState::kRollbackFailed)
    return failure(ErrorCode::kRefused, "run " + run + " has no rollback that failed: its record stays");
  SPARK_CHECK(timer.stop(run, node));
  log_to_syslog(LOG_WARNING, "run=" + run + " the record of its failed rollback was removed by hand", node);
  return found->remove(node);
}

Result<void> recover_at_boot(const std::string& run, const Registry& registry, LocalNode& node, RollbackTimer& timer) {
  SPARK_TRY(auto found, Transaction::find(node));
  if (!found || found->run() != run) return timer.stop(run, node);
  SPARK_TRY(const bool ours, found->claim(TransactionState::kRolledBack, node));
  if (ours) SPARK_CHECK(found->note_reason("the node was rebooted before the change was confirmed", node));
  SPARK_TRY(const auto state, found->state(node));
  if (state == TransactionState::kBegun) return timer.stop(run, node);
  constexpr std::chrono::milliseconds kReload{30'000};
  const std::vector<std::string> reload{"systemctl", "daemon-reload"};
  if (state == TransactionState::kCommitted) {
    SPARK_CHECK(finish(*found, registry, node, timer));
  } else {
    SPARK_CHECK(undo(*found, UndoScope::kFilesOnly, registry, node, timer));
    // The rest needs a running system, with its units and links.
    SPARK_CHECK(timer.start(run, found->program(), std::chrono::seconds(10), node));
  }
  // The generators ran before us, on the old files.
  SPARK_CHECK(node.run(reload, kReload));
  return {};
}

}  // namespace sparkplan
