// The formats hostfile and env, and the functions that all formats for jobs share.
#include <algorithm>

#include "engine/core/text.h"
#include "engine/domain/fabric/job_network.h"
#include "engine/domain/nccl/framework_environment.h"
#include "engine/export/formats.h"
#include "engine/resource/shell_environment.h"

namespace sparkplan::formats {
namespace {

constexpr int kRendezvousPort = 29500;  ///< Source: torchrun, its default.

std::string exports_of(const Variables& variables, const std::string& indent) {
  std::string text;
  for (const auto& [name, value] : variables) text += indent + "export " + name + "=" + shell_quote(value) + "\n";
  return text;
}

/// The field of each resource that has it.
Variables nccl_field_of(const Cluster& cluster, const NodeSpec& node, const Registry& registry,
                        std::string_view field) {
  Variables variables;
  const auto section = node.sections.find("nccl");
  if (section == node.sections.end()) return variables;
  Facts facts;
  facts.live = false;
  const std::map<std::string, NodeExports> exports;
  for (const ResourceType* type : registry.of_section("nccl")) {
    for (const Resource& one : type->desired({cluster, node, exports}, section->second, facts).resources) {
      const Value* value = one.desired.find(field);
      if (value != nullptr && value->string() != nullptr) variables[one.id.name] = *value->string();
    }
  }
  return variables;
}

/// The lines by which a shell of the node exports the variables of its rank.
std::string exports_of_node(const Cluster& cluster, const NodeSpec& node, const Hosts& hosts, const Registry& registry,
                            const std::string& indent) {
  Variables variables = nccl_variables_of(cluster, node, registry);
  variables["NODE_RANK"] = std::to_string(rank_of(node, hosts));
  std::string text = exports_of(variables, indent);
  for (const std::string& path : nccl_paths_of(cluster, node, registry)) text += indent + "export " + path + "\n";
  return text;
}

/// The topology that the file declares for the node's fabric; empty without one.
std::string topology_of(const NodeSpec& node) {
  const auto fabric = node.sections.find("fabric");
  return fabric == node.sections.end() ? "" : fabric->second.text_or("topology", "");
}

/// True if a name of the node's fabric is missing: an HCA, or the interface that NCCL's ranks meet on. In a ring they
/// meet elsewhere, and halves with only a link-local address never have that variable.
bool lacks_fabric_names(const NodeSpec& node, const Variables& variables) {
  const std::string mode = node.sections.at("nccl").text_or("mode", "safe");
  if (mode == "auto") return false;
  if (mode != "socket" && !variables.contains("NCCL_IB_HCA")) return true;
  const bool has_address =
      std::any_of(node.fabric.begin(), node.fabric.end(), [](const FabricPort& port) { return !port.address.empty(); });
  return has_address && topology_of(node) != "ring" && !variables.contains("NCCL_SOCKET_IFNAME");
}

/// True if the processes of a job meet over the SSH connection's interface, and a variable needs its name.
bool lacks_management_name(const Cluster& cluster, const NodeSpec& node, const Variables& variables) {
  if (job_port(node, job_members(cluster, node)) != nullptr) return false;
  const Value& nccl = node.sections.at("nccl");
  const auto frameworks = frameworks_in(nccl);
  const bool gloo = std::find(frameworks.begin(), frameworks.end(), "torch") != frameworks.end();
  if (gloo && !variables.contains("GLOO_SOCKET_IFNAME")) return true;
  const bool ring = topology_of(node) == "ring" && nccl.text_or("mode", "safe") != "auto";
  return ring && !variables.contains("NCCL_SOCKET_IFNAME");
}

}  // namespace

Variables nccl_variables_of(const Cluster& cluster, const NodeSpec& node, const Registry& registry) {
  return nccl_field_of(cluster, node, registry, "profile");
}

std::vector<std::string> nccl_paths_of(const Cluster& cluster, const NodeSpec& node, const Registry& registry) {
  std::vector<std::string> paths;
  for (const auto& [name, folder] : nccl_field_of(cluster, node, registry, "prepended")) {
    paths.push_back(name + "=" + shell_quote(folder) + "\"${" + name + ":+:$" + name + "}\"");
  }
  return paths;
}

std::size_t rank_of(const NodeSpec& node, const Hosts& hosts) {
  return static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), &node) - hosts.begin());
}

Variables job_of(const Hosts& hosts) {
  return {{"MASTER_ADDR", data_address(*hosts.front(), hosts)},
          {"MASTER_PORT", std::to_string(kRendezvousPort)},
          {"WORLD_SIZE", std::to_string(hosts.size())}};
}

Variables variables_of(const Cluster& cluster, const NodeSpec& node, const Hosts& hosts, const Registry& registry) {
  Variables variables = nccl_variables_of(cluster, node, registry);
  variables.merge(job_of(hosts));
  variables["NODE_RANK"] = std::to_string(rank_of(node, hosts));
  return variables;
}

std::vector<std::string> unknown_of(const Cluster& cluster, const Hosts& selected, const Registry& registry) {
  std::vector<std::string> on_fabric;
  std::vector<std::string> on_management;
  for (const NodeSpec* node : selected) {
    if (!node->sections.contains("nccl") || node->fabric.empty()) continue;
    const Variables variables = nccl_variables_of(cluster, *node, registry);
    if (lacks_fabric_names(*node, variables)) on_fabric.push_back(node->name.str());
    if (lacks_management_name(cluster, *node, variables)) on_management.push_back(node->name.str());
  }
  std::vector<std::string> remarks;
  if (!on_fabric.empty()) {
    remarks.push_back("only the nodes know the HCA or interface names of " + fold_names(on_fabric) +
                      ": declare them in `fabric: {interfaces, hcas}`, or set profile: dgx-spark");
  }
  if (!on_management.empty()) {
    remarks.push_back("jobs on " + fold_names(on_management) +
                      " meet in the management network, and only the nodes know its interface: set "
                      "GLOO_SOCKET_IFNAME, in a ring also NCCL_SOCKET_IFNAME, in `nccl: {env: ...}`; login shells of "
                      "the nodes have them already");
  }
  return remarks;
}

std::string data_address(const NodeSpec& node, const Hosts& hosts) {
  const FabricPort* port = job_port(node, hosts);
  return port == nullptr ? node.address : port->address;
}

std::string hostfile(const Hosts& hosts, const Hosts& selected) {
  std::string text;
  for (const NodeSpec* node : selected) text += data_address(*node, hosts) + " slots=1\n";
  return text;
}

ExportedText environment(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry) {
  ExportedText exported{exports_of(job_of(hosts), "")};
  if (selected.size() == 1) {
    exported.text += exports_of_node(cluster, *selected.front(), hosts, registry, "");
  } else {
    // A host name may carry its domain.
    exported.text += "sparkplan_host=\"$(uname -n)\"\ncase \"${sparkplan_host%%.*}\" in\n";
    for (const NodeSpec* node : selected) {
      exported.text +=
          "  " + node->name.str() + ")\n" + exports_of_node(cluster, *node, hosts, registry, "    ") + "    ;;\n";
    }
    exported.text +=
        "  *)\n    echo \"cluster.yaml has no node named ${sparkplan_host%%.*}: no NCCL variables are set."
        " Use: sparkplan export --format env --only NODE\" >&2\n    ;;\nesac\nunset sparkplan_host\n";
  }
  exported.remarks = unknown_of(cluster, selected, registry);
  return exported;
}

}  // namespace sparkplan::formats
