#include "engine/report/changes/change_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/keyed_digest.h"
#include "engine/core/text.h"
#include "engine/model/plan.h"
#include "engine/report/changes/field_text.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

/// The fields of a removal, with what they become.
struct RemovalView {
  std::vector<FieldChange> fields;  ///< `after` is the value that returns; null if the field is gone afterwards.
  bool restores = false;            ///< The steps show what becomes of each field: the state from before sparkplan.
  /// The resource is a file that is not there afterwards.
  bool text_goes() const {
    return std::ranges::any_of(
        fields, [](const FieldChange& field) { return field.path == "content" && field.after.is_null(); });
  }
};

constexpr std::string_view kOnlyValue =
    "value";  // The key of artifacts that are one value, such as a kernel parameter.

Value value_or_null(const Value& map, std::string_view key) {
  const Value* found = map.find(key);
  return found == nullptr ? Value() : *found;
}

/// A resource of one value has it in a few fields. With more, each field would have a copy of a node's long value.
constexpr std::size_t kMostFieldsOfOneValue = 4;

/// The later value of the field; nothing if the step does not show it. `one_value`: all fields may be one value.
std::optional<Value> value_after(const Step& step, const FieldChange& field, bool one_value) {
  const Value& before = present_value(step.before);
  const Value& after = present_value(step.after);
  if (before.find(field.path) != nullptr || after.find(field.path) != nullptr) return value_or_null(after, field.path);
  const Value* only = one_value ? before.find(kOnlyValue) : nullptr;
  if (only == nullptr || !(*only == field.before)) return std::nullopt;
  return value_or_null(after, kOnlyValue);
}

/// The steps of each resource alone. Of a rollback, a node words them: to look for them in all steps would take the
/// product of changes, fields and steps.
using StepsOfResources = std::map<ResourceId, std::vector<const Step*>>;

StepsOfResources steps_of_resources_alone(const NodePlan& plan) {
  StepsOfResources steps;
  for (const Step& step : plan.steps) {
    const bool is_text = is_text_artifact(step.artifact);
    for (const ResourceId& id : step.resources) {
      if (is_text ? step.artifact.name == id.name : step.resources.size() == 1) steps[id].push_back(&step);
    }
  }
  return steps;
}

/// Pure. What becomes of the fields of a removal, as far as the plan shows it. Shown are artifacts of the resource
/// alone: a kernel parameter, a unit, its file. What remains of a file that it shares with other resources says nothing
/// about the value. `change` has Action::kRemove.
RemovalView view_of_removal(const Change& change, const StepsOfResources& alone) {
  RemovalView view;
  view.restores = !change.fields.empty();
  const bool one_value = change.fields.size() <= kMostFieldsOfOneValue;
  for (FieldChange field : change.fields) {
    std::optional<Value> restored;
    if (const auto steps = alone.find(change.id); steps != alone.end()) {
      for (const Step* step : steps->second) {
        if (!restored) restored = value_after(*step, field, one_value);
      }
    }
    view.restores = view.restores && restored.has_value();
    if (restored) field.after = std::move(*restored);
    // The mode of a file often stays.
    if (!(field.after == field.before)) view.fields.push_back(std::move(field));
  }
  // With a text, the mode and the owner of a removed file are of no interest.
  if (view.text_goes()) std::erase_if(view.fields, [](const FieldChange& field) { return field.path != "content"; });
  return view;
}

constexpr std::size_t kMostNamesInANote = 4;
constexpr std::size_t kBodyIndent = 6;

/// Impact and origin, if they are not the usual ones.
std::vector<Part> marks_of(const Change& change) {
  static const std::map<Impact, std::string> kImpactMarks = {{Impact::kNeedsRelogin, "[needs re-login]"},
                                                             {Impact::kRestartsService, "[restarts service]"},
                                                             {Impact::kInterruptsNetwork, "[interrupts network]"},
                                                             {Impact::kNeedsReboot, "[needs reboot]"}};
  std::vector<Part> marks;
  if (change.origin == Origin::kForeign) return marks;
  if (const auto mark = kImpactMarks.find(change.impact); mark != kImpactMarks.end())
    marks.push_back({mark->second, Colour::kYellow});
  if (change.reversible == Reversible::kNo) marks.push_back({"[cannot be undone]", Colour::kYellow});
  if (change.origin == Origin::kDrift) marks.push_back({"(drift: changed on the node)", Colour::kMagenta});
  return marks;
}

std::optional<Part> outcome_mark(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPlanned:
      return std::nullopt;
    case Outcome::kDone:
      return Part{"done", Colour::kGreen};
    case Outcome::kFailed:
      return Part{"failed", Colour::kRed};
    case Outcome::kNotDone:
      return Part{"not done", Colour::kYellow};
    case Outcome::kUnknown:
      return Part{"unknown: the connection broke", Colour::kYellow};
  }
  return std::nullopt;
}

char symbol_of(const Change& change) {
  if (change.origin == Origin::kForeign) return '!';
  if (change.action == Action::kCreate) return '+';
  return change.action == Action::kRemove ? '-' : '~';
}

class ChangeWriter {
 public:
  ChangeWriter(const NodeReport& node, const std::string& file, bool outcome, const TextStyle& style)
      : node_(node), file_(file), outcome_(outcome), style_(style), alone_(steps_of_resources_alone(node.plan)) {
    if (node.outcomes.empty()) return;
    for (const BlockedResource& blocked : node.plan.blocked) blocked_.emplace(blocked.id, &blocked);
  }

  ChangeText write(const Change& change) const {
    ChangeText text;
    text.symbol = symbol_of(change);
    text.type = printable(change.id.type);
    text.name = printable(change.id.name);
    text.marks = marks_of(change);
    add_fields(change, text);
    if (!change.note.empty() && !is_source_shown(change, text))
      add_line(note_text(change) + place(change), Colour::kNone, text);
    if (change.origin == Origin::kForeign) return text;
    const Outcome outcome = outcome_of(node_, change.id);
    if (auto mark = outcome_mark(outcome)) text.marks.push_back(std::move(*mark));
    if (outcome == Outcome::kFailed || outcome == Outcome::kNotDone) add_failure(change.id, text);
    return text;
  }

  ChangeText write(const BlockedResource& blocked) const {
    ChangeText text{'!', printable(blocked.id.type), printable(blocked.id.name), {}, {}, {}, true};
    text.marks.push_back({"blocked: " + printable(blocked.error.describe()), Colour::kRed});
    add_hint(blocked.error, text);
    return text;
  }

 private:
  /// The note is the source of a secret, and a field shows it.
  static bool is_source_shown(const Change& change, const ChangeText& text) {
    const std::string source = shown_secret(printable(change.note));
    return std::ranges::any_of(text.fields, [&](const FieldText& field) { return field.text.starts_with(source); });
  }

  void add_fields(const Change& change, ChangeText& text) const {
    if (change.is_harmless()) return;
    RemovalView removal;
    if (change.action == Action::kRemove && change.origin != Origin::kForeign)
      removal = view_of_removal(change, alone_);
    const auto& fields = change.action == Action::kRemove ? removal.fields : change.fields;
    const FieldTexts all{change, fields, node_.plan, style_};
    text.fields = all.short_ones();
    if (removal.restores)
      text.fields.push_back({"", (removal.text_goes() ? "removed, " : "") + std::string(kRestored)});
    if (outcome_) return;
    const std::size_t width = columns_of(style_) - kBodyIndent;
    for (Part& line : all.diffs(width)) text.body.push_back({std::move(line), true});
  }

  /// Of a foreign setting, the node words it, and may quote a file.
  std::string note_text(const Change& change) const {
    std::string text = printable(change.note);
    return style_.verbose ? text : cut_text(std::move(text), kLongestErrorMessage);
  }

  std::string place(const Change& change) const {
    if (change.origin != Origin::kForeign || !change.where.known()) return "";
    return " (" + printable(file_) + ":" + std::to_string(change.where.line) + ")";
  }

  void add_failure(const ResourceId& id, ChangeText& text) const {
    const auto [begin, end] = blocked_.equal_range(id);
    for (auto at = begin; at != end; ++at) {
      const Error& error = at->second->error;
      add_line(printable(error.describe()), Colour::kRed, text);
      add_hint(error, text);
    }
  }

  static void add_hint(const Error& error, ChangeText& text) {
    if (!error.hint.empty()) add_line("hint: " + printable(error.hint), Colour::kNone, text);
  }

  static void add_line(std::string line, Colour colour, ChangeText& text) {
    text.body.push_back({{std::move(line), colour}, false});
  }

  const NodeReport& node_;
  const std::string& file_;
  bool outcome_;
  const TextStyle& style_;
  StepsOfResources alone_;
  /// Of an apply. A node can have thousands of failed changes, each with its error.
  std::multimap<ResourceId, const BlockedResource*> blocked_;
};

/// One note for each reason, however many resources share it.
void add_not_applicable(const NodePlan& plan, std::vector<std::string>& notes) {
  std::map<std::string, std::vector<std::string>> names;
  for (const SkippedResource& skipped : plan.not_applicable)
    names[skipped.reason].push_back(printable(skipped.id.words()) +
                                    (skipped.field.empty() ? "" : " [" + field_words(skipped.field) + "]"));
  for (auto& [reason, resources] : names) {
    const std::size_t hidden = resources.size() > kMostNamesInANote ? resources.size() - kMostNamesInANote : 0;
    if (hidden > 0) resources.resize(kMostNamesInANote);
    std::string text = "not applicable here: " + join(resources, ", ");
    if (hidden > 0) text += " and " + std::to_string(hidden) + " more";
    notes.push_back(text + (reason.empty() ? "" : ": " + printable(reason)));
  }
}

}  // namespace

bool is_shown_as_change(const BlockedResource& blocked, const NodeReport& node) {
  // Only changes have an outcome. A search for each of thousands would take the square of their number.
  const Outcome outcome = outcome_of(node, blocked.id);
  return outcome == Outcome::kFailed || outcome == Outcome::kNotDone;
}

std::vector<ChangeText> changes_of(const NodeReport& node, const std::string& file, bool outcome,
                                   const TextStyle& style) {
  const ChangeWriter writer(node, file, outcome, style);
  std::vector<ChangeText> texts;
  for (const Change& change : node.plan.changes) {
    if (!style.quiet || !change.is_harmless()) texts.push_back(writer.write(change));
  }
  for (const BlockedResource& blocked : node.plan.blocked) {
    if (!is_shown_as_change(blocked, node)) texts.push_back(writer.write(blocked));
  }
  return texts;
}

std::vector<std::string> notes_of(const NodeReport& node, const std::string& file) {
  std::vector<std::string> notes;
  const bool leaves = node.membership == Membership::kLeaving;
  for (const ResourceId& id : node.plan.kept_orphans)
    notes.push_back(printable(id.words()) +
                    (leaves ? " was edited on the node after the last apply: the release leaves the edit there"
                            : " is no longer in " + printable(file) + ", but was edited on the node: left unchanged"));
  add_not_applicable(node.plan, notes);
  if (!node.lock_holder.empty()) notes.push_back("locked by " + printable(node.lock_holder));
  return notes;
}

}  // namespace sparkplan
