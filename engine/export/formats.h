#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

/// The single formats. All are pure; `hosts` is never empty.
namespace sparkplan::formats {

using Hosts = std::vector<const NodeSpec*>;

/// Where all others reach a node for data: its first fabric address where those of all of them are in one network,
/// as on a switch; else, as in a ring, where SSH reaches it.
std::string data_address(const NodeSpec& node, const Hosts& hosts);

std::string ssh_config(const Hosts& hosts);
std::string ansible(const Cluster& cluster, const Hosts& hosts);
std::string slurm(const Cluster& cluster, const Hosts& hosts);
std::string prometheus(const Cluster& cluster, const Hosts& hosts);

std::string hostfile(const Hosts& hosts);
std::string torchrun(const Hosts& hosts);
std::string environment(const Cluster& cluster, const Hosts& hosts, const Registry& registry);
std::string docker(const Cluster& cluster, const Hosts& hosts, const Registry& registry);

/// A drawing for people: which port of which node leads where, and the addresses on both ends.
std::string topology(const Cluster& cluster);

}  // namespace sparkplan::formats
