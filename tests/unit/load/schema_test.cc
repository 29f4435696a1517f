#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/load/load.h"
#include "engine/load/schema.h"
#include "engine/load/schema_words.h"
#include "engine/load/yaml_document.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

using nlohmann::json;

/// A type that has only a schema.
class SchemaOnly : public ResourceType {
 public:
  SchemaOnly(std::string section, std::string schema) {
    info_.name = "a_" + section;
    info_.section = std::move(section);
    info_.schema_json = std::move(schema);
  }
  Desired desired(const ClusterView&, const Value&, const Facts&) const override { return {}; }
  ObservedType observe(const ObserveRequest&, const NodeReader&) const override { return {}; }
  std::vector<Step> steps(const StepsInput&) const override { return {}; }
};

Registry registry_with(std::string section, std::string schema) {
  std::vector<std::unique_ptr<const ResourceType>> types;
  types.push_back(std::make_unique<SchemaOnly>(std::move(section), std::move(schema)));
  return Registry(std::move(types));
}

void check_descriptions(const json& schema, const std::string& path, int& count) {
  if (schema.is_array()) {
    for (const auto& item : schema) check_descriptions(item, path, count);
  }
  if (!schema.is_object()) return;
  for (const auto& [key, value] : schema.items()) {
    if (key == "properties") {
      for (const auto& [name, property] : value.items()) {
        INFO(path + "/" + name);
        CHECK(property.contains("description"));
        ++count;
        check_descriptions(property, path + "/" + name, count);
      }
    } else {
      check_descriptions(value, path + "/" + key, count);
    }
  }
}

// An object schema with fixed keys must not accept others, or it would accept every typing error.
void check_closed(const json& schema, const std::string& path) {
  if (schema.is_object()) {
    INFO(path);
    if (schema.contains("properties") && schema.at("type") == "object") CHECK(schema.contains("additionalProperties"));
    for (const auto& [key, value] : schema.items()) check_closed(value, path + "/" + key);
  } else if (schema.is_array()) {
    for (const auto& item : schema) check_closed(item, path);
  }
}

}  // namespace

TEST_CASE("every property of the schema is described and every map is closed") {
  const json schema = json::parse(cluster_schema(builtin_registry()));
  int count = 0;
  check_descriptions(schema, "", count);
  CHECK(count > 80);
  check_closed(schema, "");
}

TEST_CASE("schemas/cluster.schema.json matches the program's own schema") {
  std::ifstream file(test::source_folder() + "/schemas/cluster.schema.json");
  // To update the file: sparkplan schema > schemas/cluster.schema.json
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == cluster_schema(builtin_registry()));
}

TEST_CASE("a section without a type accepts any value, and all other sections are checked") {
  const Registry nothing({});
  CHECK(load_cluster("version: 1\nname: a\nunits: 3\nnodes: [{name: a, address: b}]\n", "f", nothing).cluster);
  CHECK_FALSE(load_cluster("version: 1\nname: a\nverify: 3\nnodes: [{name: a, address: b}]\n", "f", nothing).cluster);
}

TEST_CASE("patterns are matched against short text only") {
  CHECK(cut_for_patterns(std::string(5000, 'a')).size() == 1024);
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "日";
  CHECK(cut_for_patterns(wide).size() == 1023);
  const std::string text = "version: 1\nname: " + std::string(300'000, 'a') + "\nnodes: [{name: a, address: b}]\n";
  const auto loaded = load_cluster(text, "f", builtin_registry());
  REQUIRE(loaded.diagnostics.size() == 1);
  CHECK(loaded.diagnostics.front().code == "schema.pattern");
}

TEST_CASE("a text with a pattern that is longer than patterns are matched is refused, and any other text is not") {
  std::string wide;
  for (int i = 0; i < 256; ++i) wide += "\U0001F5A5";  // 1024 bytes.
  const auto findings_of = [](const std::string& sections) {
    std::vector<std::string> findings;
    const std::string text = "version: 1\nname: a\n" + sections + "nodes: [{name: a, address: b}]\n";
    for (const auto& one : load_cluster(text, "f", builtin_registry()).diagnostics) {
      findings.push_back(one.code + one.message.substr(one.message.rfind('"') + 1));
    }
    return findings;
  };
  const std::vector<std::string> refused{"schema.pattern is longer than 1024 bytes"};
  CHECK(findings_of("kernel_modules: [{name: m, options: \"queue_depth=" + wide.substr(4) +
                    "\\ninstall m /bin/sh\"}]\n") == refused);
  CHECK(findings_of("files: [{path: \"/" + wide + "\\n\", content: a}]\n") == refused);
  CHECK(findings_of("files: [{path: \"/" + wide.substr(4) + "\", content: a}]\n").empty());
  CHECK(findings_of("files: [{path: /etc/a, content: \"" + std::string(100'000, 'a') + "\"}]\n").empty());
}

TEST_CASE("a type's schema replaces its section's schema, and keeps its own definitions") {
  const Registry registry =
      registry_with("files", R"({"$schema": "x", "type": "object", "properties": {"a": {"$ref": "#/definitions/b"}},
                  "definitions": {"b": {"type": "integer"}}})");
  const json schema = json::parse(cluster_schema(registry));
  CHECK(schema.at("definitions").at("section_files") ==
        json::parse(R"({"type": "object", "properties": {"a": {"$ref": "#/definitions/section_files_b"}}})"));
  CHECK(schema.at("definitions").at("section_files_b") == json::parse(R"({"type": "integer"})"));
  const auto loaded =
      load_cluster("version: 1\nname: a\nfiles: {a: x}\nnodes: [{name: a, address: b}]\n", "f", registry);
  REQUIRE(loaded.diagnostics.size() == 1);
  CHECK(loaded.diagnostics.front().message == "\"a\" has to be a whole number, not the text \"x\"");
}

TEST_CASE("hostname beside an address means the name of the node, and alone its address") {
  const auto hints_of = [](const std::string& node) {
    std::string hints;
    for (const auto& one :
         load_cluster("version: 1\nname: a\nnodes: [{" + node + "}]\n", "f", builtin_registry()).diagnostics) {
      if (one.code == "schema.unknown-key") hints += one.hint;
    }
    return hints;
  };
  CHECK(hints_of("hostname: n1, address: 10.0.0.1") == "did you mean \"name\"?");
  CHECK(hints_of("hostname: n1.lab, name: n1") == "did you mean \"address\"?");
}

TEST_CASE("a violation reported only by the validator gives a finding") {
  const Registry registry = registry_with("files", R"({"not": {"type": "array"}})");
  const auto loaded = load_cluster("version: 1\nname: a\nfiles: [a]\nnodes: [{name: a, address: b}]\n", "f", registry);
  REQUIRE(loaded.diagnostics.size() == 1);
  CHECK(loaded.diagnostics.front().code == "schema.invalid");
}

TEST_CASE("an invalid schema of a type is reported as an internal error") {
  for (const char* const broken : {"{", R"({"pattern": "("})", R"({"$ref": "#/definitions/none"})"}) {
    const auto loaded = load_cluster("version: 1\nname: a\nfiles: a\nnodes: [{name: a, address: b}]\n", "f",
                                     registry_with("files", broken));
    REQUIRE(loaded.diagnostics.size() == 1);
    CHECK(loaded.diagnostics.front().code == "schema.broken");
  }
}

}  // namespace sparkplan
