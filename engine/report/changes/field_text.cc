#include "engine/report/changes/field_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "engine/core/keyed_digest.h"
#include "engine/core/text.h"
#include "engine/report/text/value_text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostListedFields = 2;

/// Fields that no user writes, so that their names say nothing to one.
struct FieldName {
  std::string_view path;
  std::string_view words;
};
constexpr std::string_view kStored = "persistent", kStoredPart = "persistent.";
constexpr std::string_view kReadByLogind = "in_effect";
constexpr std::array<FieldName, 4> kFieldNames{{{"uid", "owner's id"},
                                                {"gid", "group's id"},
                                                {kReadByLogind, "read by logind"},
                                                {"also_defined_in", "also defined in"}}};

/// The single value of a resource that has the same value in every field, such as a kernel parameter that runs and
/// persists. Null if its fields differ.
const Value* only_value(const Value& resource) {
  const Value::Map* entries = resource.entries();
  if (entries == nullptr || entries->empty()) return nullptr;
  const Value& first = entries->front().value;
  const bool same = std::all_of(entries->begin(), entries->end(), [&](const auto& e) { return e.value == first; });
  return same ? &first : nullptr;
}

/// An Unknown equals nothing, not even itself. Compare addresses first, so that a single field that becomes Unknown
/// still fits into one line.
bool same(const Value& a, const Value& b) { return &a == &b || a == b; }

/// The single current value of the fields, without missing ones; nothing if they differ.
std::optional<Value> only_before(const std::vector<FieldChange>& fields) {
  Value before;
  for (const FieldChange& field : fields) {
    if (field.before.is_null()) continue;
    if (!before.is_null() && !(before == field.before)) return std::nullopt;
    before = field.before;
  }
  return before;
}

std::string paths(const std::vector<FieldChange>& fields) {
  std::vector<std::string> names;
  for (const FieldChange& field : fields) names.push_back(field_words(field.path));
  return join(names, ", ");
}

std::string prefix_of(const std::string& path) { return path.substr(0, path.find('.')); }

/// The changes of fields with one prefix, or the items of one list.
struct FieldCount {
  std::size_t added = 0, removed = 0, changed = 0, unknown = 0, fields = 0;
  bool plural = false;

  void add(const FieldChange& field) {
    ++fields;
    if (field.after.contains_unknown()) ++unknown;
    if (field.before.list_items() != nullptr || field.after.list_items() != nullptr) plural = true;
    const std::size_t before = count_of(field.before);
    const std::size_t after = count_of(field.after);
    if (before == 0) {
      added += field.path.find('.') == std::string::npos ? after : 1;
    } else if (after == 0) {
      removed += field.path.find('.') == std::string::npos ? before : 1;
    } else {
      ++changed;
    }
  }

  /// "8 authorized (7 known during apply)", "1 authorized removed"
  std::string words(const std::string& name, bool is_new) const {
    if (fields == 1 && !plural) return name;
    std::vector<std::string> parts;
    const auto part = [&](std::size_t number, const char* word) {
      if (number > 0) parts.push_back(std::to_string(number) + " " + name + word);
    };
    part(added, is_new ? "" : " added");
    part(removed, is_new ? "" : " removed");
    if (fields == 1 && changed == 1) parts.push_back(name + " changed");
    if (fields > 1) part(changed, " changed");
    std::string text = join(parts, ", ");
    if (unknown == 0) return text;
    return text + (unknown == fields ? " (" : " (" + std::to_string(unknown) + " ") + "known during apply)";
  }
};

/// The fields of ssh_trust, and the words for them. "authorized.spark-02" is the field of one node.
struct TrustField {
  std::string_view name;
  std::string_view words;
};
constexpr std::array<TrustField, 4> kTrustFields{
    {{"key", "own key"}, {"authorized", "login keys"}, {"known_hosts", "host keys"}, {"config", "ssh config"}}};
constexpr std::size_t kWidestTrustNames = 60;

/// The nodes whose fields of one name change. A field of no node counts as the node "".
struct TrustNodes {
  std::vector<std::string> added, changed, removed;
  std::size_t unknown = 0;

  bool empty() const { return added.empty() && changed.empty() && removed.empty(); }

  void add(const FieldChange& field) {
    const std::size_t dot = field.path.find('.');
    auto& nodes = count_of(field.before) == 0 ? added : count_of(field.after) == 0 ? removed : changed;
    nodes.push_back(dot == std::string::npos ? "" : printable(field.path.substr(dot + 1)));
    if (field.after.contains_unknown()) ++unknown;
  }

  /// "of spark-[01-08] (known during apply)", "of spark-09 added, of spark-03 removed"
  std::string words(Action action) const {
    const bool is_update = action == Action::kUpdate;
    std::vector<std::string> parts;
    const auto part = [&](const std::vector<std::string>& nodes, std::string_view end) {
      if (nodes.empty()) return;
      std::string names = fold_names(nodes);
      if (text_width(names) > kWidestTrustNames) names = counted(nodes.size(), "node");
      std::string text = names.empty() ? "" : "of " + names;
      if (!end.empty()) text.append(text.empty() ? "" : " ").append(end);
      parts.push_back(std::move(text));
    };
    part(added, is_update ? "added" : "");
    part(changed, "changed");
    part(removed, is_update ? "removed" : "");
    std::string text = join(parts, ", ");
    if (unknown == 0) return text;
    const bool all = unknown == added.size() + changed.size();
    text.append(text.empty() ? "(" : " (");
    return text.append(all ? "" : std::to_string(unknown) + " ").append("known during apply)");
  }
};

/// True also if there is no `content`. Compares without a copy: a plan may have thousands of files.
bool has_content(const Observation& observation, const Value& content) {
  static const Value kEmpty("");
  const Value* found = present_value(observation).find("content");
  return content.is_null() || content == (found == nullptr ? kEmpty : *found);
}

}  // namespace

std::string field_words(const std::string& path) {
  if (path == kStored) return "at boot";
  if (path.starts_with(kStoredPart)) return printable(path.substr(kStoredPart.size())) + " at boot";
  const auto known = std::ranges::find_if(kFieldNames, [&](const FieldName& one) { return one.path == path; });
  return known == kFieldNames.end() ? printable(path) : std::string(known->words);
}

FieldTexts::FieldTexts(const Change& change, const std::vector<FieldChange>& fields, const NodePlan& plan,
                       const TextStyle& style)
    : change_(change), fields_(fields), plan_(plan), style_(style) {}

bool FieldTexts::is_whole_file() const { return change_.id.name == kWholeFileName; }

bool FieldTexts::is_diff(const FieldChange& field) const {
  if (holds_secret(field.before) && holds_secret(field.after)) return false;
  if (holds_secret(field.before) || holds_secret(field.after))
    return is_long_text(field.before) || is_long_text(field.after);
  return (is_whole_file() && field.path == "content") || is_long_text(field.before) || is_long_text(field.after);
}

/// True for "persistent.mtu" beside an equal "mtu": a stored value that says the same as the running one.
bool FieldTexts::is_shadow(const FieldChange& field) const {
  const auto dot = field.path.find('.');
  if (dot == std::string::npos) return false;
  if (by_path_.empty()) {
    for (const FieldChange& one : fields_) by_path_.emplace(one.path, &one);
  }
  const auto own = by_path_.find(std::string_view(field.path).substr(dot + 1));
  if (own == by_path_.end() || !(own->second->after == field.after)) return false;
  return field.before.is_null() || field.before == own->second->before;
}

/// Of a secret only its source and whether it changes: "(secret: sops -d secrets.yaml) new".
std::string FieldTexts::text_of(const FieldChange& field, Action action) const {
  if (!holds_secret(field.after) || !field.after.is_string())
    return transition(field.before, field.after, action, style_);
  return shown_secret(printable(change_.note)) + (field.before.is_null() ? " new" : " changed");
}

std::vector<FieldText> FieldTexts::short_ones() const {
  if (is_whole_file() && !fields_.empty()) {
    std::vector<FieldText> texts{{"", file_name()}};
    for (const FieldChange& field : fields_) {
      if (!is_diff(field)) texts.push_back({field_words(field.path), text_of(field, Action::kUpdate)});
    }
    return texts;
  }
  if (auto parts = trust_parts()) return *std::move(parts);
  if (const auto value = one_value()) return {{"", *value}};
  if (const auto words = counts()) return {{"", *words}};
  std::vector<FieldText> texts;
  for (const FieldChange& field : fields_) {
    if (field.after.is_unknown() && is_diff(field)) {
      texts.push_back({field_words(field.path), "-> " + value_text(field.after, style_)});
    } else if (!is_diff(field) && field.path == kReadByLogind && field.after == Value(true)) {
      texts.push_back({field_words(field.path), ""});
    } else if (!is_diff(field) && (style_.verbose || !is_shadow(field))) {
      texts.push_back({field_words(field.path), text_of(field, change_.action)});
    }
  }
  return texts;
}

/// "own key, login keys of spark-[01-08], host keys of spark-[01-08]": of ssh_trust, whose fields are one line per node
/// in several files. Nothing for other types.
std::optional<std::vector<FieldText>> FieldTexts::trust_parts() const {
  if (style_.verbose || change_.id.type != "ssh_trust" || change_.origin == Origin::kForeign) return std::nullopt;
  const bool any_node = std::any_of(fields_.begin(), fields_.end(),
                                    [](const FieldChange& field) { return field.path.find('.') != std::string::npos; });
  if (!any_node) return std::nullopt;
  std::array<TrustNodes, kTrustFields.size()> nodes;
  std::vector<FieldText> others;
  for (const FieldChange& field : fields_) {
    const std::string name = prefix_of(field.path);
    const auto known = std::ranges::find_if(kTrustFields, [&](const TrustField& one) { return one.name == name; });
    if (known == kTrustFields.end()) {
      others.push_back({printable(field.path), text_of(field, change_.action)});
    } else {
      nodes.at(static_cast<std::size_t>(known - kTrustFields.begin())).add(field);
    }
  }
  std::vector<FieldText> parts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes.at(i).empty()) continue;
    parts.push_back({std::string(kTrustFields.at(i).words), nodes.at(i).words(change_.action)});
  }
  parts.insert(parts.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  return parts;
}

/// "60 -> 10  [running]"; nothing if the fields have to be listed one by one.
std::optional<std::string> FieldTexts::one_value() const {
  if (fields_.empty()) return std::nullopt;
  const auto has_own_text = [&](const FieldChange& field) {
    return is_diff(field) || holds_secret(field.before) || holds_secret(field.after);
  };
  if (std::any_of(fields_.begin(), fields_.end(), has_own_text)) return std::nullopt;
  if (change_.origin == Origin::kForeign) {
    const FieldChange& field = fields_.front();
    if (field.before.is_null()) return std::nullopt;  // The claim is no value of the field; the note explains it.
    return value_text(field.before, style_) + " wins over " + value_text(field.after, style_) +
           (field.path.empty() ? "" : "  [" + field_words(field.path) + "]");
  }
  const auto whole = plan_.after_steps.find(change_.id);
  const bool known = whole != plan_.after_steps.end() && whole->second.is_map();
  if (known && only_value(whole->second) == nullptr) return std::nullopt;
  const std::optional<Value> before = only_before(fields_);
  if (!before) return std::nullopt;
  if (!std::all_of(fields_.begin(), fields_.end(), [&](const auto& f) { return same(f.after, fields_.front().after); }))
    return std::nullopt;
  std::string text = transition(*before, fields_.front().after, change_.action, style_);
  if (known && fields_.size() < whole->second.entries()->size()) text += "  [" + paths(fields_) + "]";
  return text;
}

/// For resources with many fields of a kind, such as the logins of each node: "8 authorized, 8 known_hosts, key".
std::optional<std::string> FieldTexts::counts() const {
  if (style_.verbose) return std::nullopt;
  std::vector<std::pair<std::string, FieldCount>> kinds;
  std::map<std::string, std::size_t> places;
  for (const FieldChange& field : fields_) {
    if (is_diff(field)) return std::nullopt;
    if (is_shadow(field)) continue;
    const std::string kind = prefix_of(field.path);
    const auto [place, is_first] = places.emplace(kind, kinds.size());
    if (is_first) kinds.emplace_back(kind, FieldCount{});
    kinds[place->second].second.add(field);
  }
  const bool many = std::ranges::any_of(kinds, [](const auto& kind) { return kind.second.fields > kMostListedFields; });
  if (!many) return std::nullopt;
  std::vector<std::string> parts;
  for (const auto& [name, count] : kinds)
    parts.push_back(count.words(field_words(name), change_.action != Action::kUpdate));
  return join(parts, ", ");
}

std::vector<Part> FieldTexts::diffs(std::size_t width) const {
  std::vector<Part> lines;
  if (change_.origin == Origin::kForeign) return lines;
  for (const FieldChange& field : fields_) {
    if (!is_diff(field) || field.after.is_unknown()) continue;
    auto diff = diff_lines(label_of_diff(field), field.before, field.after, width, style_);
    lines.insert(lines.end(), std::make_move_iterator(diff.begin()), std::make_move_iterator(diff.end()));
  }
  return lines;
}

std::string FieldTexts::label_of_diff(const FieldChange& field) const {
  if (is_whole_file() && field.path == "content") return file_name();
  // A line break in a name would begin a line of the diff.
  if (field.path.starts_with("/")) return printable(field.path);  // One of the files of the resource.
  const bool is_the_file = change_.id.name.starts_with("/") && field.path == "content";
  return printable(is_the_file || field.path.empty() ? change_.id.name : change_.id.name + " " + field.path);
}

/// The file that a TYPE/@file change concerns, from the step that carries it out.
std::string FieldTexts::file_name() const {
  for (const Step& step : plan_.steps) {
    if (!is_text_artifact(step.artifact)) continue;
    if (std::find(step.resources.begin(), step.resources.end(), change_.id) == step.resources.end()) continue;
    const FieldChange& field = fields_.front();
    const bool about_content = field.path == "content";
    if (about_content && !has_content(step.before, field.before)) continue;
    if (about_content && !has_content(step.after, field.after)) continue;
    return printable(step.artifact.name);
  }
  return printable(change_.id.words());
}

}  // namespace sparkplan
