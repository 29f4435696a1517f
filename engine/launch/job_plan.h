#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/domain/container/job_container.h"
#include "engine/launch/job_report.h"
#include "engine/launch/job_run.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/resource/registry.h"

/// From a request to the processes of each node. Pure.
namespace sparkplan {

enum class Launcher : std::uint8_t {
  kNone,      ///< sparkplan starts each rank.
  kTorchrun,  ///< One torchrun per node, which starts the node's ranks.
  kMpirun,    ///< One mpirun on the first node, which starts all ranks over ssh.
};

/// The request of the user.
struct JobRequest {
  std::vector<std::string> argv;
  Launcher launcher = Launcher::kNone;
  int ranks_per_node = 1;
  std::map<std::string, std::string> environment;  ///< --env
  std::string directory;                           ///< Empty: the home of the login user.
  int master_port = 29500;                         ///< Source: torchrun, its default.
  std::chrono::milliseconds time_limit{0};
  std::chrono::milliseconds grace{10'000};
  std::string who = {};    ///< "anna@laptop"
  std::string image = {};  ///< Empty: no container.
  ContainerEngine engine = ContainerEngine::kDocker;
};

/// A node that takes part, in the order of its rank.
struct JobMember {
  const NodeSpec* node = nullptr;
  std::string address;                             ///< For the ranks of other nodes.
  std::map<std::string, std::string> environment;  ///< See rank_environment().
  ContainerHardware hardware = {};                 ///< For the node's containers.
  std::vector<std::string> secrets = {};           ///< See secret_names().
  std::vector<std::string> hub_models = {};        ///< Directories on the node, for its containers.
};

/// The addresses by which the ranks reach each other: the first half of each node if all nodes have one in the same
/// network, else the management addresses. A node's own answer replaces only a name or a loopback address of the file.
/// It counts only if no other node of the cluster has that address in the file, and none of `nodes` reports it. The
/// same holds for a link-local address of a half; if it does not count, all nodes meet at the management addresses.
std::vector<std::string> data_addresses(const std::vector<const NodeSpec*>& nodes,
                                        const std::vector<const Facts*>& facts, const Cluster& cluster);

/// The name of the node at each address that its connections may have: for ranks, of each half, and of SSH. If several
/// nodes have an address, it belongs to the first of them.
std::map<std::string, std::string> nodes_by_address(const std::vector<JobMember>& members);

/// The variables that the cluster implies for every rank of a node: those of `profile_env` and of the fabric. Secrets
/// are left out: only the node has their values. See secret_names().
std::map<std::string, std::string> rank_environment(const Cluster& cluster, const NodeSpec& node, const Facts& facts,
                                                    const Registry& registry);

/// The variables of `profile_env` with a secret, whose values the process starter reads on the node.
std::vector<std::string> secret_names(const NodeSpec& node);

/// Errors: kInvalidInput (no command, a variable that follows from the nodes, an image that no engine takes).
Result<void> check_request(const JobRequest& request);

/// One check per secret of `profile_env` that the ranks lack: mpirun passes on the variables of its own node
/// only, and the value must be on no command line. A variable of `request` with that name is no secret of the node.
std::vector<PreflightCheck> judge_secrets(const JobRequest& request, const std::vector<JobMember>& members);

/// A failed check for each member with a variable that its report has filled with control characters, or with more text
/// than all names of a machine have. mpirun gets the variables of all members on the first node, which would refuse
/// them in place of that member. A variable of `request` counts for nothing here.
std::vector<PreflightCheck> judge_environment(const JobRequest& request, const std::vector<JobMember>& members);

/// The processes of each node. Errors: those of check_request().
Result<std::vector<NodeJob>> plan_job(const JobRequest& request, const std::vector<JobMember>& members,
                                      const std::string& id);

/// "A=b": the name and the value. Errors: kInvalidInput.
Result<std::pair<std::string, std::string>> parse_assignment(const std::string& text);

}  // namespace sparkplan
