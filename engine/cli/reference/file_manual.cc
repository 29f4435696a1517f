#include <algorithm>

#include "engine/cli/reference/reference.h"
#include "engine/cli/reference/roff.h"
#include "engine/core/text.h"
#include "engine/model/cluster.h"

namespace sparkplan {
namespace {

constexpr std::string_view kDefinitions = "#/definitions/";

std::string reference_in(const Value& rule) {
  auto target = rule.text_or("$ref", "");
  if (const auto* either = rule.find("anyOf"); target.empty() && either != nullptr) {
    for (const auto& branch : *either->list_items()) {
      if (target.empty()) target = branch.text_or("$ref", "");
    }
  }
  return target.starts_with(kDefinitions) ? target.substr(kDefinitions.size()) : "";
}

/// Returns the rule itself, or the definition that it refers to.
const Value& resolved(const Value& schema, const Value& rule) {
  const auto name = reference_in(rule);
  return name.empty() ? rule : *schema.find("definitions")->find(name);
}

bool is_listed(const Value* texts, std::string_view text) {
  if (texts == nullptr) return false;
  return std::ranges::any_of(*texts->list_items(), [&](const Value& one) { return *one.string() == text; });
}

bool has_type(const Value& rule, std::string_view type) {
  const auto* types = rule.find("type");
  return types != nullptr && types->is_string() ? *types->string() == type : is_listed(types, type);
}

std::string bounds_of(const Value& rule) {
  const auto* least = rule.find("minimum");
  const auto* most = rule.find("maximum");
  if (least == nullptr || most == nullptr) return "";
  return ", " + display(*least) + " to " + display(*most);
}

/// The allowed values: "one of: sudo, none", "a whole number, 1 to 65535".
std::string kind_of(const Value& rule) {
  if (const auto* allowed = rule.find("enum")) {
    std::vector<std::string> words;
    for (const auto& value : *allowed->list_items()) {
      if (!value.is_null()) words.push_back(display(value));
    }
    return (words.size() == 1 ? "" : "one of: ") + join(words, ", ");
  }
  if (auto title = rule.text_or("title", ""); !title.empty()) return title;
  if (has_type(rule, "string")) return has_type(rule, "integer") ? "a text or a whole number" : "a text";
  if (has_type(rule, "integer")) return "a whole number" + bounds_of(rule);
  if (has_type(rule, "boolean")) return "true or false";
  if (has_type(rule, "array")) {
    const auto* items = rule.find("items");
    return items == nullptr ? "a list" : "a list; each " + kind_of(*items);
  }
  return "a map";
}

class SectionWriter {
 public:
  explicit SectionWriter(const Value& schema) : schema_(schema) {}

  /// All keys below `rule`. Keys of nested maps and lists have their path: "interfaces[].name".
  std::string keys_of(const Value& rule, const std::string& path) const {
    std::string text;
    if (has_type(rule, "array")) {
      const auto* items = rule.find("items");
      return items == nullptr ? "" : keys_of(resolved(schema_, *items), path.empty() ? "" : path + "[]");
    }
    const auto prefix = path.empty() ? path : path + ".";
    if (const auto* properties = rule.find("properties")) {
      for (const auto& [key, value, where] : *properties->entries()) {
        text += entry(prefix + key, value, is_listed(rule.find("required"), key)) + below(value, prefix + key);
      }
    }
    if (const auto* others = rule.find("additionalProperties"); others != nullptr && others->is_map()) {
      text += entry(prefix + "NAME", *others, false);
    }
    return text;
  }

 private:
  std::string entry(const std::string& path, const Value& rule, bool required) const {
    const auto name = reference_in(rule);
    auto text = rule.text_or("description", "");
    if (const auto* value = rule.find("default")) text += " Default: " + display(*value) + ".";
    if (required) text += " Required.";
    // A reference to a section or to ssh is not described here: the page describes those separately.
    const bool elsewhere = name.starts_with("section_") || name == "ssh";
    const auto& body = resolved(schema_, rule);
    if (!elsewhere && !nested(body)) text += (text.empty() ? "" : " ") + ("Value: " + kind_of(body) + ".");
    return roff_entry(roff_text(path), text);
  }

  std::string below(const Value& rule, const std::string& path) const {
    const auto name = reference_in(rule);
    if (name.starts_with("section_") || name == "ssh") return "";
    const auto& body = resolved(schema_, rule);
    return nested(body) ? keys_of(body, path) : "";
  }

  bool nested(const Value& rule) const {
    if (rule.find("properties") != nullptr) return true;
    if (const auto* others = rule.find("additionalProperties")) return others->is_map();
    const auto* items = rule.find("items");
    return items != nullptr && items->is_map() && nested(resolved(schema_, *items));
  }

  const Value& schema_;
};

bool holds_keys(const Value& body) { return has_type(body, "object") || has_type(body, "array"); }

std::string standing_of(const std::string& key, const Registry& registry, bool is_section) {
  if (!is_section || needs_no_type(key) || !registry.of_section(key).empty()) return "";
  return "Not in this version: validate checks it, and plan, apply, drift and status refuse it.";
}

}  // namespace

std::string manual_of_top_keys(const Value& schema) {
  std::string text;
  for (const auto& [key, rule, where] : *schema.find("properties")->entries()) {
    auto about = rule.text_or("description", "");
    if (is_listed(schema.find("required"), key)) about += " Required.";
    const auto& body = resolved(schema, rule);
    if (!holds_keys(body)) about += " Value: " + kind_of(body) + ".";
    text += roff_entry(roff_text(key), about);
  }
  return text;
}

std::string manual_of_sections(const Value& schema, const Registry& registry) {
  std::string text;
  for (const auto& [key, rule, where] : *schema.find("properties")->entries()) {
    const auto& body = resolved(schema, rule);
    if (!holds_keys(body)) continue;
    const bool is_section = reference_in(rule).starts_with("section_");
    std::string about = body.text_or("description", rule.text_or("description", ""));
    if (const auto* items = body.find("items")) {
      about += items->find("title") != nullptr ? " Value: " + kind_of(body) + "." : " A list of records:";
    }
    text += ".SS " + roff_text(key) + "\n" + roff_paragraph(about);
    if (const auto standing = standing_of(key, registry, is_section); !standing.empty()) {
      text += ".PP\n" + roff_paragraph(standing);
    }
    text += SectionWriter(schema).keys_of(body, "");
  }
  return text;
}

}  // namespace sparkplan
