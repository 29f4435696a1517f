// Every example loads, and the build plans all sections that it supports.
#include <filesystem>
#include <set>

#include "engine/load/load.h"
#include "engine/plan/desired_state.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SPARKPLAN_SOURCE_DIR) + "/examples")) {
    if (entry.path().extension() == ".yaml") found.push_back(entry.path());
  }
  return found;
}

LoadedCluster load_example(const std::filesystem::path& path) {
  auto loaded = load_cluster_file(path, builtin_registry());
  REQUIRE(loaded);
  for (const auto& finding : loaded->diagnostics) UNSCOPED_INFO(render(finding, loaded->source));
  REQUIRE_FALSE(has_errors(loaded->diagnostics));
  REQUIRE(loaded->cluster);
  return std::move(*loaded);
}

/// A server with one adapter, not a DGX Spark.
Facts facts_of_a_server() {
  Facts facts;
  facts.product = "Some server";
  LinkFacts link;
  link.name = "ens1f0np0";
  link.port = "p0";
  link.pci = "0000:41:00.0";
  link.rdma_devices = {"mlx5_0"};
  facts.links = {link};
  facts.rdma_devices = {{"mlx5_0", "", 1}};
  return facts;
}

/// A DGX Spark with both of its ports cabled; for a local node a directory.
Facts facts_of(const NodeSpec& node) {
  Facts facts;
  facts.live = node.transport != TransportKind::kLocal;
  if (!facts.live) return facts;
  if (node.name.str().starts_with("server-")) return facts_of_a_server();
  facts.product = "DGX Spark";
  for (const std::string port : {"0", "1"}) {
    for (const std::string domain : {"", "P2"}) {
      LinkFacts link;
      link.name = "en" + (domain.empty() ? "" : domain) + "p1s0f" + port + "np" + port;
      link.port = "p" + port;
      link.pci = (domain.empty() ? "0000:01:00." : "0002:01:00.") + port;
      link.rdma_devices = {"roce" + domain + "p1s0f" + port};
      facts.links.push_back(link);
    }
  }
  return facts;
}

/// Exports of nodes that have only sparkplan's netplan files and write to no volume.
std::map<std::string, NodeExports> exports_of(const Cluster& cluster) {
  const Value nothing = Value::map({{"definitions", Value::List{}}, {"unreadable", Value::List{}}});
  const Value reads = Value::map({{"writes", Value::List{}}});
  std::map<std::string, NodeExports> exports;
  for (const NodeSpec& node : cluster.nodes) exports[node.name.str()] = {{"netplan", nothing}, {"mount", reads}};
  return exports;
}

}  // namespace

TEST_CASE("there are examples") { CHECK(examples().size() >= 12); }

TEST_CASE("every example is planned for every node, in sections that this build has types for") {
  for (const auto& path : examples()) {
    INFO(path.filename().string());
    const auto loaded = load_example(path);
    std::size_t resources = 0;
    for (const auto& node : loaded.cluster->nodes) {
      INFO(node.name.str());
      const auto exports = exports_of(*loaded.cluster);
      const auto desired =
          desired_state(ClusterView{*loaded.cluster, node, exports}, facts_of(node), builtin_registry());
      for (const auto& finding : desired.diagnostics) UNSCOPED_INFO(render(finding, loaded.source));
      CHECK_FALSE(has_errors(desired.diagnostics));
      resources += desired.resources.size();
      for (const auto& resource : desired.resources) {
        INFO(resource.id.str());
        const auto* type = builtin_registry().find(resource.id.type);
        REQUIRE(type != nullptr);
        CHECK(node.sections.count(type->info().section) == 1);
      }
      for (const auto& [section, body] : node.sections) {
        const auto types = builtin_registry().of_section(section);
        const bool planned = std::any_of(desired.resources.begin(), desired.resources.end(), [&](const Resource& r) {
          return builtin_registry().find(r.id.type)->info().section == section;
        });
        INFO(section);
        if (!types.empty()) CHECK(planned);
      }
    }
    CHECK(resources > 0);
  }
}

TEST_CASE("the sections of an example without a type are exactly what plan will refuse") {
  for (const auto& path : examples()) {
    INFO(path.filename().string());
    const auto loaded = load_example(path);
    std::set<std::string> without_type;
    for (const auto& node : loaded.cluster->nodes) {
      for (const auto& [section, body] : node.sections) {
        // Thresholds need no type.
        if (section != "verify" && builtin_registry().of_section(section).empty()) without_type.insert(section);
      }
    }
    const auto refused = unsupported_sections(*loaded.cluster, builtin_registry());
    CHECK(refused.empty() == without_type.empty());
    std::set<std::string> named;
    for (const auto& finding : refused) {
      CHECK(finding.code == "section.not-in-this-version");
      CHECK(finding.severity == Severity::kError);
      for (const auto& section : without_type) {
        if (finding.message.find("`" + section + "`") != std::string::npos) named.insert(section);
      }
    }
    CHECK(named == without_type);
  }
}

TEST_CASE("this build has a type for every section of every example") {
  for (const char* name :
       {"tuning-only.yaml", "image-root.yaml", "two-node.yaml", "two-node-with-tools.yaml", "eight-node-switch.yaml",
        "spark-networking-guide.yaml", "multi-node-rdma-guide.yaml", "link-local-pair.yaml", "direct-fabric-guide.yaml",
        "dual-cable.yaml", "three-node-ring.yaml", "four-node-switch.yaml", "generic-rdma.yaml"}) {
    INFO(name);
    const auto loaded = load_example(std::string(SPARKPLAN_SOURCE_DIR) + "/examples/" + name);
    CHECK(unsupported_sections(*loaded.cluster, builtin_registry()).empty());
  }
}

}  // namespace sparkplan
