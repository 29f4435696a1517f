// From applied resources back to a section that asks for them: `init` writes its files this way.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core/json.h"
#include "tests/support/case_folder.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

std::map<std::string, NodeExports> exports_of(const World& world) {
  auto exports = world.exports;
  const auto self = std::find_if(world.cluster.nodes.begin(), world.cluster.nodes.end(),
                                 [&](const NodeSpec& node) { return node.name.str() == world.self; });
  for (const auto& [key, section] : self->sections) {
    for (const ResourceType* type : builtin_registry().of_section(key)) {
      auto exported = type->exports(section, world.node);
      if (exported && !exported->is_null()) exports[world.self][type->info().name] = *std::move(exported);
    }
  }
  return exports;
}

/// The resources that the case's file asks for on its node.
std::map<std::string, std::vector<Resource>> desired_by_type(const World& world) {
  std::map<std::string, std::vector<Resource>> by_type;
  for (const Resource& resource : look_at(world, builtin_registry()).desired) {
    if (!resource.desired.contains_unknown()) by_type[resource.id.type].push_back(resource);
  }
  return by_type;
}

std::map<std::string, std::string> values_by_name(const std::vector<Resource>& resources) {
  std::map<std::string, std::string> values;
  for (const Resource& resource : resources) values[resource.id.name] = encode_json(resource.desired);
  return values;
}

std::map<std::string, Value> applied_of(const std::vector<Resource>& resources) {
  std::map<std::string, Value> applied;
  for (const Resource& resource : resources) applied[resource.id.name] = resource.desired;
  return applied;
}

/// A type without its own list entries relies on the entries from the other types of its section.
Value with_what_others_say(const Value& section, const ResourceType& type, const ClusterView& view,
                           const Facts& facts) {
  if (!section.is_list() || !section.list_items()->empty()) return section;
  const std::string& key = type.info().section;
  for (const ResourceType* other : builtin_registry().of_section(key)) {
    if (other == &type) continue;
    const auto resources = other->desired(view, view.self.sections.at(key), facts).resources;
    if (const auto part = other->section_from(view, applied_of(resources), facts)) return *part;
  }
  return section;
}

}  // namespace

TEST_CASE("a section restored from applied resources gives the same resources again", "[contract]") {
  std::set<std::string> with_a_way_back;
  for (const CaseFolder& folder : all_cases(builtin_registry())) {
    const Result<World> opened = open_case(folder, builtin_registry());
    REQUIRE(opened);
    const World& world = *opened;
    for (const auto& [type, resources] : desired_by_type(world)) {
      INFO(folder.title() << ": " << type);
      const ResourceType& type_in_question = *builtin_registry().find(type);
      Cluster cluster = world.cluster;
      const auto self = std::find_if(cluster.nodes.begin(), cluster.nodes.end(),
                                     [&](const NodeSpec& node) { return node.name.str() == world.self; });
      const auto exports = exports_of(world);
      auto section = type_in_question.section_from({cluster, *self, exports}, applied_of(resources), world.facts);
      if (!section) continue;
      with_a_way_back.insert(type);
      section = with_what_others_say(*section, type_in_question, {cluster, *self, exports}, world.facts);
      INFO(encode_json(*section));
      const std::string key = type_in_question.info().section;
      // The load computes the fabric's addresses: engine/init's tests cover this way.
      if (key != "fabric") self->sections[key] = *section;
      CHECK(type_in_question.validate(*section).empty());
      const Desired again = type_in_question.desired({cluster, *self, exports}, self->sections.at(key), world.facts);
      CHECK(values_by_name(again.resources) == values_by_name(resources));
    }
  }
  CHECK(with_a_way_back.size() >= 12);
}

}  // namespace sparkplan::test
