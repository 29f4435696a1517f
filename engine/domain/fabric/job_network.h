#pragma once

#include <string>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/model/facts.h"

/// The network in which the processes of one distributed job find each other. Everything here is pure.
namespace sparkplan {

/// The port of `node` on which every one of `members` reaches it: its first fabric address, if all members have theirs
/// in one network, as on a cable or a switch. Null otherwise, as in a ring or with link-local addresses. Points into
/// `node`.
const FabricPort* job_port(const NodeSpec& node, const std::vector<const NodeSpec*>& members);

/// The nodes that share jobs with `node`: those with the same transport. The controller cannot start processes in a
/// directory tree.
std::vector<const NodeSpec*> job_members(const Cluster& cluster, const NodeSpec& node);

/// How the processes of a job reach one node.
struct JobEndpoint {
  std::string address;                ///< Empty: unknown.
  std::string interface;              ///< The interface with that address; empty: unknown.
  std::vector<std::string> networks;  ///< Shared by all members, the network of `address` first: "10.0.0.0/24".
  bool on_fabric = false;             ///< False: it is the address of the SSH connection.
};

/// The address of job_port(), with its interface. Otherwise the address at which the node's SSH server was reached. If
/// the facts do not show it, the node's address in cluster.yaml, if it is an IP address.
JobEndpoint job_endpoint(const Cluster& cluster, const NodeSpec& node, const Facts& facts);

}  // namespace sparkplan
