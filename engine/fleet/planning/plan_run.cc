#include "engine/fleet/planning/plan_run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/fleet/planning/plan_lookup.h"
#include "engine/fleet/planning/release_scope.h"
#include "engine/fleet/session/node_reply.h"
#include "engine/plan/desired_state.h"
#include "engine/plan/fields_of_others.h"
#include "engine/plan/open_fields.h"
#include "engine/plan/planner.h"
#include "engine/plan/saved_plan_check.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPauseBetweenObservations{100};

const Manifest* manifest_of(const FleetNode& node) { return node.known.manifest ? &*node.known.manifest : nullptr; }

Diagnostic unreadable_export(const FleetNode& node, const std::string& type, const Error& error) {
  auto warning = finding(Severity::kWarning, "export.unreadable",
                         node.name() + " could not report its data for " + type + ": " + error.describe(), error.hint);
  warning.node = node.name();
  return warning;
}

/// The manifest as a confirmation would make it. The observed state has to be in sync with that.
void foresee_confirmation(Manifest& manifest, const TrialSteps& trial) {
  for (const Step& step : trial.steps) {
    if (const auto managed = manifest.artifacts.find(step.artifact); managed != manifest.artifacts.end()) {
      managed->second.written_digest = digest(step.after);
      managed->second.intended_digest.clear();
    }
    for (const ResourceId& id : step.resources) {
      const auto after = trial.after_steps.find(id);
      if (after == trial.after_steps.end()) continue;
      if (after->second.is_null()) {
        manifest.resources.erase(id);
      } else {
        manifest.resources[id].last_applied = after->second;
      }
    }
  }
}

/// The first change of `plan` that one of the steps should have made.
const Change* find_change_of(const NodePlan& plan, const std::vector<Step>& steps) {
  const auto found = std::find_if(plan.changes.begin(), plan.changes.end(), [&](const Change& change) {
    return change.origin != Origin::kForeign && std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
             return std::find(step.resources.begin(), step.resources.end(), change.id) != step.resources.end();
           });
  });
  return found == plan.changes.end() ? nullptr : &*found;
}

using NamesByType = std::map<std::string, std::vector<std::string>>;

std::vector<std::string> value_at(const NamesByType& names, const std::string& type) {
  const auto found = names.find(type);
  return found == names.end() ? std::vector<std::string>() : found->second;
}

/// "authorized.n1 (n1 has not reported its key) and 3 more".
std::string shown_fields(const std::map<std::string, std::string>& fields) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> shown;
  for (const auto& [path, reason] : fields) {
    if (shown.size() < kShown) shown.push_back(path + " (" + reason + ")");
  }
  const std::size_t more = fields.size() - shown.size();
  return join(shown, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

/// Without the report of the node that they follow from, fields stay as they are here. An edit of one is no difference
/// from the desired state, and the next manifest contains it.
void remark_edited_fields(FleetSession& session, const PlannedNode& planned) {
  const FleetNode& node = planned.node;
  const Manifest* manifest = node.active() && !node.leaving ? manifest_of(node) : nullptr;
  if (manifest == nullptr) return;
  for (const Resource& resource : planned.desired) {
    if (!resource.known_part_first) continue;
    const auto type = planned.observed.types.find(resource.id.type);
    const auto managed = manifest->resources.find(resource.id);
    if (type == planned.observed.types.end() || managed == manifest->resources.end()) continue;
    const auto observed = type->second.resources.find(resource.id.name);
    const bool selected = session.options().selection.includes(node.name(), resource.id);
    if (observed == type->second.resources.end() || !selected) continue;
    const Present* present = std::get_if<Present>(&observed->second);
    if (present == nullptr) continue;
    const auto edited = edited_open_fields(resource, present->value, managed->second.last_applied);
    if (edited.empty()) continue;
    session.remark(node, Severity::kWarning, "plan.edited_unreported",
                   resource.id.str() + " is not as it was applied last, and stays as it is: " + shown_fields(edited),
                   "check these lines on the node: the next apply records them as they are. Once the other node "
                   "reports again, an apply corrects them");
  }
}

}  // namespace

void PlanRun::compile() {
  const Cluster& cluster = session_.cluster();
  exports_ = session_.exports();
  findings_.clear();
  for (const FleetNode& node : session_.nodes()) {
    for (const auto& [type, error] : node.known.export_errors) {
      findings_.push_back(unreadable_export(node, type, error));
    }
  }
  std::vector<std::vector<Diagnostic>> findings(nodes_.size());
  std::vector<std::vector<Diagnostic>> about_several(nodes_.size());
  session_.compute_each(nodes_, [&](PlannedNode& planned) {
    FleetNode& node = planned.node;
    if (node.leaving) return;
    auto desired = desired_state(
        ClusterView{cluster, *node.spec, exports_, allow_management_change_, session_.options().secrets.get()},
        node.known.facts, session_.registry());
    find_implied(planned, desired);
    planned.desired = std::move(desired.resources);
    keep_fields(planned.desired, planned.kept_fields);
    if (const Manifest* manifest = manifest_of(node)) {
      for (Resource& resource : planned.desired) {
        const auto managed = manifest->resources.find(resource.id);
        if (managed != manifest->resources.end())
          put_last_applied_secrets(resource.desired, &managed->second.last_applied);
      }
    }
    planned.incomplete_types = std::move(desired.incomplete_types);
    planned.unresolved = std::move(desired.unresolved);
    findings[node.place] = std::move(desired.diagnostics);
    about_several[node.place] = std::move(desired.about_several);
    if (desired.refused) session_.give_up(node, *desired.refused);
  });
  for (const FleetNode& node : session_.nodes()) {
    for (auto& finding : about_several[node.place]) {
      // Several nodes may report the same.
      const bool known = std::find(findings_.begin(), findings_.end(), finding) != findings_.end();
      if (!known) findings_.push_back(std::move(finding));
    }
    for (auto& finding : findings[node.place]) {
      if (finding.node.empty()) finding.node = node.name();
      if (finding.file.empty()) finding.file = cluster.file;
      findings_.push_back(std::move(finding));
    }
  }
}

void PlanRun::observe_node(PlannedNode& planned) const {
  FleetNode& node = planned.node;
  const auto* manifest = manifest_of(node);
  auto names = names_to_observe(planned.desired, manifest);
  // An observation that came with the facts is used once: a second look has to be new.
  planned.observed = std::exchange(node.known.observed, {});
  auto secret = secrets_to_observe(planned.desired, manifest);
  if (manifest != nullptr) {
    const auto seen = names_managed(*manifest);
    const auto seen_secret = secret_names(*manifest);
    std::erase_if(names, [&](const auto& wanted) {
      const auto managed = seen.find(wanted.first);
      const bool as_secret = value_at(seen_secret, wanted.first) == value_at(secret, wanted.first);
      return planned.observed.types.contains(wanted.first) && managed != seen.end() &&
             managed->second == wanted.second && as_secret;
    });
  }
  if (!names.empty()) {
    session_.show(node, "observing");
    if (!secret.empty() && node.client->hello().protocol_minor < kMinorOfSecrets) {
      return session_.give_up(node, ErrorCode::kUnsupported, "its agent is too old for secrets",
                              "run `sparkplan apply`, which renews the agent");
    }
    auto observed = sparkplan::observe_node(*node.client, {std::move(names), std::move(secret)}, session_.registry());
    if (!observed) return session_.give_up(node, std::move(observed).error());
    for (auto& [type, found] : observed->types) planned.observed.types.insert_or_assign(type, std::move(found));
  }
  session_.show(node, "observed", Activity::kWaiting);
}

void PlanRun::observe() {
  session_.on_each(nodes_, [&](PlannedNode& node) { observe_node(node); });
}

/// Without the exports of an excluded node, more resources may have a desired value than when the nodes were observed.
void PlanRun::observe_added() {
  session_.on_each(nodes_, [&](PlannedNode& planned) {
    const auto& types = planned.observed.types;
    const auto names = names_to_observe(planned.desired, manifest_of(planned.node));
    const bool complete = std::ranges::all_of(names, [&](const auto& wanted) {
      const auto found = types.find(wanted.first);
      return found != types.end() && std::ranges::all_of(wanted.second, [&](const std::string& name) {
               return found->second.resources.contains(name);
             });
    });
    if (!complete) observe_node(planned);
  });
}

/// The changes that may still make something known to other nodes: planned, in an apply also approved, and not ended.
std::set<std::string> PlanRun::producers_at_work() const {
  const bool begun = std::ranges::any_of(nodes_, [](const PlannedNode& one) { return !one.outcomes.all().empty(); });
  std::set<std::string> at_work;
  for (const PlannedNode& planned : nodes_) {
    if (!planned.node.active()) continue;
    for (const Change& change : planned.plan.changes) {
      const ChangeOutcome& outcome = planned.outcomes.of(change.id);
      const bool ended = outcome.carried_out || outcome.failure || (begun && !outcome.approved);
      if (change.origin != Origin::kForeign && !ended) at_work.insert(planned.node.name() + "/" + change.id.str());
    }
  }
  return at_work;
}

/// A node may announce a value and never make it: the others wait only while a step of the newest plan may make it.
/// A later run makes the changes that the selection leaves out. True if a wait has ended.
bool PlanRun::end_waits() {
  const auto at_work = producers_at_work();
  const auto is_over = [&](const std::string& producer) {
    if (ended_waits_.contains(producer)) return true;
    const auto slash = producer.find('/');
    if (slash == std::string::npos || at_work.contains(producer)) return false;
    const auto id = ResourceId::parse(std::string_view(producer).substr(slash + 1));
    return id && session_.options().selection.includes(producer.substr(0, slash), *id);
  };
  std::set<std::string> ended;
  for (PlannedNode& planned : nodes_) {
    if (planned.node.active()) ended.merge(sparkplan::end_waits(planned.desired, is_over));
  }
  for (const std::string& producer : ended) {
    const std::string name = producer.substr(0, producer.find('/'));
    findings_.push_back(finding(Severity::kWarning, "plan.nothing-made",
                                name + " announces a value of " + producer.substr(name.size() + 1) +
                                    " that no step makes: the other nodes do not wait for it",
                                "find out why with `sparkplan plan --only " + name + "`"));
    findings_.back().node = name;
  }
  ended_waits_.insert(ended.begin(), ended.end());
  return !ended.empty();
}

void PlanRun::observe_again() {
  compile();
  end_waits();
  observe();
}

NodePlan PlanRun::plan_of(const PlannedNode& planned, const std::optional<std::set<ResourceId>>& only) const {
  const Selection& selection = session_.options().selection;
  NodePlanInput input;
  input.desired = planned.desired;
  input.observed = &planned.observed;
  input.manifest = manifest_of(planned.node);
  input.incomplete_types = planned.incomplete_types;
  input.unresolved = planned.unresolved;
  input.failed = planned.outcomes.failures();
  if (!selection.everything() || only) {
    input.selected = [&](const ResourceId& id) {
      return selection.includes(planned.node.name(), id) && (!only || only->contains(id));
    };
  }
  return plan_node(input, session_.registry());
}

void PlanRun::make_plans() {
  session_.compute_each(nodes_, [&](PlannedNode& planned) { make_plan(planned); });
}

/// A saved plan is read as a whole, so one node must not make it unreadable.
void PlanRun::refuse_unreadable_plans() {
  for (auto& planned : nodes_) {
    if (!planned.node.active()) continue;
    session_.work_on(planned.node, [&](FleetNode& node) {
      const auto fits = check_node_plan(node.name(), planned.plan);
      if (fits) return;
      planned.plan = {};
      session_.give_up(node, ErrorCode::kFailed, "what it reports makes no consistent plan: " + fits.error().message,
                       "compare its interfaces and its manifest with those of another node, or use --exclude");
    });
  }
}

void PlanRun::refuse_unsafe_plans() {
  if (allow_management_change_) return;
  for (auto& planned : nodes_) {
    if (!planned.node.active()) continue;
    session_.work_on(planned.node, [&](FleetNode& node) {
      auto refused = refusal(planned.plan, node.known.facts, session_.registry());
      if (refused) session_.give_up(node, std::move(*refused));
    });
  }
}

void PlanRun::make_acceptable_plans() {
  make_plans();
  refuse_unsafe_plans();
  refuse_unreadable_plans();
}

void PlanRun::plan() {
  session_.open();
  session_.find_members();
  begin();
  const auto count_excluded = [&] {
    const auto& nodes = session_.nodes();
    return std::count_if(nodes.begin(), nodes.end(), [](const FleetNode& node) { return node.error.has_value(); });
  };
  auto excluded = count_excluded();
  compile();
  observe();
  make_acceptable_plans();
  // The exports of a node that is excluded by now no longer count. The new plans show the consequences for the other
  // nodes, so that they do not stop the apply later.
  while (count_excluded() != excluded) {
    excluded = count_excluded();
    compile();
    observe_added();
    make_acceptable_plans();
  }
  while (end_waits()) {
    make_acceptable_plans();
  }
  if (foresight_ == Foresight::kAsked) foresee();
  remark_unread_release();
  remark_left_out();
  for (const PlannedNode& planned : nodes_) remark_edited_fields(session_, planned);
}

std::string PlanRun::why_not_shown(PlannedNode& planned, const TrialSteps& trial, Clock::time_point end) {
  FleetNode& node = planned.node;
  const auto names = names_to_observe(planned.desired, manifest_of(node));
  const auto secret = secrets_to_observe(planned.desired, manifest_of(node));
  if (node.known.manifest) foresee_confirmation(*node.known.manifest, trial);
  while (true) {
    auto observed = sparkplan::observe_node(*node.client, {names, secret}, session_.registry());
    if (!observed) return "its state could not be read: " + observed.error().describe();
    planned.observed = std::move(*observed);
    make_plan(planned);
    const auto* still_planned = find_change_of(planned.plan, trial.steps);
    if (still_planned == nullptr) return "";
    if (Clock::now() >= end) return "the node still differs after the change: " + still_planned->id.words();
    std::this_thread::sleep_for(kPauseBetweenObservations);
  }
}

std::map<ResourceId, ManagedResource> PlanRun::managed_after(const PlannedNode& planned) const {
  std::map<ResourceId, ManagedResource> managed;
  for (const auto& [id, value] : planned.plan.resulting) {
    auto artifacts = planned.outcomes.of(id).artifacts;
    if (const auto* manifest = manifest_of(planned.node)) {
      const auto known = manifest->resources.find(id);
      if (known != manifest->resources.end())
        artifacts.insert(known->second.artifacts.begin(), known->second.artifacts.end());
    }
    managed[id] = {value, {artifacts.begin(), artifacts.end()}};
  }
  return managed;
}

Report plan_cluster(const Cluster& cluster, const Registry& registry, RunOptions options) {
  FleetSession session(cluster, registry, std::move(options), {.plans = true});
  PlanRun planning(session);
  planning.plan();
  return planning.report();
}

}  // namespace sparkplan
