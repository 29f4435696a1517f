#include "resources/ssh_trust/peers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "engine/core/tree.h"
#include "resources/ssh_trust/addresses.h"
#include "resources/ssh_trust/exports.h"
#include "resources/ssh_trust/public_key.h"
#include "resources/ssh_trust/shared_home.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr const char* kOwnType = "ssh_trust";
constexpr const char* kSection = "ssh_trust";
constexpr const char* kUsualSuffix = "-fabric";
constexpr int kUsualPort = 22;

const Value* section_of(const NodeSpec& node, const std::string& section) {
  const auto found = node.sections.find(section);
  return found == node.sections.end() || found->second.is_null() ? nullptr : &found->second;
}

bool takes_part(const NodeSpec& node) {
  const Value* section = section_of(node, kSection);
  return node.transport == TransportKind::kSsh && section != nullptr && !users_of(*section).empty();
}

const Value* exported_by(const NodeSpec& node, const ClusterView& view) {
  const auto of_node = view.exports.find(node.name.str());
  if (of_node == view.exports.end()) return nullptr;
  const auto of_type = of_node->second.find(kOwnType);
  return of_type == of_node->second.end() || !of_type->second.is_map() ? nullptr : &of_type->second;
}

/// Where other nodes reach the peer; empty if the file's address has a zone and is valid on one machine only.
std::string management_address(const Peer& peer) {
  return has_zone(peer.spec->address) ? std::string() : peer.spec->address;
}

/// A name for the first fabric address. In a cluster without fabric ports, a name for the management address, if
/// view.self has the hosts section.
void name_fabric(Peer& peer, const ClusterView& view) {
  const Value* hosts = section_of(view.self, "hosts");
  const std::string suffix = hosts == nullptr ? kUsualSuffix : hosts->text_or("suffix", kUsualSuffix);
  const auto has_address = [](const FabricPort& one) { return !one.address.empty(); };
  const auto& fabric = peer.spec->fabric;
  if (const auto first = std::ranges::find_if(fabric, has_address); first != fabric.end()) {
    peer.fabric_name_address = first->address;
  } else if (hosts != nullptr &&
             std::ranges::all_of(view.cluster.nodes, [](const NodeSpec& node) { return node.fabric.empty(); })) {
    peer.fabric_name_address = management_address(peer);
  }
  if (!peer.fabric_name_address.empty()) peer.fabric_name = peer.name() + suffix;
}

/// All names and addresses of the peer without duplicates: node name, management address, fabric name, fabric
/// addresses.
std::vector<std::string> names_of(const Peer& peer) {
  std::vector<std::string> names{peer.name(), management_address(peer), peer.fabric_name, peer.fabric_name_address};
  for (const FabricPort& fabric : peer.spec->fabric) names.push_back(fabric.address);
  std::vector<std::string> once;
  for (std::string& name : names) {
    if (!name.empty() && std::ranges::find(once, name) == once.end()) once.push_back(std::move(name));
  }
  return once;
}

/// The addresses that cluster.yaml gives to nodes, canonical, each with its node.
using AddressOwners = std::multimap<std::string, const NodeSpec*>;

AddressOwners owners_in(const Cluster& cluster) {
  AddressOwners owners;
  for (const NodeSpec& node : cluster.nodes) {
    if (const auto address = canonical_ip(node.address)) owners.emplace(*address, &node);
    for (const FabricPort& fabric : node.fabric) {
      if (const auto address = canonical_ip(fabric.address)) owners.emplace(*address, &node);
    }
  }
  return owners;
}

std::set<std::string> exported_addresses(const Value* exported) {
  std::set<std::string> own;
  if (exported == nullptr) return own;
  for (const std::string& text : texts_in(exported->find("addresses"))) {
    if (const auto one = canonical_ip(text); one && is_global_unicast(*one)) own.insert(*one);
  }
  return own;
}

/// Exported addresses count only if the file cannot tell the peer's source address: a name, an address with a zone, a
/// jump host, a port other than 22, or an address of several nodes. Otherwise they are ignored, so that a node cannot
/// choose where its key is accepted from.
bool needs_exported_addresses(const Peer& peer) { return !peer.has_fixed_address; }

void mark_fixed_addresses(std::vector<Peer>& peers, const Cluster& cluster) {
  std::map<std::string, int> nodes_at;
  for (const NodeSpec& node : cluster.nodes) {
    if (const auto address = canonical_ip(node.address)) ++nodes_at[*address];
  }
  for (Peer& peer : peers) {
    const auto address = canonical_ip(peer.spec->address);
    peer.has_fixed_address =
        address && nodes_at[*address] == 1 && peer.spec->ssh.port == kUsualPort && peer.spec->ssh.jump.empty();
  }
}

/// A node must not claim an address that the file gives to another node: it could let any key in from there.
void drop_addresses_of_others(std::vector<Peer>& peers, const Cluster& cluster) {
  std::optional<AddressOwners> owners;  // Built on demand: hardly ever needed, and this runs on every node.
  for (Peer& peer : peers) {
    if (peer.own.empty() || !needs_exported_addresses(peer)) continue;
    if (!owners) owners = owners_in(cluster);
    std::erase_if(peer.own, [&](const std::string& address) {
      const auto [begin, end] = owners->equal_range(address);
      return begin != end && std::none_of(begin, end, [&](const auto& one) { return one.second == peer.spec; });
    });
  }
}

/// A node's name in the file is never used as another node's fabric name.
void drop_names_of_others(std::vector<Peer>& peers, const Cluster& cluster) {
  std::set<std::string_view> names;
  for (const NodeSpec& node : cluster.nodes) names.insert(node.name.str());
  for (Peer& peer : peers) {
    if (!names.contains(peer.fabric_name)) continue;
    peer.fabric_name.clear();
    peer.fabric_name_address.clear();
  }
}

/// Behind an address translation, nodes share one address and differ in the port.
void mark_shared_names(std::vector<Peer>& peers) {
  const bool usual = std::ranges::all_of(peers, [](const Peer& peer) { return peer.spec->ssh.port == kUsualPort; });
  if (usual) return;
  std::map<std::string, int> counts;
  for (const Peer& peer : peers) {
    for (std::string& name : names_of(peer)) ++counts[std::move(name)];
  }
  for (Peer& peer : peers) {
    if (peer.spec->ssh.port == kUsualPort) continue;
    for (std::string& name : names_of(peer)) {
      if (counts[name] > 1) peer.shared_names.insert(std::move(name));
    }
  }
}

}  // namespace

std::vector<Peer> peers_of(const ClusterView& view) {
  std::vector<Peer> peers;
  for (const NodeSpec& node : view.cluster.nodes) {
    if (!takes_part(node)) continue;
    Peer peer;
    peer.spec = &node;
    peer.exported = exported_by(node, view);
    if (peer.exported != nullptr) peer.excess = excess_of(*peer.exported);
    if (!peer.excess.empty()) peer.exported = nullptr;
    peer.own = exported_addresses(peer.exported);
    name_fabric(peer, view);
    peers.push_back(std::move(peer));
  }
  mark_fixed_addresses(peers, view.cluster);
  drop_addresses_of_others(peers, view.cluster);
  drop_names_of_others(peers, view.cluster);
  mark_shared_names(peers);
  return peers;
}

std::vector<Peer> peers_of_user(const std::vector<Peer>& peers, const std::string& user) {
  std::vector<Peer> found;
  std::ranges::copy_if(peers, std::back_inserter(found), [&](const Peer& peer) {
    const std::vector<Value> users = users_of(*section_of(*peer.spec, kSection));
    return std::ranges::any_of(users, [&](const Value& one) { return *one.string() == user; });
  });
  return found;
}

const Value* export_of(const Peer& peer, const std::string& user) {
  const Value* users = peer.exported == nullptr ? nullptr : peer.exported->find("users");
  return users == nullptr ? nullptr : users->find(user);
}

std::set<std::string> source_addresses(const Peer& peer, bool local) {
  std::set<std::string> addresses;
  if (const auto address = canonical_ip(peer.spec->address)) addresses.insert(*address);
  for (const FabricPort& fabric : peer.spec->fabric) {
    if (const auto one = canonical_ip(fabric.address)) addresses.insert(*one);
  }
  if (needs_exported_addresses(peer)) addresses.insert(peer.own.begin(), peer.own.end());
  if (local) addresses.insert({"127.0.0.1", "::1"});
  return addresses;
}

std::optional<std::vector<std::string>> known_hosts_of(const Peer& peer, const std::string& cluster) {
  const Value* keys = peer.exported == nullptr ? nullptr : peer.exported->find("host_keys");
  if (keys == nullptr || keys->list_items() == nullptr) return std::nullopt;
  const std::string names = known_hosts_names(names_of(peer), peer.spec->ssh.port, peer.shared_names);
  const std::string mark = mark_of(cluster, peer.name());
  std::vector<std::string> lines;
  for (const Value& key : *keys->list_items()) {
    const std::string* text = key.string();
    if (text != nullptr && is_public_key(*text)) lines.push_back(known_hosts_line(names, *text, mark));
  }
  if (lines.empty()) return std::nullopt;
  return lines;
}

std::vector<Destination> destinations_of(const Peer& peer) {
  const int port = peer.spec->ssh.port;
  std::vector<Destination> found{{peer.name(), management_address(peer), port}};
  std::vector<std::string> seen{management_address(peer)};
  if (!peer.fabric_name.empty()) {
    found.push_back({peer.fabric_name, peer.fabric_name_address, port});
    seen.push_back(peer.fabric_name_address);
  }
  for (const FabricPort& fabric : peer.spec->fabric) {
    if (fabric.address.empty() || std::ranges::find(seen, fabric.address) != seen.end()) continue;
    found.push_back({{}, fabric.address, port});
    seen.push_back(fabric.address);
  }
  return found;
}

SharedHomes::SharedHomes(const std::vector<Peer>& peers_of_user, const std::string& user)
    : peers_(peers_of_user), user_(user) {
  for (const Peer& peer : peers_) {
    const Value* home = home_of(peer);
    if (home == nullptr) continue;
    for (const std::string_view text : identities_of(*home)) by_text_.emplace_back(text, home);
  }
  std::ranges::sort(by_text_);
}

bool SharedHomes::is_shared(const Peer& peer) const {
  const Value* own = home_of(peer);
  if (own == nullptr) return false;
  for (const std::string_view text : identities_of(*own)) {
    auto entry = std::lower_bound(by_text_.begin(), by_text_.end(), text,
                                  [](const auto& one, std::string_view wanted) { return one.first < wanted; });
    for (; entry != by_text_.end() && entry->first == text; ++entry) {
      if (entry->second != own && is_same_home(*own, *entry->second)) return true;
    }
  }
  return false;
}

std::vector<std::string> SharedHomes::sharing_with(const Peer& peer) const {
  std::vector<std::string> names;
  const Value* own = home_of(peer);
  if (own == nullptr) return names;
  for (const Peer& other : peers_) {
    const Value* home = home_of(other);
    if (home != nullptr && home != own && is_same_home(*own, *home)) names.push_back(other.name());
  }
  return names;
}

const Value* SharedHomes::home_of(const Peer& peer) const {
  const Value* exported = export_of(peer, user_);
  return exported == nullptr ? nullptr : exported->find("home");
}

}  // namespace sparkplan::ssh_trust
