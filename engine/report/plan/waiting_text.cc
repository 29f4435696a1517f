// The resources of a saved plan that wait for a value of an earlier step.
#include <algorithm>
#include <utility>

#include "engine/core/text.h"
#include "engine/report/plan/saved_plan_text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kWaitingIndent = 2;
constexpr std::size_t kDetailIndent = 6;

/// The first Unknown in the value.
const Value::Unknown* unknown_in(const Value& value) {
  if (const auto* unknown = value.unknown()) return unknown;
  if (const auto* items = value.list_items()) {
    for (const Value& item : *items) {
      if (const auto* unknown = unknown_in(item)) return unknown;
    }
  }
  if (const auto* entries = value.entries()) {
    for (const MapEntry& entry : *entries) {
      if (const auto* unknown = unknown_in(entry.value)) return unknown;
    }
  }
  return nullptr;
}

const char* words_of(Action action) {
  switch (action) {
    case Action::kCreate:
      return "created";
    case Action::kUpdate:
      return "updated";
    case Action::kRemove:
      return "removed";
  }
  return "";
}

/// The files of a resource: the path in its name, else the files of its type.
std::string places_of(const ResourceId& id, const Registry& registry) {
  if (id.name.starts_with('/')) return printable(id.name);
  const auto* type = registry.find(id.type);
  return type == nullptr ? std::string() : printable(join(type->info().files, ", "));
}

std::string lines_of_change(const Change& change, const Registry& registry, const TextStyle& style) {
  std::string text =
      std::string(kWaitingIndent, ' ') + printable(change.id.type) + "  " + printable(change.id.name) + "\n";
  if (!change.note.empty()) text += wrapped(printable(change.note), kDetailIndent, style);
  bool all_unknown = true;
  for (const FieldChange& field : change.fields) {
    const auto* unknown = unknown_in(field.after);
    all_unknown = all_unknown && unknown != nullptr;
    if (unknown == nullptr) continue;
    const std::string path = field.path.empty() ? "its value" : printable(field.path);
    text += wrapped(path + ": " + printable(unknown->reason), kDetailIndent, style);
  }
  std::string then = std::string("then it is ") + words_of(change.action);
  if (const auto places = places_of(change.id, registry); !places.empty()) then += ", in " + places;
  if (!all_unknown) then += "; the values shown below stay as shown";
  return text + wrapped(then, kDetailIndent, style);
}

std::string lines_of_node(const NodeReport& node, const Registry& registry, const TextStyle& style) {
  std::string text;
  for (const Change& change : node.plan.changes) {
    const auto& waiting = node.plan.waiting;
    if (change.origin == Origin::kForeign) continue;
    if (std::find(waiting.begin(), waiting.end(), change.id) == waiting.end()) continue;
    text += lines_of_change(change, registry, style);
  }
  return text;
}

}  // namespace

std::string waiting_text(const Report& report, const Registry& registry, const TextStyle& style) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const NodeReport& node : report.nodes) {
    std::string lines = lines_of_node(node, registry, style);
    if (lines.empty()) continue;
    const auto twin = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == lines; });
    if (twin == groups.end()) {
      groups.emplace_back(std::move(lines), std::vector<std::string>{printable(node.name)});
    } else {
      twin->second.push_back(printable(node.name));
    }
  }
  if (groups.empty()) return {};
  std::string text = "These changes wait for a value and are made later in the same apply:\n";
  for (const auto& [lines, names] : groups) text += fold_names(names) + "\n" + lines;
  return text + "\n";
}

}  // namespace sparkplan
