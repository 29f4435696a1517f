#include "engine/launch/job_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/doctor/check_status.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/launch/container_rank.h"
#include "engine/model/address.h"
#include "engine/model/ipv4.h"
#include "engine/resource/secret_artifact.h"
#include "engine/resource/shell_environment.h"
#include "engine/verify/levels/nccl_places.h"

namespace sparkplan {
namespace {

using Variables = std::map<std::string, std::string>;

/// A different value on one rank would make the ranks wait for each other for ever.
constexpr std::array<std::string_view, 7> kOwnVariables{"RANK",        "LOCAL_RANK",  "WORLD_SIZE",      "NODE_RANK",
                                                        "MASTER_ADDR", "MASTER_PORT", "LOCAL_WORLD_SIZE"};

/// Far above four devices or a path, and few enough that the variables of all nodes fit into one command.
constexpr std::size_t kLongestValue = std::size_t{16} << 10;

/// Open MPI passes the rank's number in variables with other names. A constant: no text of the user becomes part of it.
constexpr std::string_view kMpiRankScript =
    "export RANK=\"$OMPI_COMM_WORLD_RANK\" LOCAL_RANK=\"$OMPI_COMM_WORLD_LOCAL_RANK\" "
    "NODE_RANK=\"$OMPI_COMM_WORLD_NODE_RANK\"; NODE_RANK=$((RANK / LOCAL_WORLD_SIZE)); exec \"$@\"";

Variables variables_of(const JobRequest& request, const std::vector<JobMember>& members, std::size_t at) {
  Variables variables = members[at].environment;
  for (const auto& [name, value] : request.environment) variables[name] = value;
  variables["MASTER_ADDR"] = members.front().address;
  variables["MASTER_PORT"] = std::to_string(request.master_port);
  variables["WORLD_SIZE"] = std::to_string(static_cast<int>(members.size()) * request.ranks_per_node);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(request.ranks_per_node);
  return variables;
}

/// The ranks that sparkplan starts itself on the node `at`.
std::vector<RankSpec> own_ranks(const JobRequest& request, const std::vector<JobMember>& members, std::size_t at) {
  std::vector<RankSpec> ranks;
  for (int local = 0; local < request.ranks_per_node; ++local) {
    RankSpec rank{static_cast<int>(at) * request.ranks_per_node + local, request.argv,
                  variables_of(request, members, at)};
    rank.environment["RANK"] = std::to_string(rank.rank);
    rank.environment["LOCAL_RANK"] = std::to_string(local);
    rank.environment["NODE_RANK"] = std::to_string(at);
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

std::vector<std::string> torchrun_argv(const JobRequest& request, const std::vector<JobMember>& members,
                                       std::size_t at) {
  std::vector<std::string> argv{"torchrun",
                                "--nnodes",
                                std::to_string(members.size()),
                                "--nproc-per-node",
                                std::to_string(request.ranks_per_node),
                                "--node-rank",
                                std::to_string(at),
                                "--master-addr",
                                members.front().address,
                                "--master-port",
                                std::to_string(request.master_port)};
  // torchrun takes a Python script, or `-m MODULE`, or any program after --no-python.
  const std::string& first = request.argv.front();
  if (!first.ends_with(".py") && first != "-m" && first != "--module") argv.emplace_back("--no-python");
  argv.insert(argv.end(), request.argv.begin(), request.argv.end());
  return argv;
}

/// The variables that have the same value on all nodes. mpirun takes them from its own environment, because the
/// arguments of a process can be read by every user of the node.
Variables shared_variables(const JobRequest& request, const std::vector<JobMember>& members) {
  Variables shared = variables_of(request, members, 0);
  for (std::size_t at = 1; at < members.size(); ++at) {
    const Variables others = variables_of(request, members, at);
    std::erase_if(shared, [&](const auto& variable) {
      const auto found = others.find(variable.first);
      return found == others.end() || found->second != variable.second;
    });
  }
  return shared;
}

/// mpirun gives the variables of each node to the ranks of that node.
std::vector<std::string> mpirun_argv(const JobRequest& request, const std::vector<JobMember>& members,
                                     const Variables& shared, const std::string& id) {
  std::vector<std::string> argv{"mpirun"};
  for (std::size_t at = 0; at < members.size(); ++at) {
    if (at > 0) argv.emplace_back(":");
    const std::string ranks = std::to_string(request.ranks_per_node);
    // Without binding: with two ranks, Open MPI would bind each to one core.
    argv.insert(argv.end(), {"-np", ranks, "--host", members[at].address + ":" + ranks, "--bind-to", "none"});
    auto variables = variables_of(request, members, at);
    variables[std::string(kJobVariable)] = id;
    for (const auto& [name, value] : variables) {
      argv.insert(argv.end(), {"-x", shared.contains(name) ? name : name + "=" + value});
    }
    argv.insert(argv.end(), {"sh", "-c", std::string(kMpiRankScript), "rank"});
    argv.insert(argv.end(), request.argv.begin(), request.argv.end());
  }
  return argv;
}

std::vector<RankSpec> ranks_of(const JobRequest& request, const std::vector<JobMember>& members, std::size_t at,
                               const std::string& id) {
  switch (request.launcher) {
    case Launcher::kNone:
      return own_ranks(request, members, at);
    case Launcher::kTorchrun: {
      RankSpec rank{static_cast<int>(at), torchrun_argv(request, members, at), variables_of(request, members, at)};
      rank.environment["NODE_RANK"] = std::to_string(at);
      return {std::move(rank)};
    }
    case Launcher::kMpirun:
      break;
  }
  if (at > 0) return {};
  // mpirun refuses root without these, and other users do not need them.
  Variables shared = shared_variables(request, members);
  RankSpec rank{0, mpirun_argv(request, members, shared, id), {}};
  rank.environment = std::move(shared);
  rank.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
  rank.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  return {std::move(rank)};
}

/// Why no rank can have the value: "has a control character"; empty if one can. cluster.yaml has no control characters
/// in a variable, so they come from the node.
std::string fault_of(const std::string& value) {
  if (has_control_character(value)) return "has a control character";
  if (value.size() <= kLongestValue) return "";
  return "has " + std::to_string(value.size()) + " bytes, and at most " + std::to_string(kLongestValue) +
         " are passed on";
}

/// The half with an address that comes first; nothing without one.
std::optional<ObservedPort> first_half(const NodeSpec& node, const Facts* facts, const std::string& profile) {
  Facts none;
  none.live = false;
  for (auto& port : observed_ports(node, facts != nullptr ? *facts : none, profile)) {
    port.link = nullptr;  // It may point into `none`.
    if (!port.address.empty()) return std::move(port);
  }
  return std::nullopt;
}

/// True for an address that means the same machine everywhere. A name may mean something else on a node.
bool is_public(const std::string& address) {
  if (const auto ipv4 = parse_ipv4(address)) return !address.starts_with("127.");
  return is_version_6(address) && address != "::1";
}

/// One spelling for equal addresses, also for an IPv4 address within IPv6.
std::string one_spelling(const std::string& address) {
  constexpr std::string_view kIpv4Within = "::ffff:";
  std::string one = canonical_address(address);
  return one.starts_with(kIpv4Within) && one.find('.') != std::string::npos ? one.substr(kIpv4Within.size()) : one;
}

/// True for a text that sshd can report as its own address: the usual spelling of an address that other machines reach.
/// Another spelling could be another node's address, and "0.0.0.0" is the machine that connects to it.
bool can_be_of_sshd(const std::string& text) {
  if (const auto ipv4 = parse_ipv4(text)) return is_host_address(*ipv4);
  if (!is_ipv6(text) || text.find('%') != std::string::npos || canonical_address(text) != text) return false;
  // Behind "::" are the unspecified address, loopback, and IPv4 addresses within IPv6. "ff" begins a multicast address,
  // and a link-local one says nothing without its zone.
  return !text.starts_with("::") && !text.starts_with("ff") && !text.starts_with("fe80:");
}

/// Which node has an address: in the file, or by what the nodes of the job report of their interfaces.
class AddressOwners {
 public:
  AddressOwners(const Cluster& cluster, const std::vector<const NodeSpec*>& nodes,
                const std::vector<const Facts*>& facts) {
    for (const NodeSpec& node : cluster.nodes) {
      add(node.address, node);
      for (const FabricPort& port : node.fabric) add(port.address, node);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (facts[i] == nullptr) continue;
      for (const LinkFacts& link : facts[i]->links) {
        for (const std::string& one : link.addresses) add(one.substr(0, one.find('/')), *nodes[i]);
      }
    }
  }

  /// True also if the node itself has the address as well: nothing says which of them is right.
  bool is_of_another(const std::string& address, const NodeSpec& node) const {
    const auto found = owners_.find(one_spelling(address));
    return found != owners_.end() && found->second != node.name.str();
  }

 private:
  void add(const std::string& address, const NodeSpec& node) {
    if (address.empty()) return;
    const auto [owner, is_new] = owners_.emplace(one_spelling(address), node.name.str());
    if (!is_new && owner->second != node.name.str()) owner->second.clear();
  }

  std::map<std::string, std::string> owners_;  ///< The node's name; empty: several nodes.
};

/// The address that the node claims for itself; empty if the claim cannot be true.
std::string claimed_address(const NodeSpec& node, const Facts* facts, const AddressOwners& owners) {
  if (facts == nullptr || !can_be_of_sshd(facts->ssh_server_address)) return {};
  return owners.is_of_another(facts->ssh_server_address, node) ? "" : facts->ssh_server_address;
}

std::vector<std::string> management_addresses(const std::vector<const NodeSpec*>& nodes,
                                              const std::vector<const Facts*>& facts, const AddressOwners& owners) {
  std::vector<std::string> claimed;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool known = is_public(nodes[i]->address);
    claimed.push_back(known ? "" : claimed_address(*nodes[i], facts[i], owners));
  }
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    // Two nodes with one claim: nothing says which of them is right.
    const bool is_alone = std::count(claimed.begin(), claimed.end(), claimed[i]) == 1;
    addresses.push_back(!claimed[i].empty() && is_alone ? claimed[i] : nodes[i]->address);
  }
  return addresses;
}

/// True if the file has the address of the half. Else it is the node's own claim.
bool is_declared(const ObservedPort& half, const NodeSpec& node) {
  return std::ranges::any_of(node.fabric, [&](const FabricPort& port) { return port.address == half.address; });
}

}  // namespace

std::vector<std::string> data_addresses(const std::vector<const NodeSpec*>& nodes,
                                        const std::vector<const Facts*>& facts, const Cluster& cluster) {
  const AddressOwners owners(cluster, nodes, facts);
  std::vector<std::string> fabric;
  std::optional<ObservedPort> first;
  bool shared = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto half = first_half(*nodes[i], facts[i], cluster.profile);
    if (i == 0) first = half;
    // A link-local address is the node's own claim, and could belong to any half of another node.
    const bool is_doubtful = half && !is_declared(*half, *nodes[i]) && owners.is_of_another(half->address, *nodes[i]);
    shared = shared && half && first && !is_doubtful && share_network(*half, *first);
    if (half) fabric.push_back(half->address);
  }
  return shared ? fabric : management_addresses(nodes, facts, owners);
}

std::map<std::string, std::string> nodes_by_address(const std::vector<JobMember>& members) {
  std::map<std::string, std::string> nodes;
  for (const JobMember& member : members) nodes.emplace(member.address, member.node->name.str());
  for (const JobMember& member : members) {
    nodes.emplace(member.node->address, member.node->name.str());
    for (const FabricPort& half : member.node->fabric) nodes.emplace(half.address, member.node->name.str());
  }
  nodes.erase("");
  return nodes;
}

Variables rank_environment(const Cluster& cluster, const NodeSpec& node, const Facts& facts, const Registry& registry) {
  Variables variables;
  if (const auto section = node.sections.find("profile_env"); section != node.sections.end()) {
    const std::map<std::string, NodeExports> no_exports;
    for (const ResourceType* type : registry.of_section("profile_env")) {
      for (const auto& one : type->desired({cluster, node, no_exports}, section->second, facts).resources) {
        const Value* value = one.desired.find("value");
        if (value != nullptr && value->is_string()) variables[one.id.name] = *value->string();
      }
    }
  }
  const NcclEnvironment nccl = nccl_environment(cluster, node, facts, registry);
  for (const auto& [name, value] : nccl.variables) {
    if (value.empty()) continue;
    std::string& now = variables[name];
    // As in a login shell, the library's folder goes in front of the folders that profile_env names.
    const bool in_front = nccl.in_front.contains(name) && !now.empty();
    now = in_front ? value + ":" + now : value;
  }
  return variables;
}

std::vector<std::string> secret_names(const NodeSpec& node) {
  std::vector<std::string> names;
  const auto section = node.sections.find("profile_env");
  if (section == node.sections.end()) return names;
  for (const MapEntry& entry : entries_of(&section->second)) {
    if (is_variable_name(entry.key) && secret_reference(entry.value) != nullptr) names.push_back(entry.key);
  }
  return names;
}

Result<void> check_request(const JobRequest& request) {
  if (request.argv.empty() || request.argv.front().empty()) {
    return failure(ErrorCode::kInvalidInput, "no command is given", "sparkplan run -- python3 train.py");
  }
  SPARK_CHECK(check_container(request));
  for (const auto name : kOwnVariables) {
    if (request.environment.contains(std::string(name))) {
      return failure(ErrorCode::kInvalidInput, "--env cannot set " + std::string(name),
                     "it follows from the nodes, --ranks-per-node and --master-port");
    }
  }
  return {};
}

std::vector<PreflightCheck> judge_secrets(const JobRequest& request, const std::vector<JobMember>& members) {
  if (request.launcher != Launcher::kMpirun) return {};
  std::map<std::string, std::vector<std::string>> lacking;
  for (const JobMember& member : members) {
    for (const std::string& name : member.secrets) {
      if (!request.environment.contains(name)) lacking[name].push_back(member.node->name.str());
    }
  }
  std::vector<PreflightCheck> checks;
  for (auto& [name, nodes] : lacking) {
    checks.push_back({"secrets", std::move(nodes), CheckStatus::kSkip,
                      "the ranks have no " + name + ": mpirun passes no secret of profile_env on",
                      "if the job needs it, use --launcher torchrun or none, or pass --env " + name + "=VALUE"});
  }
  return checks;
}

std::vector<PreflightCheck> judge_environment(const JobRequest& request, const std::vector<JobMember>& members) {
  std::vector<PreflightCheck> checks;
  for (const JobMember& member : members) {
    for (const auto& [name, value] : member.environment) {
      const std::string fault = request.environment.contains(name) ? "" : fault_of(value);
      if (fault.empty()) continue;
      const std::string& node = member.node->name.str();
      checks.push_back({"environment",
                        {node},
                        CheckStatus::kFail,
                        "its " + name + " " + fault,
                        "look at the names of its interfaces and RDMA devices; or leave " + node + " out with --only"});
      break;
    }
  }
  return checks;
}

Result<std::vector<NodeJob>> plan_job(const JobRequest& request, const std::vector<JobMember>& members,
                                      const std::string& id) {
  SPARK_CHECK(check_request(request));
  const bool contained = !request.image.empty();
  std::vector<NodeJob> jobs;
  for (std::size_t at = 0; at < members.size(); ++at) {
    StartJob start;
    start.id = id;
    start.ranks = ranks_of(request, members, at, id);
    // mpirun starts ranks there; this node's starter ends them.
    start.hold = start.ranks.empty();
    start.directory = contained ? "" : request.directory;
    for (RankSpec& rank : start.ranks) {
      if (contained) rank = in_container(std::move(rank), request, members[at], id);
    }
    if (contained) start.containers.engine = to_string(request.engine);
    start.time_limit_ms = request.time_limit.count();
    start.grace_ms = request.grace.count();
    start.together = true;
    // mpirun would pass them only to the ranks of the node on which it runs.
    if (request.launcher != Launcher::kMpirun) start.secrets = members[at].secrets;
    start.who = request.who;
    start.command = cut_text(join(request.argv, " "), kLongestJobCommand);
    jobs.push_back({members[at].node, std::move(start)});
  }
  return jobs;
}

Result<std::pair<std::string, std::string>> parse_assignment(const std::string& text) {
  const auto equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const bool is_name = !name.empty() && !is_digit(name.front()) &&
                       std::all_of(name.begin(), name.end(), [](char c) { return is_alphanumeric(c) || c == '_'; });
  if (equals == std::string::npos || !is_name) {
    return failure(ErrorCode::kInvalidInput, in_quotes(text) + " is no NAME=VALUE",
                   "begin it with a variable's name: --env NCCL_DEBUG=INFO");
  }
  return std::pair(name, text.substr(equals + 1));
}

}  // namespace sparkplan
