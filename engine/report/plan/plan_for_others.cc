#include "engine/report/plan/plan_for_others.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/core/keyed_digest.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kHidden = "(hidden)";

std::string upper_case(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return upper;
}

std::string without_secret_lines(const std::string& text) {
  if (text.find("PRIVATE KEY-----") != std::string::npos) return std::string(kHidden);
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) lines.emplace_back(names_a_secret(line) ? kHidden : line);
  const std::string shown = join(lines, "\n");
  return text.ends_with('\n') ? shown + "\n" : shown;
}

/// With `all`, every text and number. Equal values stay equal: the texts of a plan compare them.
void redact(Value& value, bool all) {
  if (Value::Map* entries = value.entries()) {
    for (MapEntry& entry : *entries) redact(entry.value, all || names_a_secret(entry.key));
  } else if (Value::List* items = value.list_items()) {
    for (Value& item : *items) redact(item, all);
  } else if (const std::string* text = value.string()) {
    if (is_secret_token(*text)) return;
    value = all ? Value(kHidden) : Value(without_secret_lines(*text));
  } else if (all && !value.is_null() && !value.is_unknown()) {
    value = Value(kHidden);
  }
}

void redact(Observation& observation, bool all) {
  if (auto* present = std::get_if<Present>(&observation)) redact(present->value, all);
}

void redact(NodePlan& plan) {
  for (Change& change : plan.changes) {
    for (FieldChange& field : change.fields) {
      const bool all = names_a_secret(change.id.name) || names_a_secret(field.path);
      redact(field.before, all);
      redact(field.after, all);
    }
  }
  // The text of a removal shows what its steps restore.
  for (Step& step : plan.steps) {
    const bool all = names_a_secret(step.artifact.name);
    redact(step.before, all);
    redact(step.after, all);
  }
  for (auto& [id, value] : plan.after_steps) redact(value, names_a_secret(id.name));
}

}  // namespace

bool names_a_secret(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWords{"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "ACCESS_KEY"};
  const std::string upper = upper_case(name);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return upper.find(word) != std::string::npos; });
}

Report for_others(Report report) {
  for (NodeReport& node : report.nodes) redact(node.plan);
  return report;
}

}  // namespace sparkplan
