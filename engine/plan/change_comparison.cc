#include "engine/plan/change_comparison.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/text.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

template <class Compare>
bool equal_within(const Value& a, const Value& b, Compare compare) {
  if (const Value::List* items = a.list_items()) {
    const Value::List* others = b.list_items();
    return others != nullptr && std::equal(items->begin(), items->end(), others->begin(), others->end(), compare);
  }
  if (const Value::Map* entries = a.entries()) {
    const Value::Map* others = b.entries();
    if (others == nullptr || entries->size() != others->size()) return false;
    return std::all_of(entries->begin(), entries->end(), [&](const MapEntry& entry) {
      const Value* other = b.find(entry.key);
      return other != nullptr && compare(entry.value, *other);
    });
  }
  return a == b;
}

/// Finds the fields of a change: each of thousands is looked for once. A saved plan may list them in any order.
class FieldsOfChange {
 public:
  explicit FieldsOfChange(const Change& change) {
    for (const FieldChange& field : change.fields) {
      by_path_.push_back(&field);
      if (field.after.is_unknown()) unknown_.push_back(&field);
    }
    std::ranges::stable_sort(by_path_, {}, kPathOf);
  }

  /// The first field with that path; null without one.
  const FieldChange* find(const std::string& path) const {
    const auto found = std::ranges::lower_bound(by_path_, path, {}, kPathOf);
    return found == by_path_.end() || (*found)->path != path ? nullptr : *found;
  }

  /// The field with that path or, if the plan displayed an Unknown, the field that contains it.
  const FieldChange* that_showed(const std::string& path) const {
    if (const FieldChange* same = find(path)) return same;
    const auto around =
        std::ranges::find_if(unknown_, [&](const FieldChange* field) { return path.starts_with(field->path + "."); });
    return around == unknown_.end() ? nullptr : *around;
  }

 private:
  static constexpr auto kPathOf = [](const FieldChange* field) -> const std::string& { return field->path; };

  std::vector<const FieldChange*> by_path_;
  std::vector<const FieldChange*> unknown_;
};

std::string in_field(const std::string& path) { return path.empty() ? std::string() : " (field " + path + ")"; }

std::optional<std::string> why_fields_differ(const Change& then, const Change& now) {
  const FieldsOfChange fields_then(then);
  const FieldsOfChange fields_now(now);
  for (const FieldChange& field : then.fields) {
    const FieldChange* found = fields_now.find(field.path);
    if (found == nullptr) return "the plan shows a change that is no longer needed" + in_field(field.path);
    if (!same_shown(field.before, found->before))
      return "it was changed on the node since the plan was made" + in_field(field.path);
    if (field.after.contains_unknown() && !found->after.contains_unknown())
      return "a value that the plan shows as unknown is known already" + in_field(field.path);
    if (!same_shown(field.after, found->after))
      return "its new value would differ from the plan" + in_field(field.path);
  }
  for (const FieldChange& field : now.fields) {
    if (fields_then.find(field.path) == nullptr)
      return "the plan does not show all that would be changed" + in_field(field.path);
  }
  return std::nullopt;
}

std::string another(std::string_view what, std::string_view then, std::string_view now) {
  return "the plan shows another " + std::string(what) + " (" + std::string(then) + ") than the current one (" +
         std::string(now) + ")";
}

bool has_attributes_of(const Value& wanted, const Value& value) {
  const Value::Map* entries = value.entries();
  const Value::Map* others = wanted.entries();
  if (entries == nullptr || others == nullptr || entries->size() != others->size()) return same_shown(wanted, value);
  return std::all_of(entries->begin(), entries->end(), [&](const MapEntry& entry) {
    const Value* other = wanted.find(entry.key);
    return other != nullptr && (entry.key == "content" || same_shown(*other, entry.value));
  });
}

/// True if `now` does to the text of `before` a part of what `shown` does.
bool does_part_of(const Observation& before, const Observation& shown, const Observation& now) {
  if (same_state(shown, now)) return true;
  const auto* present = std::get_if<Present>(&now);
  const auto* like = std::get_if<Present>(std::holds_alternative<Present>(shown) ? &shown : &before);
  if (present != nullptr && (like == nullptr || !has_attributes_of(like->value, present->value))) return false;
  const auto text_before = content_of(before).value_or("");
  const auto text_shown = content_of(shown).value_or("");
  const auto text_now = content_of(now).value_or("");
  const auto lines_of = [](const std::string& text) {
    const auto lines = split_lines(std::string_view(text));
    return std::set<std::string_view>(lines.begin(), lines.end());
  };
  const auto there = lines_of(text_before);
  const auto displayed = lines_of(text_shown);
  const auto written = lines_of(text_now);
  const bool adds_no_more = std::all_of(written.begin(), written.end(), [&](std::string_view line) {
    return there.contains(line) || displayed.contains(line);
  });
  return adds_no_more && std::all_of(there.begin(), there.end(), [&](std::string_view line) {
           return written.contains(line) || !displayed.contains(line);
         });
}

std::vector<ResourceId> sorted(std::vector<ResourceId> ids) {
  std::ranges::sort(ids);
  return ids;
}

bool same_ids(const std::vector<ResourceId>& a, const std::vector<ResourceId>& b) {
  return a.size() == b.size() && (a == b || sorted(a) == sorted(b));
}

}  // namespace

bool same_shown(const Value& a, const Value& b) {
  const Value::Unknown* one = a.unknown();
  const Value::Unknown* other = b.unknown();
  if (one != nullptr && other != nullptr) return one->reason == other->reason && one->producer == other->producer;
  return equal_within(a, b, same_shown);
}

bool may_become(const Value& then, const Value& now) {
  return then.is_unknown() || equal_within(then, now, may_become);
}

std::optional<std::string> why_shown_otherwise(const Change& then, const Change& now) {
  if (auto why = why_fields_differ(then, now)) return why;
  if (then.action != now.action) return another("action", to_string(then.action), to_string(now.action));
  if (then.origin != now.origin) return another("origin", to_string(then.origin), to_string(now.origin));
  if (then.impact != now.impact) return another("impact", to_string(then.impact), to_string(now.impact));
  if (then.reversible != now.reversible)
    return another("reversibility", to_string(then.reversible), to_string(now.reversible));
  if (then.note != now.note) return another("remark", then.note, now.note);
  if (then.where != now.where) return "the plan shows another place for it in cluster.yaml";
  return std::nullopt;
}

std::optional<std::string> why_another_step(const Step& then, const Step& now) {
  const std::string& artifact = now.artifact.name;
  if (!same_state(then.before, now.before)) return artifact + " was changed since the plan was made";
  if (!same_state(then.after, now.after)) return artifact + " would get another state than planned";
  const bool same = then.type == now.type && then.artifact == now.artifact && then.phase == now.phase &&
                    same_ids(then.resources, now.resources) && same_ids(then.needs, now.needs) &&
                    then.group == now.group && then.activates == now.activates && then.disruptive == now.disruptive &&
                    then.reversible == now.reversible;
  if (!same) return artifact + " would be changed in another way than planned";
  return std::nullopt;
}

std::optional<std::string> why_rest_shown_otherwise(Change then, Change now, const std::set<std::string>& kept) {
  const auto is_kept = [&](const FieldChange& field) { return kept.contains(field.path); };
  const bool showed_more = std::erase_if(then.fields, is_kept) > 0;
  std::erase_if(now.fields, is_kept);
  if (showed_more && then.origin == Origin::kDrift) then.origin = now.origin;
  return why_shown_otherwise(then, now);
}

std::optional<std::string> why_more_than_step(const Step& then, const Step& now) {
  const std::string& artifact = now.artifact.name;
  if (!same_state(then.before, now.before)) return artifact + " was changed since the plan was made";
  if (!does_part_of(now.before, then.after, now.after)) return artifact + " would get another state than planned";
  const auto shown = sorted(then.resources);
  const bool fewer =
      std::ranges::all_of(now.resources, [&](const ResourceId& id) { return std::ranges::binary_search(shown, id); });
  const bool same = fewer && then.type == now.type && then.artifact == now.artifact && then.phase == now.phase &&
                    same_ids(then.needs, now.needs) && then.group == now.group && then.activates == now.activates &&
                    then.disruptive == now.disruptive && then.reversible == now.reversible;
  if (!same) return artifact + " would be changed in another way than planned";
  return std::nullopt;
}

std::optional<std::string> why_beyond(const Change& shown, const Change& now) {
  const FieldsOfChange fields(shown);
  for (const FieldChange& field : now.fields) {
    const FieldChange* then = fields.that_showed(field.path);
    if (then == nullptr) return "the plan does not show all that would be changed" + in_field(field.path);
    if (then->path == field.path && !may_become(then->after, field.after))
      return "its new value would differ from the plan" + in_field(field.path);
  }
  if (shown.action != now.action && now.action == Action::kRemove)
    return another("action", to_string(shown.action), to_string(now.action));
  if (now.impact > shown.impact) return another("impact", to_string(shown.impact), to_string(now.impact));
  if (now.reversible > shown.reversible)
    return another("reversibility", to_string(shown.reversible), to_string(now.reversible));
  return std::nullopt;
}

bool ComparedSteps::same_before(const Step& then, const Step& now) {
  const auto [at, is_new] = same_before_.try_emplace({&then, &now}, false);
  if (is_new) at->second = same_state(then.before, now.before);
  return at->second;
}

const std::optional<std::string>& ComparedSteps::why_another(const Step& then, const Step& now) {
  const auto [at, is_new] = why_another_.try_emplace({&then, &now});
  if (is_new) at->second = why_another_step(then, now);
  return at->second;
}

const std::optional<std::string>& ComparedSteps::why_more_than(const Step& then, const Step& now) {
  const auto [at, is_new] = why_more_.try_emplace({&then, &now});
  if (is_new) at->second = why_more_than_step(then, now);
  return at->second;
}

}  // namespace sparkplan
