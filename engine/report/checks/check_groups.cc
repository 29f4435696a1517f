#include "engine/report/checks/check_groups.h"

#include <algorithm>

#include "engine/core/text.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostPairs = 3;

}  // namespace

std::string shared_reason(const Check& check) {
  return check.blocked_by.empty() ? check.cause : "a required check failed";
}

bool CheckGroup::takes(const Check& check) const {
  const bool same = first->level == check.level && first->status == check.status && first->what == check.what &&
                    first->text == check.text && first->unit == check.unit &&
                    first->nodes.size() == check.nodes.size() && shared_reason(*first) == shared_reason(check) &&
                    first->fix == check.fix;
  const bool may_differ = check.status == CheckStatus::kPass;
  return same && (may_differ || first->value == check.value);
}

std::vector<CheckGroup> groups_of(const std::vector<Check>& checks) {
  std::vector<CheckGroup> groups;
  for (const Check& check : checks) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.takes(check); });
    if (same != groups.end()) {
      same->checks.push_back(&check);
    } else {
      groups.push_back({&check, {&check}});
    }
  }
  return groups;
}

std::string nodes_text(const CheckGroup& group) {
  const bool pairs = group.first->nodes.size() == 2;
  if (pairs && group.checks.size() <= kMostPairs) {
    std::vector<std::string> names;
    for (const Check* check : group.checks) {
      names.push_back(printable(check->nodes[0]) + " -> " + printable(check->nodes[1]));
    }
    return join(names, ", ");
  }
  std::vector<std::string> names;
  for (const Check* check : group.checks) {
    for (const auto& node : check->nodes) {
      auto name = printable(node);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  return fold_names(names) + (pairs ? ", " + counted(group.checks.size(), "pair") : "");
}

std::string values_text(const CheckGroup& group) {
  if (!group.first->value) return "";
  double least = *group.first->value;
  double most = least;
  for (const Check* check : group.checks) {
    if (!check->value) continue;
    least = std::min(least, *check->value);
    most = std::max(most, *check->value);
  }
  const std::string range =
      number_text(least) == number_text(most) ? number_text(least) : number_text(least) + " to " + number_text(most);
  return range + " " + printable(group.first->unit);
}

}  // namespace sparkplan
