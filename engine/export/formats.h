#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/export/export.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

/// The single formats. All are pure. `hosts` are all hosts of the cluster, in the order of their ranks; `selected` are
/// those to print, never none.
namespace sparkplan::formats {

using Hosts = std::vector<const NodeSpec*>;
using Variables = std::map<std::string, std::string>;

/// The address at which all other nodes reach a node for data. It is the first fabric address if all nodes have theirs
/// in one network, as on a switch. Otherwise, as in a ring, it is the SSH address.
std::string data_address(const NodeSpec& node, const Hosts& hosts);

/// The variables of a node's nccl section that can be derived from the file. Devices and interfaces that only the
/// node's facts name are not included.
Variables nccl_variables_of(const Cluster& cluster, const NodeSpec& node, const Registry& registry);
/// The paths that begin with a folder of the node's nccl section, as a word of a shell:
/// LD_LIBRARY_PATH='/opt/nccl/lib'"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}". Not for containers: the folder is the
/// host's.
std::vector<std::string> nccl_paths_of(const Cluster& cluster, const NodeSpec& node, const Registry& registry);
/// MASTER_ADDR, MASTER_PORT and WORLD_SIZE, which all ranks of a job share.
Variables job_of(const Hosts& hosts);
/// All of these, and NODE_RANK.
Variables variables_of(const Cluster& cluster, const NodeSpec& node, const Hosts& hosts, const Registry& registry);
std::size_t rank_of(const NodeSpec& node, const Hosts& hosts);
/// Remarks that name the nodes whose HCAs or interfaces are missing from the file. Empty if no node lacks them.
std::vector<std::string> unknown_of(const Cluster& cluster, const Hosts& selected, const Registry& registry);
/// The cluster's name as other tools take it: letters, digits and "_".
std::string group_name(const std::string& name);

/// A text as JSON, which is also valid YAML.
std::string json_text(const std::string& text);

/// The jump hosts as ProxyJump takes them: "operator@10.0.0.1:22,[fd00::1]:22".
std::string jump_list(const std::vector<SshTarget>& jumps);
std::string ssh_config(const Hosts& hosts, const SshTargets& targets);
ExportedText ansible(const Cluster& cluster, const Hosts& hosts, const SshTargets& targets);
ExportedText slurm(const Cluster& cluster, const Hosts& hosts, const Hosts& selected);
std::string prometheus(const Cluster& cluster, const Hosts& hosts);
ExportedText hosts_file(const Cluster& cluster, const Hosts& selected, const Registry& registry);

/// For launchers of jobs.
std::string hostfile(const Hosts& hosts, const Hosts& selected);
ExportedText environment(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry);
ExportedText torchrun(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry);
ExportedText mpirun(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry);
ExportedText vllm(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry);
ExportedText ray(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry);

/// For jobs in containers.
ExportedText docker(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry);
ExportedText compose(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry);

/// A drawing for people: the cables between the ports of the nodes, and the addresses on both ends.
std::string topology(const Cluster& cluster);
/// The drawing as an SVG file, for a browser or as an image in a page.
std::string svg(const Cluster& cluster);

}  // namespace sparkplan::formats
