#include "engine/plan/companions.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace sparkplan {
namespace {

using TwoTexts = std::pair<std::string_view, std::string_view>;

TwoTexts texts_of(const ResourceId& id) { return {id.type, id.name}; }

/// Of a change that differs in nothing itself.
Error stale_beside(const Step& step) {
  return make_error(
      ErrorCode::kStalePlan,
      "a change that belongs with it (" + step.artifact.name + ") is not as it was when the plan was made",
      "make a new plan, or run `sparkplan apply` without one: it makes this change");
}

/// The steps of a plan, and which of them cannot be carried out whole. A step or group that is broken stays so, because
/// changes are only withdrawn. So each is marked once, and not searched for by every other step.
class Companions {
 public:
  Companions(const NodePlan& now, const PlanIndex& index, HeldPlan& held)
      : steps_(now.steps), index_(index), held_(held) {
    std::map<TwoTexts, std::size_t> groups;
    for (const Step& step : steps_) {
      const auto group = groups.emplace(TwoTexts(step.type, step.group), groups.size()).first->second;
      states_.push_back({group, false, false});
    }
    is_group_broken_.resize(groups.size(), false);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto& ids = steps_[i].resources;
      if (!std::ranges::all_of(ids, [&](const ResourceId& id) { return held_.approved.contains(id); })) mark_broken(i);
    }
  }

  void withdraw() {
    bool withdrawn = true;
    while (withdrawn) {
      withdrawn = false;
      for (std::size_t i = 0; i < steps_.size(); ++i) withdrawn = withdraw_step(i) || withdrawn;
    }
  }

 private:
  struct State {
    std::size_t group;
    bool is_broken;     ///< At least one of its changes is not approved.
    bool is_withdrawn;  ///< None of its changes is approved any more.
  };

  void mark_broken(std::size_t i) {
    if (states_[i].is_broken) return;
    states_[i].is_broken = true;
    is_group_broken_[states_[i].group] = true;
    for (const ResourceId& id : steps_[i].resources) in_broken_steps_.insert(texts_of(id));
  }

  bool belongs_with_broken(std::size_t i) const {
    return is_group_broken_[states_[i].group] || std::ranges::any_of(steps_[i].needs, [&](const ResourceId& id) {
             return in_broken_steps_.contains(texts_of(id));
           });
  }

  /// True if a change of the step was approved until now.
  bool withdraw_step(std::size_t i) {
    if (states_[i].is_withdrawn || !belongs_with_broken(i)) return false;
    states_[i].is_withdrawn = true;
    bool withdrawn = false;
    for (const ResourceId& id : steps_[i].resources) {
      if (held_.approved.erase(id) == 0) continue;
      held_.stale.emplace(id, stale_beside(steps_[i]));
      for (const Step* step : index_.steps_of(id)) mark_broken(static_cast<std::size_t>(step - steps_.data()));
      withdrawn = true;
    }
    return withdrawn;
  }

  const std::vector<Step>& steps_;
  const PlanIndex& index_;
  HeldPlan& held_;
  std::vector<State> states_;  ///< One for each step.
  std::vector<bool> is_group_broken_;
  std::set<TwoTexts> in_broken_steps_;  ///< Type and name of each resource of a broken step.
};

}  // namespace

void withdraw_companions(const NodePlan& now, const PlanIndex& index, HeldPlan& held) {
  Companions(now, index, held).withdraw();
}

}  // namespace sparkplan
