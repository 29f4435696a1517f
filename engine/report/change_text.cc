#include "engine/report/change_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"

namespace sparkplan {
namespace {

constexpr std::string_view kFieldIndent = "      ";
constexpr std::size_t kMostNamesInANote = 4;

std::size_t longest_value(const TextStyle& style) {
  return static_cast<std::size_t>(std::clamp(style.width - 40, 20, 60));
}

/// The beginning and the end of a long text: long lists and keys may differ at either end.
std::string shortened(std::string_view text, std::size_t limit) {
  const std::size_t width = text_width(text);
  if (width <= limit) return std::string(text);
  const std::size_t head = (limit - 3) / 2 + (limit - 3) % 2;
  const std::size_t tail_from = width - (limit - 3) / 2;
  std::string result;
  if (width == text.size()) return result.append(text, 0, head).append("...").append(text, tail_from);
  std::size_t column = 0;
  for (const char byte : text) {
    if (starts_code_point(byte)) ++column;
    if (column == head + 1 && starts_code_point(byte)) result += "...";
    if (column <= head || column > tail_from) result += byte;
  }
  return result;
}

std::string value_text(const Value& value, const TextStyle& style) {
  if (value.is_null()) return "(none)";
  return shortened(display(value), longest_value(style));
}

bool is_plain_list(const Value& value) {
  const Value::List* items = value.list_items();
  return items != nullptr &&
         std::none_of(items->begin(), items->end(), [](const Value& item) { return item.is_map() || item.is_list(); });
}

/// "+ 192.168.100.11/24 - 10.0.0.1/8" for lists of plain values; nothing when only their order differs.
std::optional<std::string> list_difference(const Value& before, const Value& after, const TextStyle& style) {
  const bool both = is_plain_list(before) && is_plain_list(after);
  const bool one = (before.is_null() && is_plain_list(after)) || (after.is_null() && is_plain_list(before));
  if (!both && !one) return std::nullopt;
  const Value::List none;
  const Value::List& old_items = before.is_null() ? none : *before.list_items();
  const Value::List& new_items = after.is_null() ? none : *after.list_items();
  std::string text;
  const auto add = [&](const char* sign, const Value::List& items, const Value::List& others) {
    for (const Value& item : items) {
      if (std::find(others.begin(), others.end(), item) != others.end()) continue;
      text += (text.empty() ? "" : ", ") + std::string(sign) + value_text(item, style);
    }
  };
  add("+ ", new_items, old_items);
  add("- ", old_items, new_items);
  if (text.empty()) return std::nullopt;
  return text;
}

std::string transition(const Value& before, const Value& after, const TextStyle& style) {
  if (auto difference = list_difference(before, after, style)) return *difference;
  return value_text(before, style) + " -> " + value_text(after, style);
}

bool is_long_text(const Value& value) {
  return value.string() != nullptr && value.string()->find('\n') != std::string::npos;
}

/// Impact and origin, if they are not the usual ones.
std::string marks(const Change& change, const TextStyle& style) {
  static const std::map<Impact, std::string_view> kImpactMarks = {{Impact::kNeedsRelogin, "[needs re-login]"},
                                                                  {Impact::kRestartsService, "[restarts service]"},
                                                                  {Impact::kInterruptsNetwork, "[interrupts network]"},
                                                                  {Impact::kNeedsReboot, "[needs reboot]"}};
  std::string text;
  if (change.origin == Origin::kForeign) return text;
  if (const auto mark = kImpactMarks.find(change.impact); mark != kImpactMarks.end())
    text += "  " + paint(mark->second, Colour::kYellow, style);
  if (change.reversible == Reversible::kNo) text += "  " + paint("[cannot be undone]", Colour::kYellow, style);
  if (change.origin == Origin::kDrift) text += "  " + paint("(drift: changed on the node)", Colour::kMagenta, style);
  return text;
}

std::string outcome_mark(Outcome outcome, const TextStyle& style) {
  switch (outcome) {
    case Outcome::kPlanned:
      return "";
    case Outcome::kDone:
      return "  " + paint("done", Colour::kGreen, style);
    case Outcome::kFailed:
      return "  " + paint("failed", Colour::kRed, style);
    case Outcome::kNotDone:
      return "  " + paint("not done", Colour::kYellow, style);
    case Outcome::kUnknown:
      return "  " + paint("not known: the connection broke", Colour::kYellow, style);
  }
  return "";
}

char symbol_of(const Change& change) {
  if (change.origin == Origin::kForeign) return '!';
  if (change.action == Action::kCreate) return '+';
  return change.action == Action::kRemove ? '-' : '~';
}

/// The single value of a resource that has the same value in every field, such as a kernel parameter that runs and
/// persists. Null if its fields differ.
const Value* only_value(const Value& resource) {
  const Value::Map* entries = resource.entries();
  if (entries == nullptr || entries->empty()) return nullptr;
  const Value& first = entries->front().value;
  const bool same = std::all_of(entries->begin(), entries->end(), [&](const auto& e) { return e.value == first; });
  return same ? &first : nullptr;
}

class NodeLines {
 public:
  NodeLines(const NodeReport& node, const std::string& file, const TextStyle& style)
      : node_(node), plan_(node.plan), file_(file), style_(style) {}

  std::vector<TextLine> write() && {
    for (const Change& change : plan_.changes) {
      if (!style_.quiet || !change.is_harmless()) add_change(change);
    }
    for (const BlockedResource& blocked : plan_.blocked) add_blocked(blocked);
    if (!style_.quiet) {
      for (const ResourceId& id : plan_.kept_orphans)
        add_note(printable(id.str()) + " is no longer in " + printable(file_) +
                 ", but was changed on the node since: left alone");
      add_not_applicable();
      if (!node_.lock_holder.empty()) add_note("locked by " + printable(node_.lock_holder));
    }
    return std::move(lines_);
  }

 private:
  void add_change(const Change& change) {
    const std::string text = in_one_line(change).value_or("");
    std::string rest = text + marks(change, style_);
    if (change.origin != Origin::kForeign) rest += outcome_mark(outcome_of(change), style_);
    if (text.empty() && !rest.empty()) rest.erase(0, 2);  // Without a value, no distance is needed.
    lines_.push_back(
        {TextLine::Kind::kHead, symbol_of(change), printable(change.id.type), printable(change.id.name), rest});
    if (text.empty() || is_whole_file(change))
      for (const FieldChange& field : change.fields) add_field(change, field);
    if (!change.note.empty()) add_raw(printable(change.note) + place(change), Colour::kNone);
    if (outcome_of(change) == Outcome::kFailed && change.origin != Origin::kForeign) add_failure(change.id);
  }

  static bool is_whole_file(const Change& change) { return change.id.name == kWholeFileName; }

  Outcome outcome_of(const Change& change) const {
    const auto found = node_.outcomes.find(change.id);
    return found == node_.outcomes.end() ? Outcome::kPlanned : found->second;
  }

  std::string place(const Change& change) const {
    if (change.origin != Origin::kForeign || !change.where.known()) return "";
    return " (" + printable(file_) + ":" + std::to_string(change.where.line) + ")";
  }

  /// "60 -> 10 [running]"; nothing if the fields have to be listed one by one.
  std::optional<std::string> in_one_line(const Change& change) const {
    if (is_whole_file(change)) return file_name(change);
    const auto& fields = change.fields;
    if (std::any_of(fields.begin(), fields.end(),
                    [](const FieldChange& f) { return is_long_text(f.before) || is_long_text(f.after); }))
      return std::nullopt;
    if (change.is_harmless()) return "";
    if (change.origin == Origin::kForeign) {
      const FieldChange& field = fields.front();
      if (field.path.empty() && field.before.is_null())
        return "";  // The field has no own value; the note explains the change.
      return value_text(field.before, style_) + " wins over " + value_text(field.after, style_) +
             (field.path.empty() ? "" : "  [" + printable(field.path) + "]");
    }
    if (fields.empty()) return "";
    const auto whole = plan_.after_steps.find(change.id);
    const bool known = whole != plan_.after_steps.end() && whole->second.is_map();
    if (known && only_value(whole->second) == nullptr) return std::nullopt;
    const std::optional<Value> before = only_before(fields);
    if (!before) return std::nullopt;
    if (!std::all_of(fields.begin(), fields.end(), [&](const auto& f) { return same(f.after, fields.front().after); }))
      return std::nullopt;
    std::string text = transition(*before, fields.front().after, style_);
    if (known && fields.size() < whole->second.entries()->size()) text += "  [" + paths(fields) + "]";
    return text;
  }

  /// An Unknown equals nothing, not even itself. Compare addresses first, so that a single field that becomes Unknown
  /// still fits into one line.
  static bool same(const Value& a, const Value& b) { return &a == &b || a == b; }

  /// The single current value of the fields, without missing ones; nothing if they differ.
  static std::optional<Value> only_before(const std::vector<FieldChange>& fields) {
    Value before;
    for (const FieldChange& field : fields) {
      if (field.before.is_null()) continue;
      if (!before.is_null() && !(before == field.before)) return std::nullopt;
      before = field.before;
    }
    return before;
  }

  static std::string paths(const std::vector<FieldChange>& fields) {
    std::vector<std::string> names;
    for (const FieldChange& field : fields) names.push_back(printable(field.path));
    return join(names, ", ");
  }

  void add_field(const Change& change, const FieldChange& field) {
    const bool content = is_whole_file(change) && field.path == "content";
    if (!content && !is_long_text(field.before) && !is_long_text(field.after)) {
      lines_.push_back(
          {TextLine::Kind::kField, ' ', "", printable(field.path), transition(field.before, field.after, style_)});
      return;
    }
    const auto side = [](const Value& value) -> std::optional<std::string_view> {
      if (value.is_null()) return std::nullopt;
      return value.string() != nullptr ? std::string_view(*value.string()) : std::string_view();
    };
    if (field.after.is_unknown()) {
      lines_.push_back(
          {TextLine::Kind::kField, ' ', "", printable(field.path), "-> " + value_text(field.after, style_)});
      return;
    }
    add_diff(
        unified_diff(content ? file_name(change) : label_of(change, field), side(field.before), side(field.after)));
  }

  static std::string label_of(const Change& change, const FieldChange& field) {
    // A line break in a name would begin a line of the diff.
    if (field.path.starts_with("/")) return printable(field.path);  // One of the files of the resource.
    const bool is_the_file = change.id.name.starts_with("/") && field.path == "content";
    return printable(is_the_file || field.path.empty() ? change.id.name : change.id.name + " " + field.path);
  }

  /// The file that a TYPE/@file change concerns, from the step that carries it out.
  std::string file_name(const Change& change) const {
    for (const Step& step : plan_.steps) {
      if (!is_text_artifact(step.artifact)) continue;
      if (std::find(step.resources.begin(), step.resources.end(), change.id) == step.resources.end()) continue;
      const FieldChange& field = change.fields.front();
      const bool about_content = field.path == "content";
      if (about_content && Value(content_of(step.before).value_or("")) != field.before && !field.before.is_null())
        continue;
      if (about_content && Value(content_of(step.after).value_or("")) != field.after && !field.after.is_null())
        continue;
      return printable(step.artifact.name);
    }
    return printable(change.id.str());
  }

  void add_diff(const std::string& diff) {
    for (const std::string_view line : split_lines(diff)) {
      Colour colour = Colour::kNone;
      if (line.starts_with("+")) colour = Colour::kGreen;
      if (line.starts_with("-")) colour = Colour::kRed;
      if (line.starts_with("@@")) colour = Colour::kDim;
      add_raw(printable(line, true), colour);
    }
  }

  void add_blocked(const BlockedResource& blocked) {
    // The failure of a change is shown below the change.
    const bool shown = std::any_of(plan_.changes.begin(), plan_.changes.end(), [&](const Change& change) {
      return change.id == blocked.id && change.origin != Origin::kForeign && outcome_of(change) == Outcome::kFailed;
    });
    if (shown) return;
    lines_.push_back({TextLine::Kind::kHead, '!', printable(blocked.id.type), printable(blocked.id.name),
                      paint("blocked: " + printable(blocked.error.describe()), Colour::kRed, style_)});
    add_hint(blocked.error);
  }

  void add_failure(const ResourceId& id) {
    for (const BlockedResource& blocked : plan_.blocked) {
      if (blocked.id != id) continue;
      add_raw(printable(blocked.error.describe()), Colour::kRed);
      add_hint(blocked.error);
    }
  }

  void add_hint(const Error& error) {
    if (!error.hint.empty()) add_raw("hint: " + printable(error.hint), Colour::kNone);
  }

  /// One note for each reason, however many resources share it.
  void add_not_applicable() {
    std::map<std::string, std::vector<std::string>> names;
    for (const SkippedResource& skipped : plan_.not_applicable)
      names[skipped.reason].push_back(printable(skipped.id.str()) +
                                      (skipped.field.empty() ? "" : " [" + printable(skipped.field) + "]"));
    for (auto& [reason, resources] : names) {
      const std::size_t hidden = resources.size() > kMostNamesInANote ? resources.size() - kMostNamesInANote : 0;
      if (hidden > 0) resources.resize(kMostNamesInANote);
      std::string text = "not applicable here: " + join(resources, ", ");
      if (hidden > 0) text += " and " + std::to_string(hidden) + " more";
      add_note(text + ": " + printable(reason));
    }
  }

  void add_raw(std::string_view text, Colour colour) {
    lines_.push_back({TextLine::Kind::kRaw, ' ', "", "", std::string(kFieldIndent) + paint(text, colour, style_)});
  }

  void add_note(std::string_view text) {
    lines_.push_back(
        {TextLine::Kind::kRaw, ' ', "", "", "  " + paint("note: " + std::string(text), Colour::kDim, style_)});
  }

  const NodeReport& node_;
  const NodePlan& plan_;
  const std::string& file_;
  const TextStyle& style_;
  std::vector<TextLine> lines_;
};

}  // namespace

std::vector<TextLine> lines_of(const NodeReport& node, const std::string& file, const TextStyle& style) {
  return NodeLines(node, file, style).write();
}

}  // namespace sparkplan
