#include "engine/domain/storage/storage_network.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

/// The default of resources/hosts.
constexpr const char* kDefaultSuffix = "-fabric";

/// Empty for a mount without a server, and for an IPv6 address, because the fabric has no IPv6.
std::string server_of(const StorageMount& mount) {
  if (mount.nvme) return mount.nvme->address;
  return mount.kind == StorageKind::kNfs ? mount.what.substr(0, mount.what.find(':')) : std::string();
}

std::vector<std::string> addresses_of(const std::string& server, const ClusterView& view) {
  if (ipv4_number(server)) return {server};
  std::vector<std::string> addresses;
  const auto hosts = view.self.sections.find("hosts");
  if (hosts == view.self.sections.end()) return addresses;
  const std::string suffix = hosts->second.text_or("suffix", kDefaultSuffix);
  if (!server.ends_with(suffix)) return addresses;
  const std::string_view name = std::string_view(server).substr(0, server.size() - suffix.size());
  for (const NodeSpec& node : view.cluster.nodes) {
    if (node.name.str() != name) continue;
    for (const FabricPort& half : node.fabric) addresses.push_back(half.address);
  }
  return addresses;
}

}  // namespace

std::vector<ResourceId> fabric_of_storage(const ClusterView& view, const Facts& own,
                                          const std::vector<StorageMount>& mounts) {
  std::vector<ResourceId> interfaces;
  std::vector<std::string> servers;
  for (const StorageMount& mount : mounts) {
    const auto addresses = addresses_of(server_of(mount), view);
    servers.insert(servers.end(), addresses.begin(), addresses.end());
  }
  if (servers.empty()) return interfaces;
  auto ports = fabric_interfaces(view.self, own, view.cluster.profile).interfaces;
  auto others = other_interfaces(view.self, own, view.cluster.profile).interfaces;
  std::move(others.begin(), others.end(), std::back_inserter(ports));
  for (const ObservedPort& port : ports) {
    const bool leads_there = std::ranges::any_of(
        servers, [&](const std::string& server) { return in_one_network(server, port.address, port.prefix_length); });
    if (leads_there && !port.interface.empty()) interfaces.push_back({"netplan", port.interface});
  }
  return interfaces;
}

}  // namespace sparkplan
