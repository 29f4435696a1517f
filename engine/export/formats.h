#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/export/export.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

/// The single formats. All are pure. `hosts` are all hosts of the cluster, in the order of their ranks; `selected` are
/// those to print, never none.
namespace sparkplan::formats {

using Hosts = std::vector<const NodeSpec*>;

/// The address at which all other nodes reach a node for data. It is the first fabric address if all nodes have theirs
/// in one network, as on a switch. Otherwise, as in a ring, it is the SSH address.
std::string data_address(const NodeSpec& node, const Hosts& hosts);

std::string ssh_config(const Hosts& hosts);
std::string ansible(const Cluster& cluster, const Hosts& hosts);
ExportedText slurm(const Cluster& cluster, const Hosts& hosts, const Hosts& selected);
std::string prometheus(const Cluster& cluster, const Hosts& hosts);

std::string hostfile(const Hosts& hosts, const Hosts& selected);
std::string torchrun(const Hosts& hosts, const Hosts& selected);
ExportedText environment(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry);
ExportedText docker(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry);

/// A drawing for people: the cables between the ports of the nodes, and the addresses on both ends.
std::string topology(const Cluster& cluster);

}  // namespace sparkplan::formats
