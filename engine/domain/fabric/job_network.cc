#include "engine/domain/fabric/job_network.h"

#include <algorithm>

#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/model/address.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

const FabricPort* first_address(const NodeSpec& node) {
  const auto found = std::ranges::find_if(node.fabric, [](const FabricPort& one) { return !one.address.empty(); });
  return found == node.fabric.end() ? nullptr : &*found;
}

std::string network_of(const std::string& address_with_length) {
  const auto parsed = parse_ipv4_interface(address_with_length);
  return parsed ? parsed->network().str() : "";
}

bool has_address_in(const NodeSpec& node, const std::string& network) {
  return std::any_of(node.fabric.begin(), node.fabric.end(), [&](const FabricPort& one) {
    return !one.address.empty() && network_of(one.address_text()) == network;
  });
}

/// The networks of the node's ports in which all members have an address, the one of `first` at the front.
std::vector<std::string> shared_networks(const NodeSpec& node, const FabricPort& first,
                                         const std::vector<const NodeSpec*>& members) {
  std::vector<std::string> networks{network_of(first.address_text())};
  for (const FabricPort& port : node.fabric) {
    const std::string network = port.address.empty() ? "" : network_of(port.address_text());
    const bool known = std::find(networks.begin(), networks.end(), network) != networks.end();
    const bool shared =
        std::all_of(members.begin(), members.end(), [&](const NodeSpec* one) { return has_address_in(*one, network); });
    if (!network.empty() && !known && shared) networks.push_back(network);
  }
  return networks;
}

JobEndpoint endpoint_on(const FabricPort& port, const Cluster& cluster, const NodeSpec& node, const Facts& facts) {
  JobEndpoint endpoint{port.address, "", shared_networks(node, port, job_members(cluster, node)), true};
  for (const ObservedPort& named : fabric_interfaces(node, facts, cluster.profile).interfaces) {
    if (named.half == port.half) endpoint.interface = named.interface;
  }
  return endpoint;
}

JobEndpoint endpoint_of_ssh(const NodeSpec& node, const Facts& facts) {
  JobEndpoint endpoint;
  endpoint.address = facts.ssh_server_address;
  if (endpoint.address.empty() && is_ip_address(node.address)) endpoint.address = node.address;
  const auto names = links_with_address(endpoint.address, facts.links);
  if (names.size() != 1) return endpoint;
  endpoint.interface = *names.begin();
  for (const LinkFacts& link : facts.links) {
    if (link.name != endpoint.interface) continue;
    for (const std::string& address : link.addresses) {
      if (address.substr(0, address.find('/')) != endpoint.address) continue;
      if (std::string network = network_of(address); !network.empty()) endpoint.networks = {std::move(network)};
    }
  }
  return endpoint;
}

}  // namespace

const FabricPort* job_port(const NodeSpec& node, const std::vector<const NodeSpec*>& members) {
  const FabricPort* own = first_address(node);
  const bool shared = own != nullptr && std::all_of(members.begin(), members.end(), [&](const NodeSpec* one) {
                        const FabricPort* other = first_address(*one);
                        return other != nullptr && share_network(*own, *other);
                      });
  return shared ? own : nullptr;
}

std::vector<const NodeSpec*> job_members(const Cluster& cluster, const NodeSpec& node) {
  std::vector<const NodeSpec*> members;
  for (const NodeSpec& one : cluster.nodes) {
    if (one.transport == node.transport) members.push_back(&one);
  }
  return members;
}

JobEndpoint job_endpoint(const Cluster& cluster, const NodeSpec& node, const Facts& facts) {
  const FabricPort* port = job_port(node, job_members(cluster, node));
  return port == nullptr ? endpoint_of_ssh(node, facts) : endpoint_on(*port, cluster, node, facts);
}

}  // namespace sparkplan
