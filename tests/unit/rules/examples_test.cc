// Every example loads, and the build plans all sections that it supports.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/load/load.h"
#include "engine/plan/desired_state.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() + "/examples")) {
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
  // A node that can keep the secrets of the user nvidia.
  const Value keeps = Value::map({{"secret_key", std::string(64, '0')}, {"users", Value::map({{"nvidia", 1000}})}});
  for (const NodeSpec& node : cluster.nodes)
    exports[node.name.str()] = {{"netplan", nothing}, {"mount", reads}, {"profile_env", keeps}};
  return exports;
}

}  // namespace

TEST_CASE("the folder examples/ has examples") { CHECK(examples().size() >= 12); }

TEST_CASE("every example is planned for every node, in all sections with a type") {
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

TEST_CASE("an example's sections without a type are exactly those that plan refuses") {
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

TEST_CASE("every example states what verify will report") {
  for (const auto& path : examples()) {
    INFO(path.filename().string());
    CHECK(load_example(path).source.find("# What `sparkplan verify` reports: ") != std::string::npos);
  }
}

TEST_CASE("the examples of guides have the guides' own interfaces, addresses and devices") {
  const auto example = [](const std::string& name) {
    return load_example(test::source_folder() + "/examples/" + name + "-guide.yaml");
  };
  using Texts = std::vector<std::string>;
  // "enp1s0f0np0 10.0.0.1/24 9000", without an address "enP2p1s0f0np0 link-local 9000".
  const auto ports = [](const std::vector<FabricPort>& all) {
    Texts texts;
    for (const FabricPort& one : all) {
      texts.push_back(one.interface + (one.address.empty() ? "" : " " + one.address_text()) +
                      (one.link_local ? " link-local" : "") + (one.mtu ? " " + std::to_string(*one.mtu) : ""));
    }
    return texts;
  };
  const auto beside = [](const NodeSpec& node) {
    Texts texts;
    for (const ObservedPort& one : other_interfaces(node, facts_of(node), "").interfaces) {
      texts.push_back(one.interface + " " + one.address_text());
    }
    return texts;
  };

  const auto hcas_of = [](const NodeSpec& node) { return *node.sections.at("fabric").find("hcas"); };

  const auto networking = example("spark-networking");
  const NodeSpec& spark2 = networking.cluster->nodes[1];
  CHECK(ports(spark2.fabric) ==
        Texts{"enp1s0f1np1 192.168.177.12/24 link-local 9000", "enP2p1s0f1np1 link-local 9000"});
  CHECK(hcas_of(spark2) == Value::list({"rocep1s0f1", "roceP2p1s0f1"}));

  const auto mesh = example("multi-node-rdma");
  for (const NodeSpec& node : mesh.cluster->nodes) {
    CHECK(ports(node.fabric) == Texts{"enP2p1s0f0np0 192.168.100." + std::to_string(node.id) + "/24 9000"});
    CHECK(hcas_of(node) == Value::list({"roceP2p1s0f0"}));
    CHECK(node.sections.at("verify").text_or("nccl_busbw", "") == "11 GB/s");  // The guide measured 12.04 GB/s.
  }

  const auto direct = example("direct-fabric");
  const NodeSpec& first = direct.cluster->nodes[0];
  const NodeSpec& second = direct.cluster->nodes[1];
  CHECK(ports(first.fabric) == Texts{"enp1s0f0np0 10.0.0.1/24 9000", "enP2p1s0f0np0 link-local 9000"});
  CHECK(ports(second.fabric) == Texts{"enp1s0f0np0 10.0.0.2/24 9000", "enP2p1s0f0np0 link-local 9000"});
  CHECK(beside(first) == Texts{"enp1s0f1np1 192.168.0.188/24"});
  CHECK(beside(second) == Texts{"enp1s0f1np1 192.168.0.218/24"});
  CHECK(direct.source.find("target: /mnt/rosa-storage\n    source: {nvme_tcp: {address: 192.168.0.100, port: 4420, "
                           "subsystem: raid5-data}}") != std::string::npos);
  CHECK(direct.source.find("target: /mnt/rosa-models\n    source: {nvme_tcp: {address: 192.168.0.100, port: 4420, "
                           "subsystem: llm-models}}") != std::string::npos);
}

TEST_CASE("the example of applications has every program of its units from itself, a package or its head") {
  const auto loaded = load_example(test::source_folder() + "/examples/direct-fabric-applications.yaml");
  const auto texts_of = [](const NodeSpec& node, const char* section, const char* key) {
    std::map<std::string, std::string> texts;
    for (const Value& one : *node.sections.at(section).list_items()) {
      texts[one.text_or(key, "")] = one.text_or("content", "");
    }
    return texts;
  };
  const NodeSpec& first = loaded.cluster->nodes[0];
  const auto files = texts_of(first, "files", "path");
  const auto units = texts_of(first, "units", "name");
  std::set<std::string> programs;
  for (const auto& [name, content] : units) {
    const auto at = content.find("\nExecStart=");
    if (at == std::string::npos) continue;
    const auto begin = at + std::string("\nExecStart=").size();
    programs.insert(content.substr(begin, content.find_first_of(" \n", begin) - begin));
  }
  // The head of the file says where uv comes from; Docker is part of DGX OS.
  std::set<std::string> expected{"/usr/local/bin/uv", "/usr/bin/docker"};
  for (const auto& [path, content] : files) {
    if (path.starts_with("/usr/local/bin/") && path != "/usr/local/bin/fabric-benchmark") expected.insert(path);
  }
  CHECK(programs == expected);
  CHECK(loaded.source.find("uv to /usr/local/bin") != std::string::npos);
  CHECK(files.at("/etc/prometheus/prometheus.yml").find("\"192.168.0.12:9100\"") != std::string::npos);
  // Only the first node has the page and the dashboards.
  CHECK(texts_of(loaded.cluster->nodes[1], "units", "name").size() + 3 == units.size());
}

TEST_CASE("this build has a type for every section of every example") {
  for (const char* name : {"tuning-only.yaml", "image-root.yaml", "two-node.yaml", "two-node-with-tools.yaml",
                           "eight-node-switch.yaml", "spark-networking-guide.yaml", "multi-node-rdma-guide.yaml",
                           "link-local-pair.yaml", "direct-fabric-guide.yaml", "direct-fabric-applications.yaml",
                           "dual-cable.yaml", "three-node-ring.yaml", "four-node-switch.yaml", "generic-rdma.yaml"}) {
    INFO(name);
    const auto loaded = load_example(test::source_folder() + "/examples/" + name);
    CHECK(unsupported_sections(*loaded.cluster, builtin_registry()).empty());
  }
}

TEST_CASE("the drift service gives sparkplan more time than docs/safety.md does") {
  std::ifstream unit(test::source_folder() + "/examples/systemd/sparkplan-drift.service");
  std::ifstream page(test::source_folder() + "/docs/safety.md");
  const std::string service((std::istreambuf_iterator<char>(unit)), {});
  const std::string safety((std::istreambuf_iterator<char>(page)), {});
  const auto minutes = [](const std::string& text, const std::string& pattern) {
    std::smatch found;
    REQUIRE(std::regex_search(text, found, std::regex(pattern)));
    return std::stoi(found[1]);
  };
  const int usual = minutes(safety, "`plan` and `drift` end after at most ([0-9]+) minutes");
  const int content = minutes(safety, "`models` and `images` add at most ([0-9]+) minutes");
  CHECK(minutes(service, "TimeoutStartSec=([0-9]+)min") > usual + content);
}

}  // namespace sparkplan
