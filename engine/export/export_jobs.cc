// The formats for tools that start jobs on the nodes: MPI, torchrun, Docker, and the environment of both.
#include <algorithm>

#include "engine/export/formats.h"
#include "engine/model/ipv4.h"
#include "engine/resource/shell_environment.h"

namespace sparkplan::formats {
namespace {

using Variables = std::map<std::string, std::string>;

/// The variables of a node's nccl section that can be derived from the file. Devices that only the node's facts name
/// are not included.
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

/// Nodes with the same variables, in the order of the file.
std::vector<std::pair<Variables, Hosts>> groups_of(const Cluster& cluster, const Hosts& hosts,
                                                   const Registry& registry) {
  std::vector<std::pair<Variables, Hosts>> groups;
  for (const NodeSpec* node : hosts) {
    Variables variables = nccl_variables_of(cluster, *node, registry);
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == variables; });
    if (same != groups.end()) {
      same->second.push_back(node);
    } else {
      groups.emplace_back(std::move(variables), Hosts{node});
    }
  }
  return groups;
}

std::string names_of(const Hosts& hosts, const std::string& between) {
  std::string names;
  for (const NodeSpec* node : hosts) names += (names.empty() ? "" : between) + node->name.str();
  return names;
}

const FabricPort* first_address(const NodeSpec& node) {
  const auto found =
      std::find_if(node.fabric.begin(), node.fabric.end(), [](const FabricPort& one) { return !one.address.empty(); });
  return found == node.fabric.end() ? nullptr : &*found;
}

constexpr int kRendezvousPort = 29500;  ///< Source: torchrun, its default.

}  // namespace

std::string data_address(const NodeSpec& node, const Hosts& hosts) {
  const FabricPort* own = first_address(node);
  const bool shared = own != nullptr && std::all_of(hosts.begin(), hosts.end(), [&](const NodeSpec* one) {
                        const FabricPort* other = first_address(*one);
                        return other != nullptr && other->prefix_length == own->prefix_length &&
                               in_one_network(own->address, other->address, own->prefix_length);
                      });
  return shared ? own->address : node.address;
}

std::string hostfile(const Hosts& hosts) {
  std::string text;
  for (const NodeSpec* node : hosts) text += data_address(*node, hosts) + " slots=1\n";
  return text;
}

std::string torchrun(const Hosts& hosts) {
  std::string text;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    text += "# on " + hosts[rank]->name.str() + "\ntorchrun --nnodes=" + std::to_string(hosts.size()) +
            " --nproc-per-node=1 --node-rank=" + std::to_string(rank) +
            " --master-addr=" + data_address(*hosts.front(), hosts) +
            " --master-port=" + std::to_string(kRendezvousPort) + " \"$@\"\n";
  }
  return text;
}

std::string environment(const Cluster& cluster, const Hosts& hosts, const Registry& registry) {
  std::string text = "export MASTER_ADDR=" + shell_quote(data_address(*hosts.front(), hosts)) +
                     "\nexport MASTER_PORT=" + std::to_string(kRendezvousPort) +
                     "\nexport WORLD_SIZE=" + std::to_string(hosts.size()) + "\n";
  text += "case \"$(uname -n)\" in\n";
  for (const auto& [variables, members] : groups_of(cluster, hosts, registry)) {
    if (variables.empty()) continue;
    text += "  " + names_of(members, "|") + ")\n";
    for (const auto& [name, value] : variables) text += "    export " + name + "=" + shell_quote(value) + "\n";
    text += "    ;;\n";
  }
  return text + "esac\n";
}

std::string docker(const Cluster& cluster, const Hosts& hosts, const Registry& registry) {
  std::string text;
  for (const auto& [variables, members] : groups_of(cluster, hosts, registry)) {
    text += "# on " + names_of(members, ", ") +
            "\ndocker run --gpus all --network host --ipc host --device /dev/infiniband --ulimit memlock=-1";
    for (const auto& [name, value] : variables) text += " \\\n  -e " + shell_quote(name + "=" + value);
    text += " \\\n  \"$@\"\n";
  }
  return text;
}

}  // namespace sparkplan::formats
