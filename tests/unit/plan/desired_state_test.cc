#include "engine/plan/desired_state.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// Makes one resource per key of its section. A value "bad" makes a finding. The value "after TYPE/NAME" makes a
/// resource that waits.
class SectionType : public ResourceType {
 public:
  SectionType(std::string name, std::string section, Phase phase = Phase::kFiles)
      : ResourceType({std::move(name), std::move(section), phase, "", "", {}}) {}
  Desired desired(const ClusterView& view, const Value& section, const Facts& own) const override {
    Desired made;
    for (const MapEntry& entry : *section.entries()) {
      Resource resource;
      resource.id = {info_.name, entry.key};
      resource.desired = Value::map({{"value", entry.value}, {"node", view.self.name.str() + "@" + own.kernel}});
      if (const auto* text = entry.value.string(); text != nullptr && text->starts_with("after ")) {
        resource.after = {*ResourceId::parse(text->substr(6))};
      }
      made.resources.push_back(std::move(resource));
      if (entry.value == Value("dangerous")) made.refused = Error{ErrorCode::kRefused, entry.key, {}, {}, {}};
      if (entry.value != Value("bad")) continue;
      Diagnostic finding;
      finding.code = "test.bad";
      finding.where = {4, 2, 5};
      made.diagnostics.push_back(finding);
    }
    return made;
  }
  ObservedType observe(const ObserveRequest&, const NodeReader&) const override { return {}; }
  std::vector<Step> steps(const StepsInput&) const override { return {}; }
};

Registry registry() {
  std::vector<std::unique_ptr<const ResourceType>> types;
  types.push_back(std::make_unique<SectionType>("alpha", "storage"));
  types.push_back(std::make_unique<SectionType>("beta", "storage"));
  types.push_back(std::make_unique<SectionType>("sysctl", "sysctl"));
  return Registry(std::move(types));
}

Value at(Value value, SourceRange where) {
  value.where = where;
  return value;
}

Cluster cluster_of(std::map<std::string, Value> sections, int nodes = 1) {
  Cluster cluster;
  cluster.name = "lab";
  cluster.file = "cluster.yaml";
  for (int i = 1; i <= nodes; ++i) {
    NodeSpec node{*NodeName::parse("spark-0" + std::to_string(i)),
                  i,
                  "",
                  {},
                  TransportKind::kSsh,
                  {},
                  false,
                  {},
                  sections,
                  {20 + i, 5, 9}};
    cluster.nodes.push_back(node);
  }
  return cluster;
}

TEST_CASE("every type compiles its section, and the resources are sorted by id") {
  const Cluster cluster =
      cluster_of({{"sysctl", Value::map({{"b", 1}, {"a", 2}})}, {"storage", Value::map({{"x", 3}})}});
  Facts facts;
  facts.kernel = "6.8";
  const Desired desired = desired_state({cluster, cluster.nodes[0], {}}, facts, registry());
  std::string ids;
  for (const Resource& resource : desired.resources) ids += resource.id.str() + " ";
  CHECK(ids == "alpha/x beta/x sysctl/a sysctl/b ");
  CHECK(desired.resources[0].desired.text_or("node", "") == "spark-01@6.8");
}

TEST_CASE("a finding from facts names the node and the file") {
  const Cluster cluster = cluster_of({{"sysctl", Value::map({{"a", "bad"}})}});
  const Desired desired = desired_state({cluster, cluster.nodes[0], {}}, {}, registry());
  REQUIRE(desired.diagnostics.size() == 1);
  CHECK(desired.diagnostics[0].node == "spark-01");
  CHECK(desired.diagnostics[0].file == "cluster.yaml");
}

TEST_CASE("the first refusal by a type refuses the node") {
  const Cluster cluster = cluster_of(
      {{"storage", Value::map({{"x", "dangerous"}})}, {"sysctl", Value::map({{"y", "dangerous"}, {"z", 1}})}});
  const Desired desired = desired_state({cluster, cluster.nodes[0], {}}, {}, registry());
  REQUIRE(desired.refused);
  CHECK(desired.refused->message == "x");
}

TEST_CASE("sections with a type are supported, and so are thresholds for verify") {
  const Cluster cluster = cluster_of({{"sysctl", Value::map()}, {"storage", Value::map()}, {"verify", Value::map()}});
  CHECK(unsupported_sections(cluster, registry()).empty());
}

TEST_CASE("a section without a type is refused at its position, once for all nodes that inherit it") {
  const Cluster cluster = cluster_of({{"limits", at(Value::list({}), {9, 3, 7})}}, 8);
  const std::vector<Diagnostic> findings = unsupported_sections(cluster, registry());
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::kError);
  CHECK(findings[0].code == "section.not-in-this-version");
  CHECK(findings[0].message == "`limits` is not in this version of sparkplan");
  CHECK(findings[0].file == "cluster.yaml");
  CHECK(findings[0].where == SourceRange{9, 3, 7});
}

TEST_CASE("a section declared by two nodes is refused at both positions, in the file's order") {
  Cluster cluster = cluster_of({}, 2);
  cluster.nodes[0].sections["limits"] = at(Value::list({}), {30, 3, 7});
  cluster.nodes[1].sections["firewall"] = at(Value::map(), {12, 3, 7});
  const std::vector<Diagnostic> findings = unsupported_sections(cluster, registry());
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].where.line == 12);
  CHECK(findings[1].where.line == 30);
}

TEST_CASE("a dependency on a declared resource of a later phase is kept, and on an undeclared one dropped") {
  std::vector<std::unique_ptr<const ResourceType>> types;
  types.push_back(std::make_unique<SectionType>("mount", "storage", Phase::kStorage));
  types.push_back(std::make_unique<SectionType>("link", "fabric", Phase::kNetwork));
  const Registry phases(std::move(types));
  const Cluster cluster =
      cluster_of({{"fabric", Value::map({{"a", 1}})},
                  {"storage", Value::map({{"x", "after link/a"}, {"y", "after link/b"}, {"z", "after mount/none"}})}});
  const Desired desired = desired_state({cluster, cluster.nodes[0], {}}, {}, phases);
  std::map<std::string, std::size_t> waits;
  for (const Resource& resource : desired.resources) waits[resource.id.name] = resource.after.size();
  CHECK(waits == std::map<std::string, std::size_t>{{"a", 0}, {"x", 1}, {"y", 0}, {"z", 1}});
}

TEST_CASE("a wait ends for what no step makes, and only for that") {
  const auto unknown = [](const std::string& producer) { return Value(Value::Unknown{"known later", producer}); };
  const auto producer_of = [](const Value& value) {
    return value.unknown() == nullptr ? "" : value.unknown()->producer;
  };
  std::vector<Resource> resources(2);
  resources[0].desired =
      Value::map({{"a", unknown("n1/key/x")}, {"b", Value::list({"text", unknown("n2/key/x")})}, {"c", unknown("")}});
  resources[1].desired = unknown("n1/key/x");
  const auto ended = end_waits(resources, [](const std::string& producer) { return producer == "n1/key/x"; });
  CHECK(ended == std::set<std::string>{"n1/key/x"});
  const Value& map = resources[0].desired;
  REQUIRE(map.find("a")->is_unknown());
  CHECK(map.find("a")->unknown()->reason == "known later");
  CHECK(producer_of(*map.find("a")).empty());
  CHECK(map.find("b")->list_items()->at(0) == Value("text"));
  CHECK(producer_of(map.find("b")->list_items()->at(1)) == "n2/key/x");
  CHECK(producer_of(resources[1].desired).empty());
  CHECK(end_waits(resources, [](const std::string& producer) { return producer == "n1/key/x"; }).empty());
}

TEST_CASE("a section without a position is refused at its node's position") {
  const Cluster cluster = cluster_of({{"limits", Value::map()}});
  CHECK(unsupported_sections(cluster, registry())[0].where.line == 21);
}

}  // namespace
}  // namespace sparkplan
