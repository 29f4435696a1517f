#include "engine/agent/session/session.h"
#include "engine/agent/node/utc_time.h"

#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "engine/agent/apply/secret_steps.h"
#include "engine/agent/apply/step_executor.h"
#include "engine/agent/apply/undo.h"
#include "engine/agent/facts/facts_reader.h"
#include "engine/agent/session/observation_room.h"
#include "engine/agent/state/journal_reader.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/agent/state/measurement_history.h"
#include "engine/agent/state/running_jobs.h"
#include "engine/resource/artifact.h"
#include "engine/resource/secret_artifact.h"
#include "engine/wire/frame.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLongestId = std::numeric_limits<std::int64_t>::max();
constexpr std::chrono::milliseconds kLockedPatience = std::chrono::minutes(2);
constexpr const char* kAgentDirectory = "/usr/local/libexec/sparkplan";

/// Removes the files of a directory and of its subdirectories, and `last` after all others.
Result<void> remove_tree(const fs::path& directory, std::string_view last, LocalNode& node) {
  SPARK_TRY(const auto names, if_there(node.list_directory(directory)));
  if (!names) return {};
  for (const std::string& name : *names) {
    if (name == last) continue;
    SPARK_TRY(const FileStatus status, node.status(directory / name));
    if (status.kind == FileStatus::Kind::kDirectory) {
      SPARK_CHECK(remove_tree(directory / name, "", node));
    } else {
      SPARK_CHECK(node.remove_file(directory / name));
    }
  }
  if (!last.empty()) {
    auto removed = node.remove_file(directory / last);
    if (!removed && removed.error().code != ErrorCode::kNotFound) return removed;
  }
  return node.remove_directory(directory);
}

/// Removes everything that sparkplan keeps for itself on a node: manifest, journal, lock, and the agent. The manifest
/// is the last file of its directory: until then, the node still belongs to its cluster.
Result<void> remove_every_trace(LocalNode& node) {
  if (node.live()) {
    SPARK_CHECK(remove_tree(kAgentDirectory, "", node));
    // The agent's installation usually made this directory too. It stays if other files are in it.
    (void)node.remove_directory(fs::path(kAgentDirectory).parent_path());
    SPARK_CHECK(remove_tree(kLockDirectory, "", node));
  }
  return remove_tree(kStateDirectory, "manifest.json", node);
}

}  // namespace

AgentSession::AgentSession(const Registry& registry, LocalNode node, std::function<bool()> stop_asked,
                           const std::function<void(std::string_view)>& tell)
    : registry_(registry), node_(std::move(node)), stop_asked_(std::move(stop_asked)) {
  // Repeated during a long step: a controller that receives nothing for minutes treats the node as dead.
  const auto doing = std::make_shared<std::string>("preparing");
  tell_ = [doing, tell](std::string_view what) {
    *doing = what;
    tell(what);
  };
  node_.give_signs_of_life([doing, tell] { tell(*doing); });
  see_files_on_trial();
}

std::chrono::milliseconds AgentSession::patience() const { return lock_ ? kLockedPatience : patience_; }

tl::unexpected<Error> AgentSession::needs_lock() {
  return failure(ErrorCode::kBug, "the node was not locked before it was changed");
}

/// Forgets artifacts without a resource once their original is back or other software has changed them. An artifact
/// that still has our content was left by an aborted run, and the next plan removes it.
void AgentSession::drop_unused_artifacts(Manifest& manifest) const {
  std::set<ArtifactId> used;
  for (const auto& [id, resource] : manifest.resources)
    used.insert(resource.artifacts.begin(), resource.artifacts.end());
  std::erase_if(manifest.artifacts, [&](const auto& entry) {
    const auto& [id, artifact] = entry;
    const auto* type = registry_.find(artifact.type);
    if (used.count(id) > 0 || type == nullptr) return false;
    const auto now = read_artifact(id, *type, node_);
    if (std::holds_alternative<Error>(now)) return false;
    if (same_state(now, artifact.original)) return true;
    if (artifact.written_digest.empty() || artifact.wrote(digest(now))) return false;
    const auto as_secret = sealed(now, node_);
    if (!holds_secret(as_secret)) return true;
    return same_state(as_secret, artifact.original) || !artifact.wrote(digest(as_secret));
  });
}

Result<Value> AgentSession::answer(const Request& request) {
  return std::visit(
      [this]<class Kind>(const Kind& one) {
        const Result<typename Kind::Reply> reply = this->handle(one);
        return encode_body(reply);
      },
      request);
}

Result<void> AgentSession::handle(const PingRequest& /*request*/) { return {}; }
Result<void> AgentSession::handle(const StopNotice& /*notice*/) { return {}; }

/// Unreadable records are never guessed. Moving them away stops this run, and not the next.
Result<OfferedManifest> AgentSession::check_records(const FactsRequest& request) {
  auto manifest = read_manifest(node_, request.known_rosters);
  auto transaction = Transaction::find(node_);
  const bool damaged_manifest = !manifest && manifest.error().code == ErrorCode::kInvalidInput;
  if (!damaged_manifest && transaction) return manifest;
  Error error = damaged_manifest ? std::move(manifest).error() : std::move(transaction).error();
  if (!request.set_damaged_aside) {
    error.hint = "run `sparkplan apply` twice: the first run sets the file aside, the second continues";
    return failure(std::move(error));
  }
  // No other run may use the records. If we hold the lock already, no other run has it.
  std::optional<NodeLock> lock;
  if (!lock_) {
    SPARK_TRY(auto acquired, NodeLock::acquire({"the agent", ::getpid(), "set aside", utc_now()}, node_));
    lock.emplace(std::move(acquired));
  }
  SPARK_TRY(const auto place, damaged_manifest ? set_manifest_aside(node_) : Transaction::set_aside(node_));
  error.code = ErrorCode::kFailed;
  error.message += "; it was set aside as " + place.string();
  error.hint = damaged_manifest ? "apply again: the node then counts as never applied; its state before sparkplan is "
                                  "recorded only in that file"
                                : "check that the network is as it should be, then apply again";
  return failure(std::move(error));
}

Result<FactsReply> AgentSession::handle(const FactsRequest& request) {
  if (request.patience_ms > 0) patience_ = std::chrono::milliseconds(request.patience_ms);
  const LocalNode::OneMoment moment(node_);
  FactsReply reply;
  SPARK_TRY(reply.facts, read_facts(node_, request.everything));
  SPARK_TRY(auto records, check_records(request));
  reply.manifest = std::move(records.manifest);
  reply.known_roster = std::move(records.known_roster);
  if (!lock_) {
    SPARK_TRY(reply.lock_holder, lock_holder(node_));
  }
  SPARK_TRY(reply.transaction, latest_transaction());
  if (node_.live()) reply.jobs = running_jobs();
  if (reply.manifest) reply.last_verify = last_verify(node_);
  if (request.observe_managed && reply.manifest)
    reply.observed = observe({names_managed(*reply.manifest), secret_names(*reply.manifest)});
  for (const auto& [name, section] : request.exports) {
    const auto* type = registry_.find(name);
    if (type == nullptr) continue;
    auto exported = type->exports(section, node_);
    if (!exported) {
      reply.export_errors.emplace(name, std::move(exported).error());
    } else if (!exported->is_null()) {
      reply.exports.emplace(name, std::move(*exported));
    }
  }
  // An observation that does not fit beside the manifest is left out. The controller then asks for it alone.
  const bool fits =
      reply.observed.types.empty() || encode_frame(encode(NumberedReply{kLongestId, encode(reply)}), kFactsReply);
  if (!fits) reply.observed = {};
  return reply;
}

Result<ObservedState> AgentSession::handle(const ObserveNodeRequest& request) const {
  const LocalNode::OneMoment moment(node_);
  ObservedState observed = observe(request);
  keep_within(observed, kObserveReply);
  return observed;
}

ObservedState AgentSession::observe(const ObserveNodeRequest& request) const {
  ObservedState observed;
  for (const auto& [name, wanted] : request.names) {
    const auto* type = registry_.find(name);
    if (type == nullptr) {
      ObservedType unknown;
      for (const auto& resource : wanted) {
        unknown.resources.emplace(resource,
                                  make_error(ErrorCode::kUnsupported, "the agent has no resource type " + name));
      }
      observed.types.emplace(name, std::move(unknown));
      continue;
    }
    const auto secret = request.secret.find(name);
    ObserveRequest asked{wanted};
    if (secret != request.secret.end()) asked.secret.insert(secret->second.begin(), secret->second.end());
    observed.types.emplace(name, type->observe(asked, node_));
  }
  return observed;
}

Result<EffectReply> AgentSession::handle(const EffectRequest& request) const {
  const LocalNode::OneMoment moment(node_);
  EffectReply reply;
  for (const auto& [name, desired] : request.desired) {
    const auto* type = registry_.find(name);
    if (type == nullptr) continue;
    auto findings = type->check_effect(desired, node_);
    if (!findings.empty()) reply.ineffective.emplace(name, std::move(findings));
  }
  return reply;
}

Result<EffectReply> AgentSession::handle(const ForesightRequest& request) const {
  const LocalNode::OneMoment moment(node_);
  EffectReply reply;
  for (const auto& [name, resources] : request.ahead) {
    const auto* type = registry_.find(name);
    if (type == nullptr || !type->info().foresees) continue;
    auto findings = type->foresee(request.ahead, node_);
    if (!findings.empty()) reply.ineffective.emplace(name, std::move(findings));
  }
  return reply;
}

Result<void> AgentSession::handle(const LockRequest& request) {
  if (lock_) return {};
  SPARK_TRY(auto lock, NodeLock::acquire(request.holder, node_));
  lock_.emplace(std::move(lock));
  if (auto settled = settle_transaction(request.holder); !settled) {
    lock_.reset();
    return failure(std::move(settled).error());
  }
  holder_ = request.holder;
  purpose_ = request.purpose;
  node_.remove_stale_scratch_directories();
  remove_unfinished_files(node_);
  return {};
}

Result<Manifest> AgentSession::manifest_to_change(const std::string& node_name, const Roster& roster,
                                                  const std::string& accepted_uuid) const {
  SPARK_TRY(auto stored, read_manifest(node_));
  Manifest manifest = stored ? std::move(*stored) : Manifest{};
  if (!stored) manifest.roster = roster;
  const std::string& uuid = manifest.roster.uuid;
  if (!uuid.empty() && uuid != roster.uuid && uuid != accepted_uuid) {
    return failure(ErrorCode::kRefused, "the node belongs to another cluster, " + manifest.roster.cluster);
  }
  manifest.node = node_name;
  return manifest;
}

/// Notes the run in the manifest, and opens its journal with the first line: the user and the operation.
Result<Journal> AgentSession::begin_run(const std::string& run, bool finished, Manifest& manifest) {
  SPARK_CHECK(note_saved_plan(run, finished, manifest));
  SPARK_TRY(auto journal, Journal::open(run, node_));
  SPARK_CHECK(journal.begin(Value::map({{"run", run},
                                        {"previous", manifest.last_run},
                                        {"who", holder_.who},
                                        {"operation", holder_.operation},
                                        {"saved_plan", purpose_.saved_plan},
                                        {"undoes", purpose_.undoes}})));
  manifest.last_run = run;
  manifest.last_run_time = utc_now();
  return journal;
}

/// Records the saved plan before its first step, so that an aborted plan also counts as applied.
Result<void> AgentSession::note_saved_plan(const std::string& run, bool finished, Manifest& manifest) const {
  const auto& plan = purpose_.saved_plan;
  if (plan.empty()) return {};
  auto& applied = manifest.applied_plans;
  const auto noted =
      std::find_if(applied.begin(), applied.end(), [&](const AppliedPlan& one) { return one.plan == plan; });
  if (noted != applied.end()) {
    if (noted->run != run) return failure(ErrorCode::kStalePlan, "the plan was applied before, by run " + noted->run);
    noted->finished = noted->finished || finished;
    return {};
  }
  applied.push_back({plan, run, utc_now(), finished});
  if (applied.size() > kRememberedPlans) applied.erase(applied.begin());
  return {};
}

/// The controller has asked before. A job may have been started since.
Result<void> AgentSession::check_no_job(bool ignored) const {
  if (ignored || !node_.live()) return {};
  const auto jobs = running_jobs();
  return jobs.empty() ? Result<void>() : failure(busy_with(jobs));
}

Result<ApplyReply> AgentSession::handle(const ApplyRequest& request) {
  if (!lock_) return needs_lock();
  if (std::any_of(request.steps.begin(), request.steps.end(), [](const Step& step) { return step.disruptive; })) {
    SPARK_CHECK(check_no_job(request.ignore_jobs));
  }
  if (request.window_seconds > 0) return try_out(request);
  SPARK_TRY(auto manifest, manifest_to_change(request.node, request.roster, request.accepted_uuid));
  SPARK_TRY(auto journal, begin_run(request.run, false, manifest));
  StepExecutor executor(registry_, node_, journal, stop_asked_, tell_);
  executor.use_secrets(request.secrets);
  return executor.carry_out(request.steps, request.after_steps, manifest);
}

Result<void> AgentSession::handle(const CommitRequest& request) {
  if (!lock_) return needs_lock();
  SPARK_TRY(auto manifest, manifest_to_change(request.node, request.roster, request.accepted_uuid));
  manifest.roster = request.roster;
  manifest.resources = request.resources;
  drop_unused_artifacts(manifest);
  SPARK_TRY(auto journal, begin_run(request.run, true, manifest));
  SPARK_CHECK(journal.append("commit", Value::map({{"audit", request.audit}})));
  SPARK_CHECK(write_manifest(manifest, node_));
  remove_unused_secret_backups(node_);
  log_to_syslog(LOG_NOTICE, request.audit, node_);
  return {};
}

Result<void> AgentSession::handle(const ReleaseRequest& request) {
  if (!lock_) return needs_lock();
  // A release also removes the process starter.
  SPARK_CHECK(check_no_job(request.ignore_jobs));
  log_to_syslog(LOG_NOTICE, request.audit, node_);
  return remove_every_trace(node_);
}

Result<void> AgentSession::handle(const UnlockRequest& /*request*/) {
  lock_.reset();
  return {};
}

Result<HistoryReply> AgentSession::handle(const HistoryRequest& request) const {
  SPARK_TRY(const auto journals, read_journals(node_));
  return history_of(journals, request.with_artifacts);
}

Result<UndoReply> AgentSession::handle(const UndoRequest& request) const {
  SPARK_TRY(const auto journals, read_journals(node_));
  return what_undoes(request, journals, registry_, node_);
}

Result<void> AgentSession::handle(const BreakLockRequest& request) {
  if (lock_) return failure(ErrorCode::kBug, "an agent was asked to break its own lock");
  SPARK_CHECK(break_lock(request, node_));
  log_to_syslog(LOG_NOTICE, request.audit, node_);
  return {};
}

}  // namespace sparkplan
