// The formats for tools that start one job on several nodes: torchrun, Open MPI, vLLM, Ray.
#include <algorithm>
#include <utility>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/domain/nccl/framework_environment.h"
#include "engine/export/formats.h"
#include "engine/resource/shell_environment.h"

namespace sparkplan::formats {
namespace {

constexpr int kVllmPort = 29501;  ///< Source: vLLM, --master-port, its default.
constexpr int kRayPort = 6379;    ///< Source: ray start, --port, its default.
/// Open MPI reads its own parameters from variables with this prefix.
/// Source: Open MPI, docs/mca.rst.
constexpr std::string_view kMcaPrefix = "OMPI_MCA_";

/// torchrun, vLLM and Ray have their own options in place of MASTER_ADDR and the like.
Variables without_job(Variables variables) {
  for (const char* const name : {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "NODE_RANK"}) variables.erase(name);
  return variables;
}

/// "env NAME=VALUE ... ", one variable per line, to be followed by the command.
std::string env_prefix(const Cluster& cluster, const NodeSpec& node, const Hosts& hosts, const Registry& registry) {
  std::string text = "env";
  for (const auto& [name, value] : without_job(variables_of(cluster, node, hosts, registry))) {
    text += " \\\n  " + name + "=" + shell_quote(value);
  }
  for (const std::string& path : nccl_paths_of(cluster, node, registry)) text += " \\\n  " + path;
  return text + " \\\n  ";
}

/// The parameters of mpirun itself: those that all selected nodes have, with one value. mpirun starts some values as
/// programs where it runs itself, so the settings of one node must not reach it alone.
void add_mca_options(const Cluster& cluster, const Hosts& selected, const Registry& registry, ExportedText& exported) {
  std::map<std::string, std::vector<std::string>> values;  // By variable, of the nodes that have it.
  for (const NodeSpec* node : selected) {
    for (const auto& [name, value] : nccl_variables_of(cluster, *node, registry)) {
      if (name.starts_with(kMcaPrefix)) values[name].push_back(value);
    }
  }
  std::vector<std::string> differing;
  for (const auto& [name, of_nodes] : values) {
    const bool same = std::ranges::all_of(of_nodes, [&](const std::string& one) { return one == of_nodes.front(); });
    if (of_nodes.size() == selected.size() && same) {
      exported.text += " \\\n  --mca " + name.substr(kMcaPrefix.size()) + " " + shell_quote(of_nodes.front());
    } else {
      differing.push_back(name);
    }
  }
  if (differing.empty()) return;
  exported.remarks.push_back("the nodes differ in " + join(differing, ", ") +
                             ": mpirun takes only parameters that all nodes have, with one value");
}

/// One node's part of the command line: its variables may differ from those of the others.
std::string mpi_context(const Cluster& cluster, const NodeSpec& node, const Hosts& hosts, const Registry& registry) {
  std::string text = " \\\n  -np 1 --host " + data_address(node, hosts) + ":1";
  for (const auto& [name, value] : variables_of(cluster, node, hosts, registry)) {
    if (!name.starts_with(kMcaPrefix)) text += " \\\n  -x " + shell_quote(name + "=" + value);
  }
  for (const std::string& path : nccl_paths_of(cluster, node, registry)) text += " \\\n  -x " + path;
  return text + " \\\n  \"$@\"";
}

/// The names whose values are a node's own. vLLM copies the head's environment to all workers, except the names in a
/// file. Source: vLLM, vllm/v1/executor/ray_env_utils.py.
std::string names_to_keep(const Variables& variables) {
  Value::List names;
  for (const auto& [name, value] : variables) {
    const FrameworkVariable* of_framework = find_framework_variable(name);
    const bool own =
        of_framework != nullptr ? of_framework->differs : name == "NCCL_IB_HCA" || name == "NCCL_SOCKET_IFNAME";
    if (own) names.emplace_back(name);
  }
  return public_json(Value(std::move(names)), -1);
}

std::string ray_start(const Cluster& cluster, const NodeSpec& node, const Hosts& hosts, const Registry& registry) {
  const bool head = &node == hosts.front();
  std::string text = "# on " + node.name.str() + (head ? ", the head: start it first\n" : "\n");
  text += "file=\"${VLLM_CONFIG_ROOT:-$HOME/.config/vllm}/ray_non_carry_over_env_vars.json\"\n";
  text += "[ -e \"$file\" ] || { mkdir -p \"${file%/*}\" && echo " +
          shell_quote(names_to_keep(nccl_variables_of(cluster, node, registry))) + " >\"$file\"; }\n";
  text +=
      env_prefix(cluster, node, hosts, registry) + "ray start --block --node-ip-address " + data_address(node, hosts);
  const std::string port = std::to_string(kRayPort);
  return text + (head ? " --head --port " + port : " --address " + data_address(*hosts.front(), hosts) + ":" + port) +
         "\n";
}

}  // namespace

ExportedText torchrun(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry) {
  ExportedText exported;
  const Variables job = job_of(hosts);
  for (const NodeSpec* node : selected) {
    exported.text += "# on " + node->name.str() + "\n" + env_prefix(cluster, *node, hosts, registry) +
                     "torchrun --nnodes=" + std::to_string(hosts.size()) +
                     " --nproc-per-node=1 --node-rank=" + std::to_string(rank_of(*node, hosts)) +
                     " --master-addr=" + job.at("MASTER_ADDR") + " --master-port=" + job.at("MASTER_PORT") +
                     " \"$@\"\n";
  }
  exported.remarks = unknown_of(cluster, selected, registry);
  return exported;
}

ExportedText mpirun(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry) {
  ExportedText exported;
  exported.text = "# on a node that logs in to all others without a password: one rank per node\nmpirun --bind-to none";
  add_mca_options(cluster, selected, registry, exported);
  for (const NodeSpec* node : selected) {
    exported.text += (node == selected.front() ? "" : " \\\n  :") + mpi_context(cluster, *node, hosts, registry);
  }
  exported.text += "\n";
  for (std::string& remark : unknown_of(cluster, selected, registry)) exported.remarks.push_back(std::move(remark));
  return exported;
}

ExportedText vllm(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry) {
  ExportedText exported;
  for (const NodeSpec* node : selected) {
    exported.text +=
        "# on " + node->name.str() + "\n" + env_prefix(cluster, *node, hosts, registry) + "vllm serve \"$@\"";
    const std::string count = std::to_string(hosts.size());
    exported.text += " \\\n  --nnodes " + count + " --node-rank " + std::to_string(rank_of(*node, hosts)) +
                     " --master-addr " + data_address(*hosts.front(), hosts) + " --master-port " +
                     std::to_string(kVllmPort) + (node == hosts.front() ? "" : " --headless") + "\n";
  }
  exported.remarks = unknown_of(cluster, selected, registry);
  exported.remarks.push_back("give every node the same model and options, such as --tensor-parallel-size " +
                             std::to_string(hosts.size()));
  return exported;
}

ExportedText ray(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry) {
  ExportedText exported;
  for (const NodeSpec* node : selected) {
    exported.text += ray_start(cluster, *node, hosts, registry);
  }
  if (std::find(selected.begin(), selected.end(), hosts.front()) != selected.end()) {
    exported.text += "# then on " + hosts.front()->name.str() +
                     ", in a second login shell:\n# vllm serve MODEL --distributed-executor-backend ray "
                     "--tensor-parallel-size " +
                     std::to_string(hosts.size()) + "\n";
  }
  exported.remarks = unknown_of(cluster, selected, registry);
  return exported;
}

}  // namespace sparkplan::formats
