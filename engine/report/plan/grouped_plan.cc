#include "engine/report/plan/grouped_plan.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
GroupedPlan grouped_plan(const Report& report) {
  TextStyle style;
  style.width = 120;
  std::vector<std::string> names;
  std::vector<std::vector<ChangeText>> changes;
  for (const NodeReport& node : report.nodes) {
    names.push_back(printable(node.name));
    changes.push_back(changes_of(node, report.file, false, style));
  }
  GroupedChanges grouped = group_changes(names, std::move(changes), false, style);
  GroupedPlan plan;
  plan.table = std::move(grouped.table);
  for (ChangeGroup& group : grouped.groups) {
    if (group.text.blocked) {
      plan.blocked.push_back(std::move(group));
      continue;
    }
    auto found = std::ranges::find_if(plan.types, [&](const TypeChanges& one) { return one.type == group.text.type; });
    if (found == plan.types.end()) found = plan.types.insert(plan.types.end(), {group.text.type, {}});
    found->groups.push_back(std::move(group));
  }
  return plan;
}

std::string_view word_of_symbol(char symbol) {
  switch (symbol) {
    case '+':
      return "add";
    case '-':
      return "remove";
    case '!':
      return "foreign";
    default:
      return "change";
  }
}

std::string change_words(const ChangeText& text) {
  std::vector<std::string> fields;
  for (const FieldText& field : text.fields) {
    const bool both = !field.label.empty() && !field.text.empty();
    const std::string words = field.label + (both ? " " : "") + field.text;
    if (!words.empty()) fields.push_back(words);
  }
  std::string words = join(fields, ", ");
  for (const Part& mark : text.marks) words += (words.empty() ? "" : " ") + mark.text;
  return words;
}

std::string state_words(const NodeReport& node) {
  std::string words(to_string(node.status));
  // A node that could not be read may be a member.
  const bool unknown = node.membership == Membership::kJoining && node.error;
  if (node.membership != Membership::kMember && !unknown) words += ", " + std::string(to_string(node.membership));
  return words;
}

std::string nodes_of(const ChangeGroup& group) { return fold_names(group.nodes); }

}  // namespace sparkplan
