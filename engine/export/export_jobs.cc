// The formats hostfile, torchrun and env, and the functions that all formats for jobs share.
#include <algorithm>

#include "engine/core/text.h"
#include "engine/domain/fabric/job_network.h"
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

}  // namespace

Variables nccl_variables_of(const Cluster& cluster, const NodeSpec& node, const Registry& registry) {
  Variables variables;
  const auto section = node.sections.find("nccl");
  if (section == node.sections.end()) return variables;
  Facts facts;
  facts.live = false;
  const std::map<std::string, NodeExports> exports;
  for (const ResourceType* type : registry.of_section("nccl")) {
    for (const Resource& one : type->desired({cluster, node, exports}, section->second, facts).resources) {
      const Value* value = one.desired.find("profile");
      if (value != nullptr && value->string() != nullptr) variables[one.id.name] = *value->string();
    }
  }
  return variables;
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
  std::vector<std::string> names;
  for (const NodeSpec* node : selected) {
    const auto nccl = node->sections.find("nccl");
    if (nccl == node->sections.end() || node->fabric.empty()) continue;
    const std::string mode = nccl->second.text_or("mode", "safe");
    const Variables variables = nccl_variables_of(cluster, *node, registry);
    const bool without_hca = mode != "socket" && !variables.contains("NCCL_IB_HCA");
    if (mode != "auto" && (without_hca || !variables.contains("NCCL_SOCKET_IFNAME"))) names.push_back(node->name.str());
  }
  if (names.empty()) return {};
  return {"only the nodes know the HCA or interface names of " + fold_names(names) +
          ": declare them in `fabric: {interfaces, hcas}`, or set profile: dgx-spark"};
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

std::string torchrun(const Hosts& hosts, const Hosts& selected) {
  std::string text;
  for (const NodeSpec* node : selected) {
    text += "# on " + node->name.str() + "\ntorchrun --nnodes=" + std::to_string(hosts.size()) +
            " --nproc-per-node=1 --node-rank=" + std::to_string(rank_of(*node, hosts)) +
            " --master-addr=" + data_address(*hosts.front(), hosts) +
            " --master-port=" + std::to_string(kRendezvousPort) + " \"$@\"\n";
  }
  return text;
}

ExportedText environment(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry) {
  ExportedText exported{exports_of(job_of(hosts), "")};
  if (selected.size() == 1) {
    Variables variables = nccl_variables_of(cluster, *selected.front(), registry);
    variables["NODE_RANK"] = std::to_string(rank_of(*selected.front(), hosts));
    exported.text += exports_of(variables, "");
  } else {
    // A host name may carry its domain.
    exported.text += "sparkplan_host=\"$(uname -n)\"\ncase \"${sparkplan_host%%.*}\" in\n";
    for (const NodeSpec* node : selected) {
      Variables variables = nccl_variables_of(cluster, *node, registry);
      variables["NODE_RANK"] = std::to_string(rank_of(*node, hosts));
      exported.text += "  " + node->name.str() + ")\n" + exports_of(variables, "    ") + "    ;;\n";
    }
    exported.text +=
        "  *)\n    echo \"cluster.yaml has no node named ${sparkplan_host%%.*}: no NCCL variables are set."
        " Use: sparkplan export --format env --only NODE\" >&2\n    ;;\nesac\nunset sparkplan_host\n";
  }
  exported.remarks = unknown_of(cluster, selected, registry);
  return exported;
}

}  // namespace sparkplan::formats
