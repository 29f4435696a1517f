#include "engine/load/schema.h"

// Without this, valijson calls abort() for an unusable schema.
#define VALIJSON_USE_EXCEPTIONS 1

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "engine/core/tree.h"
#include "engine/load/load.h"
#include "engine/load/schema_words.h"

extern "C" const char sparkplan_cluster_frame[];  // NOLINT(modernize-avoid-c-arrays): made by spark_embed()

namespace sparkplan {
namespace {

constexpr std::string_view kDefinitions = "#/definitions/";

// A type's schema refers to its own definitions. They move to the root, under names that no other type has.
template <class Json>
void rename_references(Json& node, const std::set<std::string>& own, const std::string& prefix) {
  if (node.is_object()) {
    for (auto& [key, value] : node.items()) {
      if (key == "$ref" && value.is_string()) {
        const std::string target = value.template get<std::string>();
        if (!target.starts_with(kDefinitions)) continue;
        const std::string name = target.substr(kDefinitions.size());
        if (own.contains(name)) value = std::string(kDefinitions) + prefix + name;
      } else {
        rename_references(value, own, prefix);
      }
    }
  } else if (node.is_array()) {
    for (auto& item : node) rename_references(item, own, prefix);
  }
}

template <class Json>
void adopt_type_schema(Json& schema, const TypeInfo& info) {
  Json body = Json::parse(info.schema_json);
  if (!body.is_object()) return;
  body.erase("$schema");
  body.erase("$id");
  const std::string name = "section_" + info.section;
  std::set<std::string> own;
  if (const auto definitions = body.find("definitions"); definitions != body.end()) {
    for (const auto& [key, unused] : definitions->items()) own.insert(key);
  }
  rename_references(body, own, name + "_");
  for (const auto& key : own) schema["definitions"][name + "_" + key] = body["definitions"][key];
  body.erase("definitions");
  // A section that the frame does not list is allowed wherever the other sections are.
  const Json section = {{"description", body.value("description", "")},
                        {"anyOf", {{{"$ref", std::string(kDefinitions) + name}}, {{"type", "null"}}}}};
  for (Json* properties : {&schema["properties"], &schema["definitions"]["node"]["properties"]}) {
    if (!properties->contains(info.section)) (*properties)[info.section] = section;
  }
  schema["definitions"][name] = std::move(body);
}

// The frame refers to the types' schemas for their sections. If a type is not linked in, its section accepts anything.
// A dangling reference would make the whole schema unusable.
template <class Json>
void allow_sections_without_type(Json& schema) {
  Json& definitions = schema["definitions"];
  for (const auto& [section, rule] : schema["properties"].items()) {
    const std::string name = "section_" + section;
    const bool is_reference =
        rule.contains("anyOf") && rule["anyOf"][0].value("$ref", "") == std::string(kDefinitions) + name;
    if (is_reference && !definitions.contains(name)) definitions[name] = Json::object();
  }
}

// If several types share one section, the first type's schema is used.
template <class Json>
Json compose_schema(const Registry& registry) {
  Json schema = Json::parse(static_cast<const char*>(sparkplan_cluster_frame));
  std::set<std::string> done;
  for (const auto& type : registry.types()) {
    const TypeInfo& info = type->info();
    if (info.schema_json.empty() || !done.insert(info.section).second) continue;
    adopt_type_schema(schema, info);
  }
  allow_sections_without_type(schema);
  return schema;
}

/// True if patterns and lengths are compared with the beginning of a text only.
bool has_cut_text(const Value& value) {
  if (const auto* text = value.string()) return cut_for_patterns(*text).size() < text->size();
  if (const auto* items = value.list_items()) return std::any_of(items->begin(), items->end(), has_cut_text);
  const auto& entries = entries_of(&value);
  return std::any_of(entries.begin(), entries.end(), [](const MapEntry& entry) { return has_cut_text(entry.value); });
}

nlohmann::json to_json(const Value& value) {
  if (const auto* boolean = value.boolean()) return *boolean;
  if (const auto* integer = value.integer()) return *integer;
  if (const auto* real = value.real()) return *real;
  if (const auto* text = value.string()) return std::string(cut_for_patterns(*text));
  if (const auto* items = value.list_items()) {
    auto list = nlohmann::json::array();
    for (const auto& item : *items) list.push_back(to_json(item));
    return list;
  }
  if (const auto* entries = value.entries()) {
    auto map = nlohmann::json::object();
    for (const auto& entry : *entries) map[entry.key] = to_json(entry.value);
    return map;
  }
  return nullptr;
}

bool accepts(const nlohmann::json& schema_text, const Value& root) {
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_text), schema);
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  const nlohmann::json document = to_json(root);
  return validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(document), nullptr);
}

}  // namespace

bool SchemaOutcome::is_broken(std::string_view pointer) const {
  if (std::binary_search(broken.begin(), broken.end(), pointer)) return true;
  const std::string below = std::string(pointer) + "/";
  const auto found = std::lower_bound(broken.begin(), broken.end(), below);
  return found != broken.end() && found->starts_with(below);
}

SchemaOutcome check_schema(const Value& root, const Registry& registry, Findings& findings) {
  SchemaOutcome outcome;
  try {
    const auto schema = compose_schema<nlohmann::json>(registry);
    const bool accepted = accepts(schema, root);
    if (accepted && !has_cut_text(root)) return SchemaOutcome{true, {}};
    outcome.broken = describe_schema_errors(schema, root, findings);
    outcome.valid = accepted && outcome.broken.empty();
    if (outcome.valid) return outcome;
    if (outcome.broken.empty()) {
      findings.error(root.where.known() ? root.where : SourceRange{1, 1, 2}, "schema.invalid",
                     "the file does not match the schema of cluster.yaml",
                     "compare it with the output of sparkplan schema in an editor");
      outcome.broken = {""};
    }
    std::sort(outcome.broken.begin(), outcome.broken.end());
  } catch (const std::exception& failure) {
    findings.error({1, 1, 2}, "schema.broken", "the built-in schema cannot be used: " + printable(failure.what()),
                   "this is a bug in sparkplan: please report it");
    outcome = {false, {""}};
  }
  return outcome;
}

std::string cluster_schema(const Registry& registry) {
  try {
    return compose_schema<nlohmann::ordered_json>(registry).dump(2) + "\n";
  } catch (const std::exception&) {
    return {};  // A type's schema is invalid JSON; tests of the registry find this first.
  }
}

}  // namespace sparkplan
