#include "engine/load/schema_kinds.h"

#include <algorithm>
#include <map>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"

namespace sparkplan {
namespace {

using nlohmann::json;

std::string_view json_kind(const Value& value) {
  if (value.is_map()) return "object";
  if (value.is_list()) return "array";
  if (value.is_string()) return "string";
  if (value.boolean() != nullptr) return "boolean";
  if (value.integer() != nullptr) return "integer";
  if (value.real() != nullptr) return "number";
  return "null";
}

bool is_number_text(const std::string& text) {
  return !text.empty() && text.size() < 19 && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::string kind_in_words(std::string_view kind) {
  static const std::map<std::string_view, std::string> words = {
      {"object", "a map"},           {"array", "a list"},    {"string", "text"}, {"boolean", "true or false"},
      {"integer", "a whole number"}, {"number", "a number"}, {"null", "nothing"}};
  const auto found = words.find(kind);
  return found == words.end() ? std::string(kind) : found->second;
}

std::string found_in_words(const Value& value) {
  if (value.is_map() || value.is_list() || value.is_null()) return kind_in_words(json_kind(value));
  if (const auto* text = value.string()) return "the text " + in_quotes(*text);
  return display(value);
}

std::vector<std::string> allowed_kinds(const json& schema) {
  std::vector<std::string> kinds;
  const auto type = schema.find("type");
  if (type == schema.end()) return kinds;
  if (type->is_string()) return {type->get<std::string>()};
  for (const auto& kind : *type) kinds.push_back(kind.get<std::string>());
  return kinds;
}

bool kind_fits(const std::vector<std::string>& kinds, const Value& value) {
  const auto kind = json_kind(value);
  return kinds.empty() || std::any_of(kinds.begin(), kinds.end(), [&](const std::string& allowed) {
           return allowed == kind || (allowed == "number" && kind == "integer");
         });
}

bool has_kind(const std::vector<std::string>& kinds, std::string_view kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::optional<bool> other_spelling_of_boolean(const Value& value) {
  const auto* text = value.string();
  if (text == nullptr || text->size() > 5) return std::nullopt;
  std::string word = *text;
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const std::string_view yes : {"yes", "on", "y", "true"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"no", "off", "n", "false"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

std::string hint_for_kind(const std::vector<std::string>& kinds, const Value& value) {
  if (value.is_null()) return "give it a value, or delete the key";
  if (value.find("secret") != nullptr)
    return "its file is readable by every user: secrets go into profile_env or the content of files";
  const bool scalar = !value.is_map() && !value.is_list();
  if (has_kind(kinds, "string") && scalar) return "put it in quotes: \"" + display(value) + "\"";
  if (has_kind(kinds, "integer") && value.is_string()) {
    return is_number_text(text_of(&value)) ? "leave out the quotes" : "write a number in digits";
  }
  if (has_kind(kinds, "array") && scalar) return "write a list: [" + printable(display(value)).substr(0, 60) + "]";
  if (has_kind(kinds, "array") && value.is_map()) return "begin each entry with \"- \"";
  if (has_kind(kinds, "object") && value.is_list()) return "leave out the \"- \": its keys follow, indented";
  if (has_kind(kinds, "object") && scalar) return "give it keys with values: {KEY: VALUE}";
  return "";
}

}  // namespace sparkplan
