#include "engine/load/schema_words.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <regex>

#include "engine/core/json.h"
#include "engine/core/tree.h"
#include "engine/load/load.h"
#include "engine/load/schema_kinds.h"

namespace sparkplan {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestForPatterns = 1024;
constexpr std::string_view kDefinitionsPath = "#/definitions/";

// The current value's name and the place of its key, for findings about length or kind.
struct Spot {
  std::string pointer;
  std::string name;  // `"mtu"`, `an entry of "subnets"`, `the file`
  SourceRange key;
};

std::string word_of(const json& schema, const char* key) {
  const auto found = schema.find(key);
  return found != schema.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t integer_of(const Value& value) {
  const auto* integer = value.integer();
  return integer != nullptr ? *integer : 0;
}

std::string join_words(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

/// The key for which people write `word` in other tools' files; empty without one. Such words may be spelled like an
/// unrelated key.
std::string usual_name_of(const std::string& word) {
  static const std::map<std::string_view, std::string_view> names = {
      {"host", "address"},          {"hostname", "address"}, {"ip", "address"},
      {"addr", "address"},          {"env", "profile_env"},  {"environment", "profile_env"},
      {"variables", "profile_env"}, {"mounts", "storage"},   {"volumes", "storage"},
      {"services", "units"},        {"systemd", "units"},    {"modules", "kernel_modules"},
      {"ulimits", "limits"},        {"kernel", "sysctl"},    {"network", "fabric"}};
  const auto found = names.find(word);
  return found == names.end() ? "" : std::string(found->second);
}

class Walker {
 public:
  Walker(const json& root, Findings& findings) : root_(root), findings_(findings) {}

  std::vector<std::string> take_broken() { return std::move(broken_); }

  void check(const json& schema, const Value& value, const Spot& spot) {
    if (!schema.is_object()) {
      if (schema == json(false)) fail(spot, value.where, "schema.not-allowed", spot.name + " is not allowed here");
      return;
    }
    if (const std::string reference = word_of(schema, "$ref"); reference.starts_with(kDefinitionsPath)) {
      return check(root_.at("definitions").at(reference.substr(kDefinitionsPath.size())), value, spot);
    }
    for (const char* const word : {"anyOf", "oneOf"}) {
      if (const auto branches = schema.find(word); branches != schema.end()) check_branches(*branches, value, spot);
    }
    if (const auto all = schema.find("allOf"); all != schema.end()) {
      for (const auto& part : *all) check(part, value, spot);
    }
    if (!kind_fits(allowed_kinds(schema), value)) return wrong_kind(allowed_kinds(schema), value, spot);
    if (!check_enum(schema, value, spot)) return;
    if (value.is_string()) check_text(schema, text_of(&value), value.where, spot, "schema.pattern");
    if (value.integer() != nullptr || value.real() != nullptr) check_range(schema, value, spot);
    if (value.is_list()) check_list(schema, value, spot);
    if (value.is_map()) check_map(schema, value, spot);
  }

 private:
  void fail(const Spot& spot, SourceRange where, std::string code, std::string message, std::string hint = {},
            std::vector<DiagnosticNote> notes = {}) {
    if (!where.known()) where = spot.key;
    findings_.error(where, std::move(code), std::move(message), std::move(hint), std::move(notes));
    broken_.push_back(spot.pointer);
  }

  const json& resolved(const json& schema) const {
    const std::string reference = schema.is_object() ? word_of(schema, "$ref") : std::string();
    if (!reference.starts_with(kDefinitionsPath)) return schema;
    return resolved(root_.at("definitions").at(reference.substr(kDefinitionsPath.size())));
  }

  bool satisfies(const json& schema, const Value& value, const Spot& spot) const {
    Findings unseen;
    Walker walker(root_, unseen);
    walker.check(schema, value, spot);
    return unseen.all().empty();
  }

  // A branch of the value's own kind is probably the intended one. Its findings are more precise than "none fits".
  void check_branches(const json& branches, const Value& value, const Spot& spot) {
    std::vector<const json*> of_its_kind;
    std::vector<std::string> kinds;
    for (const auto& branch : branches) {
      const auto allowed = allowed_kinds(resolved(branch));
      kinds.insert(kinds.end(), allowed.begin(), allowed.end());
      if (kind_fits(allowed, value)) of_its_kind.push_back(&branch);
    }
    if (of_its_kind.empty()) return wrong_kind(kinds, value, spot);
    for (const auto* branch : of_its_kind) {
      if (of_its_kind.size() > 1 && satisfies(*branch, value, spot)) return;
    }
    check(*of_its_kind.front(), value, spot);
  }

  void wrong_kind(const std::vector<std::string>& kinds, const Value& value, const Spot& spot) {
    if (const auto meant = other_spelling_of_boolean(value); meant && has_kind(kinds, "boolean")) {
      return fail(spot, value.where, "schema.boolean", in_quotes(text_of(&value)) + " is text, not true or false",
                  *meant ? "write true" : "write false");
    }
    std::vector<std::string> expected;
    for (const auto& kind : kinds) {
      if (kind != "null") expected.push_back(kind_in_words(kind));
    }
    if (expected.empty()) expected.emplace_back("left out");
    fail(spot, value.where, "schema.wrong-type",
         spot.name + " has to be " + join_words(expected) + ", not " + found_in_words(value),
         hint_for_kind(kinds, value));
  }

  bool check_enum(const json& schema, const Value& value, const Spot& spot) {
    json allowed = json::array();
    if (const auto list = schema.find("enum"); list != schema.end()) allowed = *list;
    if (const auto single = schema.find("const"); single != schema.end()) allowed = json::array({*single});
    if (allowed.empty()) return true;
    std::vector<std::string> words;
    for (const auto& item : allowed) {
      const auto candidate = parse_plain_json(item.dump());
      if (candidate && *candidate == value) return true;
      if (!item.is_null()) words.push_back(item.is_string() ? item.get<std::string>() : item.dump());
    }
    const auto* text = value.string();
    std::string hint = "allowed: " + join(words, ", ");
    if (spot.pointer == "/version") hint = "this sparkplan reads version " + join(words, ", ") + " of the file format";
    if (text != nullptr && std::find(words.begin(), words.end(), *text) != words.end()) {
      hint = "leave out the quotes";
    } else if (text != nullptr && text->size() <= 64) {
      if (const auto near = nearest(*text, words); near && words.size() > 1) {
        hint = "did you mean \"" + *near + "\"? " + hint;
      }
    }
    const std::string shown = text != nullptr ? in_quotes(*text) : found_in_words(value);
    fail(spot, value.where, "schema.enum", shown + " is not an allowed value of " + spot.name, hint);
    return false;
  }

  void check_text(const json& schema, const std::string& text, SourceRange where, const Spot& spot,
                  const std::string& code) {
    const auto length = static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    const std::size_t longest = schema.value("maxLength", std::string::npos);
    if (text.empty() && schema.value("minLength", 0) > 0) {
      return fail(spot, where, "schema.empty", spot.name + " is empty", word_of(schema, "description"));
    }
    const std::string title = word_of(schema, "title");
    if (const auto pattern = word_of(schema, "pattern"); !pattern.empty() && !matches(pattern, text)) {
      const auto colon = title.find(": ");
      if (title.empty())
        return fail(spot, where, code, in_quotes(text) + " does not fit " + spot.name, word_of(schema, "description"));
      return fail(spot, where, code, in_quotes(text) + " is not " + title.substr(0, colon),
                  colon == std::string::npos ? word_of(schema, "description") : title.substr(colon + 2));
    }
    if (length > longest) {
      fail(spot, where, code, in_quotes(text) + " is longer than " + std::to_string(longest) + " characters");
    } else if (schema.contains("pattern") && text.size() > kLongestForPatterns) {
      // No pattern has seen its end, which may have a line break.
      fail(spot, where, code, in_quotes(text) + " is longer than " + std::to_string(kLongestForPatterns) + " bytes");
    }
  }

  bool matches(const std::string& pattern, const std::string& text) {
    auto found = patterns_.find(pattern);
    if (found == patterns_.end()) found = patterns_.emplace(pattern, std::regex(pattern)).first;
    return std::regex_search(std::string(cut_for_patterns(text)), found->second);
  }

  void check_range(const json& schema, const Value& value, const Spot& spot) {
    const auto* real = value.real();
    const double number = real != nullptr ? *real : static_cast<double>(integer_of(value));
    const auto least = schema.find("minimum");
    const auto most = schema.find("maximum");
    const bool too_small = least != schema.end() && number < least->get<double>();
    const bool too_large = most != schema.end() && number > most->get<double>();
    if (!too_small && !too_large) return;
    std::string range;
    if (least != schema.end() && most != schema.end()) {
      range = least->dump() + " to " + most->dump();
    } else {
      range = least != schema.end() ? least->dump() + " or more" : most->dump() + " or less";
    }
    fail(spot, value.where, "schema.out-of-range", spot.name + " has to be " + range + ", not " + display(value));
  }

  void check_list(const json& schema, const Value& value, const Spot& spot) {
    const auto& items = items_of(&value);
    const std::size_t least = schema.value("minItems", std::size_t{0});
    const std::size_t most = schema.value("maxItems", std::string::npos);
    const SourceRange where = spot.key.known() ? spot.key : value.where;
    if (items.empty() && least > 0) {
      fail(spot, where, "schema.empty-list", spot.name + " is an empty list", "give it at least one entry");
    } else if (items.size() < least || items.size() > most) {
      const std::string count = least == most          ? std::to_string(least)
                                : items.size() < least ? "at least " + std::to_string(least)
                                                       : "at most " + std::to_string(most);
      fail(spot, where, "schema.list-length",
           spot.name + " must have " + count + " entries, not " + std::to_string(items.size()));
    }
    if (schema.value("uniqueItems", false)) check_unique(items, spot);
    const auto item_schema = schema.find("items");
    if (item_schema == schema.end() || item_schema->is_array()) return;
    const std::string name = spot.name.front() == '"' ? "an entry of " + spot.name : spot.name;
    for (std::size_t i = 0; i < items.size(); ++i) {
      check(*item_schema, items[i], {spot.pointer + "/" + std::to_string(i), name, {}});
    }
  }

  void check_unique(const Value::List& items, const Spot& spot) {
    std::map<std::string, SourceRange> seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto [first, is_new] = seen.try_emplace(canonical_json(items[i]), items[i].where);
      if (is_new) continue;
      fail({spot.pointer + "/" + std::to_string(i), spot.name, {}}, items[i].where, "schema.duplicate-entry",
           in_quotes(display(items[i])) + " is listed twice in " + spot.name, "keep one of the two",
           {{"first listed here", first->second}});
    }
  }

  void check_map(const json& schema, const Value& value, const Spot& spot) {
    static const json nothing = json::object();
    const json& properties = schema.contains("properties") ? schema.at("properties") : nothing;
    if (const auto required = schema.find("required"); required != schema.end()) {
      for (const auto& key : *required) check_required(key.get<std::string>(), properties, value, spot);
    }
    const auto others = schema.find("additionalProperties");
    for (const auto& entry : entries_of(&value)) {
      const Spot below{spot.pointer + "/" + entry.key, in_quotes(entry.key), entry.key_where};
      if (const auto names = schema.find("propertyNames"); names != schema.end()) {
        check_text(resolved(*names), entry.key, entry.key_where, below, "schema.name");
      }
      if (const auto property = properties.find(entry.key); property != properties.end()) {
        check(*property, entry.value, below);
      } else if (others != schema.end() && *others == json(false)) {
        // A search for names costs most of the time of a hostile file, and later findings are only counted.
        const bool shown = findings_.all().size() <= kMostFindings;
        const auto meant = shown ? meant_by(entry.key, properties, value) : std::nullopt;
        fail(below, entry.key_where, "schema.unknown-key", "unknown key " + in_quotes(entry.key),
             shown ? hint_for_unknown(entry.key, meant, properties) : "");
        // So later checks do not also report that the key which was meant is missing.
        if (meant && value.find(*meant) == nullptr) broken_.push_back(spot.pointer + "/" + *meant);
      } else if (others != schema.end()) {
        check(*others, entry.value, below);
      }
    }
  }

  void check_required(const std::string& key, const json& properties, const Value& value, const Spot& spot) {
    if (value.find(key) != nullptr) return;
    const auto property = properties.find(key);
    fail(spot, spot.key.known() ? spot.key : value.where, "schema.missing-key",
         "the key \"" + key + "\" is missing" + (spot.key.known() ? " in " + spot.name : ""),
         property == properties.end() ? "" : hint_to_add(key, *property));
  }

  static std::string hint_to_add(const std::string& key, const json& property) {
    const auto allowed = property.find("enum");
    if (allowed != property.end() && allowed->size() == 1)
      return "add \"" + key + ": " + allowed->front().dump() + "\"";
    const std::string description = word_of(property, "description");
    return "add it" + (description.empty() ? "" : ": " + description);
  }

  static std::vector<std::string> names_in(const json& properties) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : properties.items()) names.push_back(name);
    return names;
  }

  static std::optional<std::string> meant_by(const std::string& key, const json& properties, const Value& value) {
    // Beside an address, this is the other key that every node has.
    const bool has_address = value.find("address") != nullptr && value.find("name") == nullptr;
    if (has_address && key == "hostname" && properties.contains("name")) return "name";
    if (std::string usual = usual_name_of(key); properties.contains(usual)) return usual;
    return nearest(key, names_in(properties));
  }

  std::string hint_for_unknown(const std::string& key, const std::optional<std::string>& meant,
                               const json& properties) const {
    // The word may also be right in another place.
    std::string home = home_of(key);
    if (meant) return "did you mean \"" + *meant + "\"?" + (home.empty() ? "" : " " + home);
    if (!home.empty()) return home;
    return "allowed here: " + join(names_in(properties), ", ");
  }

  // Known keys in the wrong place are as common as misspelt ones.
  std::string home_of(const std::string& key) const {
    // A reference, because value() would copy the whole schema for every unknown key.
    static const json nothing = json::object();
    const json& top = root_.contains("properties") ? root_.at("properties") : nothing;
    if (top.contains(key)) return "\"" + key + "\" belongs at the top level of the file";
    const json& definitions = root_.contains("definitions") ? root_.at("definitions") : nothing;
    static const std::array<std::pair<const char*, const char*>, 5> places = {
        std::pair{"node", "a node"}, std::pair{"ssh", "\"ssh\""}, std::pair{"section_fabric", "\"fabric\""},
        std::pair{"node_fabric", "\"fabric\" of a node"}, std::pair{"section_nccl", "\"nccl\""}};
    for (const auto& [definition, place] : places) {
      const auto found = definitions.find(definition);
      if (found != definitions.end() && found->contains("properties") && found->at("properties").contains(key)) {
        return "\"" + key + "\" belongs in " + place;
      }
    }
    return "";
  }

  const json& root_;
  Findings& findings_;
  std::vector<std::string> broken_;
  std::map<std::string, std::regex> patterns_;
};

}  // namespace

std::vector<std::string> describe_schema_errors(const json& schema, const Value& root, Findings& findings) {
  Walker walker(schema, findings);
  walker.check(schema, root, {"", "the file", {}});
  return walker.take_broken();
}

std::string_view cut_for_patterns(std::string_view text) {
  if (text.size() <= kLongestForPatterns) return text;
  std::size_t end = kLongestForPatterns;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace sparkplan
