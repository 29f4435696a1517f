#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "engine/plan/resource_state.h"

namespace sparkplan {
namespace {

/// Depth first, so that the dependencies of a resource are settled before the resource itself.
class DependentsWalk {
 public:
  DependentsWalk(ResourceStates& states, const NodePlanInput& input) : states_(states), input_(input) {}

  void visit(ResourceState& state) {
    if (state.desired == nullptr || done_.contains(state.id)) return;
    path_.push_back(state.id);
    for (const ResourceId& needed : state.desired->after) {
      const auto on_path = std::find(path_.begin(), path_.end(), needed);
      if (on_path != path_.end()) {
        block_cycle(on_path);
      } else if (const auto found = states_.find(needed); found != states_.end()) {
        visit(found->second);
      }
    }
    path_.pop_back();
    done_.insert(state.id);
    for (const ResourceId& needed : state.desired->after) hold_back(state, needed);
  }

 private:
  void block_cycle(std::vector<ResourceId>::const_iterator first) {
    std::string cycle;
    for (auto member = first; member != path_.end(); ++member) cycle += member->str() + " -> ";
    cycle += first->str();
    for (auto member = first; member != path_.end(); ++member) {
      ResourceState& state = states_.at(*member);
      if (state.verdict != ResourceVerdict::kBlocked)
        state.block(make_error(ErrorCode::kInvalidInput, "resources need each other: " + cycle));
    }
  }

  /// Another node's claim may leave a declared resource without a desired state.
  Error why_not_desired(const ResourceId& needed) const {
    if (!is_left_open(needed, input_))
      return make_error(ErrorCode::kInvalidInput, "needs " + needed.str() + ", which is not declared");
    return make_error(ErrorCode::kInvalidInput,
                      "needs " + needed.str() + ", which is left unchanged: its desired state is not known",
                      "a finding about " + needed.type + " says why");
  }

  /// Only a resource with a pending change can be deferred or blocked.
  void hold_back(ResourceState& state, const ResourceId& needed) {
    if (state.verdict != ResourceVerdict::kChange && state.verdict != ResourceVerdict::kWaiting) return;
    const auto found = states_.find(needed);
    if (found == states_.end() || found->second.desired == nullptr) {
      state.block(why_not_desired(needed));
      return;
    }
    const ResourceState& other = found->second;
    if (other.verdict == ResourceVerdict::kBlocked) {
      state.block(make_error(other.error->code, "needs " + needed.str() + ", which is blocked"));
    } else if (!other.selected && other.change) {
      state.block(make_error(ErrorCode::kRefused,
                             "needs " + needed.str() + ", which has to change but is left out of this run",
                             "add it to --only"));
    } else if (other.verdict == ResourceVerdict::kWaiting) {
      state.verdict = ResourceVerdict::kWaiting;
      const std::string& note = state.change->note;
      // The source of a secret says nothing about the wait.
      if (note.empty() || (state.desired != nullptr && note == state.desired->secret_source))
        state.change->note = "waits for " + needed.str();
    }
  }

  ResourceStates& states_;
  const NodePlanInput& input_;
  std::set<ResourceId> done_;
  std::vector<ResourceId> path_;
};

/// Resources that the step's own resources name in `after`.
std::set<ResourceId> needed_by(const Step& step, const ResourceStates& states) {
  std::set<ResourceId> needed;
  for (const ResourceId& id : step.resources) {
    const auto found = states.find(id);
    if (found == states.end() || found->second.desired == nullptr) continue;
    needed.insert(found->second.desired->after.begin(), found->second.desired->after.end());
  }
  for (const ResourceId& id : step.resources) needed.erase(id);
  return needed;
}

/// A removed resource may need its dependencies until it is gone: the disconnecting program needs its package, a file
/// system its module. So removals of modules and packages come after all other steps but those that may cut the
/// connection.
int rank_of(const Step& step, const ResourceStates& states) {
  constexpr int kRoomBetween = 4;
  const bool going = std::all_of(step.resources.begin(), step.resources.end(), [&](const ResourceId& id) {
    const auto found = states.find(id);
    return found != states.end() && found->second.desired == nullptr;
  });
  const int after_storage = kRoomBetween * static_cast<int>(Phase::kStorage);
  if (going && step.phase == Phase::kKernelModules) return after_storage + 1;
  if (going && step.phase == Phase::kPackages) return after_storage + 2;
  return kRoomBetween * static_cast<int>(step.phase);
}

bool serves_any(const Step& step, const std::set<ResourceId>& ids) {
  return std::any_of(step.resources.begin(), step.resources.end(), [&](const auto& id) { return ids.contains(id); });
}

}  // namespace

void hold_back_dependents(ResourceStates& states, const NodePlanInput& input) {
  DependentsWalk walk(states, input);
  for (auto& [id, state] : states) walk.visit(state);
}

void order_steps(std::vector<Step>& steps, const ResourceStates& states) {
  std::stable_sort(steps.begin(), steps.end(),
                   [&](const Step& a, const Step& b) { return rank_of(a, states) < rank_of(b, states); });
  std::vector<std::set<ResourceId>> needs;
  for (Step& step : steps) {
    needs.push_back(needed_by(step, states));
    step.needs.assign(needs.back().begin(), needs.back().end());
  }
  if (std::all_of(needs.begin(), needs.end(), [](const auto& ids) { return ids.empty(); })) return;

  std::vector<Step> ordered;
  std::vector<bool> taken(steps.size(), false);
  const auto ready = [&](std::size_t candidate) {
    for (std::size_t other = 0; other < steps.size(); ++other)
      if (other != candidate && !taken[other] && serves_any(steps[other], needs[candidate])) return false;
    return true;
  };
  while (ordered.size() < steps.size()) {
    std::size_t next = steps.size();
    std::size_t first_left = steps.size();
    for (std::size_t i = 0; i < steps.size() && next == steps.size(); ++i) {
      if (taken[i]) continue;
      if (first_left == steps.size()) first_left = i;
      if (ready(i)) next = i;
    }
    // Two artifacts may need each other although no two resources do (each holds several). Then the phase decides.
    if (next == steps.size()) next = first_left;
    taken[next] = true;
    ordered.push_back(steps[next]);
  }
  steps = std::move(ordered);
}

}  // namespace sparkplan
