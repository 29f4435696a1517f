#include "engine/fleet/session/departing_node.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "engine/core/text.h"
#include "engine/model/address.h"
#include "engine/model/ipv4.h"
#include "engine/remote/config/ssh_config_files.h"
#include "engine/remote/config/ssh_way.h"

namespace sparkplan {
namespace {

Error refused(const RosterEntry& entry, const std::string& why) {
  return Error{ErrorCode::kRefused,
               why,
               {},
               std::nullopt,
               "put " + entry.name + " back into the file and run `sparkplan release " + entry.name + "`"};
}

template <class Matches>
bool any_node(const Cluster& cluster, Matches matches) {
  return std::any_of(cluster.nodes.begin(), cluster.nodes.end(), matches);
}

bool is_beside_a_local_node(const std::filesystem::path& root, const Cluster& cluster) {
  if (root != root.lexically_normal() || !root.is_absolute()) return false;
  return any_node(cluster, [&](const NodeSpec& node) {
    return node.transport == TransportKind::kLocal && node.root.parent_path() == root.parent_path();
  });
}

Result<void> check_allowed(const RosterEntry& entry, const Cluster& cluster) {
  if (!entry.root.empty()) {
    if (is_beside_a_local_node(entry.root, cluster)) return {};
    return failure(
        refused(entry, "its directory in the roster is " + printable(entry.root) + ", beside no node of the file"));
  }
  if (entry.address.empty() || entry.port == 0) {
    return failure(refused(entry, "the manifests disagree on its address"));
  }
  if (!is_host_name(entry.address) && !is_ipv6(entry.address) && !parse_ipv4(entry.address)) {
    return failure(refused(entry, "\"" + printable(entry.address) + "\" in the roster is not an address"));
  }
  if (!any_node(cluster, [&](const NodeSpec& node) { return node.ssh.user == entry.user; })) {
    return failure(
        refused(entry, "its user in the roster is \"" + printable(entry.user) + "\", which no node of the file has"));
  }
  const bool jump_known = any_node(cluster, [&](const NodeSpec& node) { return node.ssh.jump == entry.jump; });
  if (!entry.jump.empty() && !jump_known) {
    return failure(refused(
        entry, "its jump host in the roster is \"" + printable(entry.jump) + "\", which no node of the file has"));
  }
  return {};
}

}  // namespace

Result<NodeSpec> spec_of_departing(const RosterEntry& entry, const Cluster& cluster) {
  SPARK_TRY(auto name, NodeName::parse(entry.name));
  SPARK_CHECK(check_allowed(entry, cluster));
  NodeSpec spec{std::move(name), entry.id, entry.address, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  if (!cluster.nodes.empty()) spec.ssh.identity = cluster.nodes.front().ssh.identity;
  spec.ssh.user = entry.user;
  spec.ssh.port = entry.port;
  spec.ssh.jump = entry.jump;
  spec.ssh.named_by_file = false;
  spec.ssh.become = entry.become == "sudo" ? Become::kSudo : Become::kNone;
  if (!entry.root.empty()) {
    spec.transport = TransportKind::kLocal;
    spec.root = entry.root;
  }
  return spec;
}

bool is_alias(const NodeSpec& departing, const SshConfig& config) {
  if (departing.transport != TransportKind::kSsh) return false;
  const LocalUser me = local_user();
  NodeSpec listed = departing;
  listed.ssh.named_by_file = true;
  const auto taken = way_to(departing, config, me);
  const auto of_file = way_to(listed, config, me);
  if (!taken || !of_file) return false;
  const auto place = [](const SshWay& way) {
    const SshStation& node = way.node();
    return std::tuple(way.stations.size(), node.address, node.port, node.known_name(), node.known_hosts);
  };
  return place(*taken) != place(*of_file);
}

Result<void> check_departing_machine(const RosterEntry& entry, const std::string& host_key, const FactsReply& known) {
  if (entry.root.empty() && (entry.host_key.empty() || entry.host_key != host_key)) {
    return failure(refused(entry, "its host key differs from the one in the roster"));
  }
  if (known.facts.machine_id != entry.machine_id) {
    if (entry.machine_id.empty()) return failure(refused(entry, "no machine-id is recorded for it in the roster"));
    return failure(refused(entry, "its machine-id differs from the one in the roster"));
  }
  if (!known.manifest) return failure(refused(entry, "it has no manifest"));
  if (known.manifest->node != entry.name) {
    return failure(refused(entry, "its manifest belongs to \"" + printable(known.manifest->node) + "\""));
  }
  return {};
}

}  // namespace sparkplan
