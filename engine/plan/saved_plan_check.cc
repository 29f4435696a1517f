#include "engine/plan/saved_plan_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "engine/core/text.h"
#include "engine/plan/reach.h"
#include "engine/plan/readable_ids.h"
#include "engine/resource/steps.h"

namespace sparkplan {
namespace {

constexpr auto kPlanAgain = "make a new plan: sparkplan plan -o PLAN";

tl::unexpected<Error> contradicts(const std::string& why) {
  return failure(ErrorCode::kInvalidInput, "the saved plan contradicts itself: " + printable(why), kPlanAgain);
}

tl::unexpected<Error> inconsistent(const std::string& why) { return failure(ErrorCode::kInvalidInput, printable(why)); }

bool consists_of(std::string_view text, std::string_view characters, std::size_t longest) {
  return !text.empty() && text.size() <= longest && text.find_first_not_of(characters) == std::string_view::npos;
}

std::set<ResourceId> displayed(const NodePlan& plan) {
  std::set<ResourceId> ids;
  for (const Change& change : plan.changes) {
    if (change.origin != Origin::kForeign) ids.insert(change.id);
  }
  return ids;
}

/// The changes of a node that wait. A plan can have a hundred thousand, so each is looked up.
class WaitingChanges {
 public:
  explicit WaitingChanges(const std::vector<ResourceId>& waiting) : ids_(waiting.begin(), waiting.end()) {
    for (const ResourceId& id : ids_) notes_.insert(note_of(id));
  }

  bool contains(const ResourceId& id) const { return ids_.contains(id); }
  /// An Unknown is a sufficient reason. Otherwise the note must name another waiting resource.
  bool have_reason_for(const Change& change) const {
    const auto& fields = change.fields;
    if (std::any_of(fields.begin(), fields.end(), [](const auto& one) { return one.after.contains_unknown(); }))
      return true;
    return change.note != note_of(change.id) && notes_.contains(change.note);
  }

 private:
  static std::string note_of(const ResourceId& id) { return "waits for " + id.str(); }

  std::set<ResourceId> ids_;
  std::set<std::string> notes_;
};

/// True if the plan displays the node without changes.
bool is_left_alone(const NodeReport& node) {
  return node.error || node.status == NodeStatus::kSkipped || node.status == NodeStatus::kReleased;
}

/// The status that PlanRun reports for a planned node.
NodeStatus expected_status(const NodeReport& node) {
  const NodeStatus status = status_of(node.plan);
  const bool never_applied = node.membership == Membership::kJoining;
  return never_applied && status == NodeStatus::kDrifted ? NodeStatus::kPending : status;
}

Result<void> check_status(const NodeReport& node, bool is_held) {
  const NodePlan& plan = node.plan;
  if (is_left_alone(node)) {
    const bool nothing = plan.changes.empty() && plan.steps.empty() && plan.waiting.empty();
    if (is_held || !nothing) return contradicts(node.name + " is shown as left alone, but there is a plan for it");
  } else if (node.membership != Membership::kLeaving && node.status != expected_status(node)) {
    return contradicts(node.name + " is shown as " + std::string(to_string(node.status)) + ", but its plan says " +
                       std::string(to_string(expected_status(node))));
  }
  return {};
}

/// A member of the file: displayed at the address that the run will use.
Result<void> check_member(const NodeReport& node, const NodeSpec& spec, const Registry& registry) {
  if (node.membership == Membership::kLeaving)
    return contradicts(node.name + " is shown as leaving, but the cluster.yaml in the plan names it");
  if (node.address != shown_address(spec))
    return contradicts(node.name + " is shown at " + node.address + ", but the cluster.yaml in the plan has it at " +
                       shown_address(spec));
  for (const Change& change : node.plan.changes) {
    const auto* type = registry.find(change.id.type);
    if (type == nullptr) {
      return failure(ErrorCode::kUnsupported,
                     "the saved plan changes a " + printable(change.id.type) + ", which this sparkplan does not know",
                     "use the sparkplan that made it");
    }
    const bool asked_for = change.action != Action::kRemove && change.id.name != kWholeFileName;
    if (asked_for && spec.sections.count(type->info().section) == 0)
      return contradicts(change.id.words() + " is shown for " + node.name +
                         ", but the cluster.yaml in the plan has no " + type->info().section + " for it");
  }
  return {};
}

/// A node that the file no longer names: the plan can only release it.
Result<void> check_departing(const NodeReport& node) {
  if (node.membership != Membership::kLeaving)
    return contradicts("the cluster.yaml in the plan does not name " + node.name);
  const auto& changes = node.plan.changes;
  const bool gives_back = std::all_of(changes.begin(), changes.end(), [](const Change& change) {
    return change.action == Action::kRemove || change.id.name == kWholeFileName || change.origin == Origin::kForeign;
  });
  if (!gives_back || !node.plan.waiting.empty())
    return contradicts(node.name + " is shown as leaving, but the plan creates something on it");
  return {};
}

}  // namespace

Result<void> check_node_plan(const std::string& node, const NodePlan& plan) {
  if (const auto id = unreadable_id(plan)) return inconsistent(node + " has \"" + *id + "\", which is no id");
  const auto ids = displayed(plan);
  for (const ResourceId& id : plan.waiting) {
    if (ids.count(id) == 0) return inconsistent(id.words() + " waits on " + node + ", but no change of it is shown");
  }
  for (const Step& step : plan.steps) {
    if (step.resources.empty())
      return inconsistent("a step for " + step.artifact.name + " on " + node + " belongs to no change");
    for (const ResourceId& id : step.resources) {
      if (ids.count(id) == 0)
        return inconsistent("a step for " + step.artifact.name + " on " + node + " belongs to " + id.words() +
                            ", but no change of it is shown");
    }
  }
  for (const auto& [id, value] : plan.after_steps) {
    if (ids.count(id) == 0)
      return inconsistent("a value of " + id.words() + " on " + node + " belongs to no change that is shown");
  }
  const WaitingChanges waiting(plan.waiting);
  for (const Change& change : plan.changes) {
    const bool waits = change.origin != Origin::kForeign && waiting.contains(change.id);
    if (waits && !waiting.have_reason_for(change))
      return inconsistent(change.id.words() + " waits on " + node + ", but nothing is shown that it waits for");
    const bool empty = change.fields.empty() && change.origin != Origin::kForeign;
    if (empty) return inconsistent("the change of " + change.id.words() + " on " + node + " shows nothing");
  }
  return {};
}

Result<void> check_consistency(const SavedPlan& plan) {
  if (!consists_of(plan.id, "0123456789abcdef-", 36)) return contradicts("its id is invalid");
  if (!consists_of(plan.created, "0123456789TZ:.+-", 40)) return contradicts("its creation time is invalid");
  if (printable(plan.sparkplan_version) != plan.sparkplan_version || plan.sparkplan_version.size() > 80)
    return contradicts("its sparkplan_version is invalid");
  // Questions name its directory. A line break there would forge a part of the question.
  const std::string& file = plan.report.file;
  if (has_control_character(file)) return contradicts("its file has a control character");
  std::set<std::string_view> names;
  for (const NodeReport& node : plan.report.nodes) {
    if (!NodeName::parse(node.name)) return contradicts(node.name + " is not a node name");
    if (!names.insert(node.name).second) return contradicts("it names " + node.name + " twice");
    SPARK_CHECK(check_status(node, plan.machines.count(node.name) > 0));
    if (const auto fits = check_node_plan(node.name, node.plan); !fits) return contradicts(fits.error().message);
  }
  for (const auto& [name, machine] : plan.machines) {
    if (names.count(name) == 0) return contradicts("it identifies the machine of " + name + ", but has no such node");
  }
  return {};
}

Result<void> check_belongs(const SavedPlan& plan, const Cluster& cluster, const std::vector<Diagnostic>& findings,
                           const Registry& registry) {
  const Report& report = plan.report;
  if (report.cluster != cluster.name)
    return contradicts("it is shown for the cluster " + report.cluster + ", but its cluster.yaml is for " +
                       cluster.name);
  if (report.config_digest != cluster.config_digest)
    return contradicts("it was not made from the cluster.yaml in it, or not from the files beside it");
  if (report.partial == (plan.only.empty() && plan.exclude.empty()))
    return contradicts("it was made with another selection than --only and --exclude in it");
  std::set<std::string_view> shown;
  for (const NodeReport& node : report.nodes) {
    const auto spec = std::find_if(cluster.nodes.begin(), cluster.nodes.end(),
                                   [&](const NodeSpec& one) { return one.name.str() == node.name; });
    shown.insert(node.name);
    SPARK_CHECK(spec == cluster.nodes.end() ? check_departing(node) : check_member(node, *spec, registry));
  }
  for (const NodeSpec& spec : cluster.nodes) {
    if (shown.count(spec.name.str()) == 0) return contradicts("it does not show " + spec.name.str());
  }
  for (const Diagnostic& finding : findings) {
    if (std::find(report.diagnostics.begin(), report.diagnostics.end(), finding) == report.diagnostics.end())
      return contradicts("its cluster.yaml has a finding that the plan does not show: " + finding.message);
  }
  return {};
}

}  // namespace sparkplan
