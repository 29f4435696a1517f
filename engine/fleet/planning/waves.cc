#include "engine/fleet/planning/waves.h"

#include <algorithm>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

bool any_of_ids(const std::vector<ResourceId>& ids, const std::set<ResourceId>& among) {
  return std::any_of(ids.begin(), ids.end(), [&](const ResourceId& id) { return among.contains(id); });
}

}  // namespace

SplitSteps split_steps(std::vector<Step> steps, const std::set<ResourceId>& failed) {
  std::set<std::string> disruptive_groups;
  for (const Step& step : steps) {
    if (step.disruptive) disruptive_groups.insert(step.group);
  }
  SplitSteps split;
  std::set<ResourceId> later;
  for (const Step& step : steps) {
    if (disruptive_groups.contains(step.group)) later.insert(step.resources.begin(), step.resources.end());
  }
  for (Step& step : steps) {
    if (disruptive_groups.contains(step.group)) {
      if (!any_of_ids(step.needs, failed)) split.disruptive.push_back(std::move(step));
    } else if (any_of_ids(step.needs, later)) {
      later.insert(step.resources.begin(), step.resources.end());
    } else {
      split.safe.push_back(std::move(step));
    }
  }
  return split;
}

bool is_disruptive(const NodePlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.disruptive; });
}

std::size_t most_stages(const std::vector<const NodePlan*>& plans) {
  std::set<std::string> waiting;
  for (const NodePlan* plan : plans) {
    for (const ResourceId& id : plan->waiting) waiting.insert(id.type);
  }
  return 2 * (1 + waiting.size()) + kStagesForFailures;
}

std::vector<std::vector<std::string>> coupled(const std::vector<std::string>& names,
                                              const std::vector<std::pair<NodeName, NodeName>>& cables) {
  std::map<std::string, std::size_t> part;
  for (std::size_t i = 0; i < names.size(); ++i) part[names[i]] = i;
  for (const auto& [first, second] : cables) {
    const auto a = part.find(first.str());
    const auto b = part.find(second.str());
    if (a == part.end() || b == part.end() || a->second == b->second) continue;
    const auto kept = std::min(a->second, b->second);
    const auto gone = std::max(a->second, b->second);
    for (auto& [name, number] : part) {
      if (number == gone) number = kept;
    }
  }
  std::map<std::size_t, std::vector<std::string>> parts;
  for (const auto& name : names) parts[part[name]].push_back(name);
  std::vector<std::vector<std::string>> result;
  for (auto& [number, members] : parts) result.push_back(std::move(members));
  return result;
}

std::vector<std::vector<std::string>> waves(const std::vector<std::string>& names,
                                            const std::vector<std::pair<NodeName, NodeName>>& cables,
                                            std::size_t at_a_time) {
  std::vector<std::vector<std::string>> result;
  for (auto& part : coupled(names, cables)) {
    // The canary has the first wave for itself.
    const bool joins = result.size() > 1 && (at_a_time == 0 || result.back().size() + part.size() <= at_a_time);
    if (!joins) result.emplace_back();
    result.back().insert(result.back().end(), part.begin(), part.end());
  }
  return result;
}

}  // namespace sparkplan
