// The formats for tools that know the nodes by their addresses: Slurm, Prometheus, /etc/hosts.
#include <algorithm>
#include <set>
#include <string_view>

#include "engine/core/ascii.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/export/formats.h"
#include "engine/model/address.h"

namespace sparkplan::formats {
namespace {

constexpr int kNodeExporterPort = 9100;
/// Source: NVIDIA, DGX Spark hardware overview: 10 Cortex-X925 and 10 Cortex-A725.
constexpr int kCoresOfASpark = 20;
/// MiB. Less than the 119 to 122 GiB that Linux shows of a Spark's 128 GB: Slurm drains a node that has less than this.
constexpr int kMemoryOfASpark = 117760;

/// Slurm gives a task the variables of the shell in which srun was typed, the same on all nodes. Slurm starts
/// this program before each task. It prints the variables that login shells have on the node, one per line, unquoted.
/// Slurm runs no task if the program fails, so a node without the file is no failure. Source: slurm.conf(5),
/// TaskProlog; src/slurmd/slurmstepd/task.c.
constexpr std::string_view kTaskProlog = R"(#!/bin/sh
profile=/etc/profile.d/sparkplan-nccl.sh
[ -r "$profile" ] || exit 0
. "$profile"
sed -n 's/^\(case .*) \)\{0,1\}export \([A-Za-z_][A-Za-z0-9_]*\)=.*/\2/p' "$profile" | while read -r name; do
  eval "value=\$$name"
  printf 'export %s=%s\n' "$name" "$value"
done
)";

/// The file in the comments of slurm.conf.
std::string task_prolog() {
  std::string text =
      "# For /etc/slurm/task_prolog.sh of each node: sed -n 's/^#prolog //p' slurm.conf >task_prolog.sh; chmod 755 "
      "task_prolog.sh\n";
  for (const std::string_view line : split_lines(kTaskProlog)) text += "#prolog " + std::string(line) + "\n";
  return text;
}

bool has_nccl(const Hosts& selected) {
  return std::ranges::any_of(selected, [](const NodeSpec* node) { return node->sections.contains("nccl"); });
}

}  // namespace

std::string json_text(const std::string& text) { return public_json(Value(text), -1); }

/// Ansible uses group names as variable names: letters, digits and "_".
std::string group_name(const std::string& name) {
  std::string group;
  for (const char c : name) {
    group += is_alphanumeric(c) ? c : '_';
  }
  // Ansible has groups of these names, and in Slurm DEFAULT is not a partition.
  const bool taken = group == "all" || group == "ungrouped" || group == "DEFAULT";
  return taken || group.empty() || is_digit(group.front()) ? "cluster_" + group : group;
}

ExportedText slurm(const Cluster& cluster, const Hosts& hosts, const Hosts& selected) {
  const std::string group = group_name(cluster.name);
  const bool sparks = cluster.profile == "dgx-spark";
  // srun passes the limits of the caller's shell on; ranks need the node's own limit of locked memory for RDMA.
  // Without cons_tres, `srun --gres=gpu:1` is refused. Source: seen with Slurm 22.05.
  std::string text = "ClusterName=" + group + "\nSlurmctldHost=" + hosts.front()->name.str() + "(" +
                     data_address(*hosts.front(), hosts) +
                     ")\nGresTypes=gpu\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
                     "PropagateResourceLimitsExcept=MEMLOCK\n";
  if (has_nccl(selected)) text += "TaskProlog=/etc/slurm/task_prolog.sh\n";
  std::string names;
  for (const NodeSpec* node : selected) {
    text += "NodeName=" + node->name.str() + " NodeHostname=" + node->name.str() +
            " NodeAddr=" + data_address(*node, hosts);
    if (sparks) {
      text += " CPUs=" + std::to_string(kCoresOfASpark) + " RealMemory=" + std::to_string(kMemoryOfASpark);
    } else {
      text += " CPUs=1 RealMemory=1";
    }
    text += " Gres=gpu:1 State=UNKNOWN\n";
    names += (names.empty() ? "" : ",") + node->name.str();
  }
  text += "PartitionName=" + group + " Nodes=" + names + " Default=YES State=UP\n";
  text += "# For /etc/slurm/gres.conf of each node: sed -n 's/^#gres //p' slurm.conf >gres.conf\n";
  text += "#gres NodeName=" + names + " Name=gpu File=/dev/nvidia0\n";
  if (has_nccl(selected)) text += task_prolog();
  ExportedText exported{std::move(text), {}};
  if (!sparks) {
    exported.remarks.emplace_back(
        "only the nodes know their CPUs and memory: replace CPUs=1 RealMemory=1 by what `slurmd -C` prints on each");
  }
  exported.remarks.emplace_back(
      "NodeHostname must be what `hostname -s` prints on the node; its default is the name in cluster.yaml");
  return exported;
}

namespace {

/// The node whose name the host name begins with: "spark-1-fabric" belongs to spark-1, "spark-10-fabric" to spark-10.
const NodeSpec* owner_of(const std::string& host_name, const Cluster& cluster) {
  const NodeSpec* owner = nullptr;
  for (const NodeSpec& node : cluster.nodes) {
    const bool longer = owner == nullptr || node.name.str().size() > owner->name.str().size();
    if (longer && host_name.starts_with(node.name.str())) owner = &node;
  }
  return owner;
}

/// In lower case: resolvers do not tell the two apart.
std::set<std::string> names_of_nodes(const Cluster& cluster) {
  std::set<std::string> names;
  for (const NodeSpec& node : cluster.nodes) names.insert(lower_case(node.name.str()));
  return names;
}

}  // namespace

ExportedText hosts_file(const Cluster& cluster, const Hosts& selected, const Registry& registry) {
  ExportedText exported;
  for (const NodeSpec* node : selected) {
    const bool literal = is_ip_address(node->address);
    if (literal && node->address.find('%') == std::string::npos) {
      exported.text += node->address + " " + node->name.str() + "\n";
    } else {
      exported.remarks.push_back(node->name.str() + " is reached by a name, " + node->address +
                                 ": only the name service knows its address");
    }
  }
  // The names of the fabric, as the section `hosts` writes them on the nodes.
  const Facts facts;
  const std::map<std::string, NodeExports> exports;
  const std::set<std::string> taken = names_of_nodes(cluster);
  std::map<std::string, std::string> fabric;
  for (const NodeSpec* node : selected) {
    const auto section = node->sections.find("hosts");
    if (section == node->sections.end()) continue;
    for (const ResourceType* type : registry.of_section("hosts")) {
      for (const Resource& one : type->desired({cluster, *node, exports}, section->second, facts).resources) {
        if (owner_of(one.id.name, cluster) == node) fabric[one.id.name] = one.desired.text_or("address", "");
      }
    }
  }
  for (const auto& [name, address] : fabric) {
    if (!taken.contains(lower_case(name))) {
      exported.text += address + " " + name + "\n";
      continue;
    }
    exported.remarks.push_back("there is no line with the fabric address " + address + ": its name " + name +
                               " is the name of a node");
  }
  return exported;
}

std::string prometheus(const Cluster& cluster, const Hosts& hosts) {
  std::string text;
  for (const NodeSpec* node : hosts) {
    text += std::string(text.empty() ? "" : ",\n") + "  {\"targets\": [" +
            json_text(bracketed(node->address) + ":" + std::to_string(kNodeExporterPort)) +
            "], \"labels\": {\"cluster\": " + json_text(cluster.name) + ", \"node\": " + json_text(node->name.str()) +
            "}}";
  }
  return "[\n" + text + "\n]\n";
}

}  // namespace sparkplan::formats
