#include "engine/plan/roster.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sparkplan {
namespace {

bool is_at_the_same_place(const RosterEntry& member, const NodeSpec& node) {
  return member.address == node.address && member.port == node.ssh.port && member.jump == node.ssh.jump &&
         member.root == node.root.string();
}

/// The member that the node was, under this name or another.
const RosterEntry* find_member(const Roster& roster, const NodeSpec& node) {
  const auto& members = roster.members;
  auto found = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.name == node.name.str(); });
  if (found == members.end()) {
    found = std::find_if(members.begin(), members.end(), [&](const auto& m) { return is_at_the_same_place(m, node); });
  }
  return found == members.end() ? nullptr : &*found;
}

RosterEntry entry_of(const NodeSpec& node, const Roster& previous, const Machines& machines) {
  RosterEntry entry;
  if (const RosterEntry* known = find_member(previous, node)) {
    entry.host_key = known->host_key;
    entry.machine_id = known->machine_id;
  }
  if (const auto seen = machines.find(node.name.str()); seen != machines.end()) {
    if (!seen->second.host_key.empty()) entry.host_key = seen->second.host_key;
    if (!seen->second.machine_id.empty()) entry.machine_id = seen->second.machine_id;
  }
  entry.name = node.name.str();
  entry.id = node.id;
  entry.address = node.address;
  entry.user = node.ssh.user;
  entry.port = node.ssh.port;
  entry.jump = node.ssh.jump;
  entry.become = node.ssh.become == Become::kSudo ? "sudo" : "none";
  entry.root = node.root.string();
  return entry;
}

}  // namespace

Result<Roster> newest_roster(const std::vector<const Manifest*>& manifests) {
  const Manifest* newest = nullptr;
  for (const Manifest* manifest : manifests) {
    if (manifest == nullptr || manifest->roster.uuid.empty()) continue;
    if (newest != nullptr && manifest->roster.uuid != newest->roster.uuid) {
      return failure(ErrorCode::kRefused,
                     newest->node + " and " + manifest->node + " belong to two clusters: " + newest->roster.cluster +
                         " (" + newest->roster.uuid + ") and " + manifest->roster.cluster + " (" +
                         manifest->roster.uuid + ")",
                     "release the node that is to change sides with the cluster.yaml of its own cluster");
    }
    if (newest == nullptr || manifest->roster.generation > newest->roster.generation) newest = manifest;
  }
  return newest == nullptr ? Roster{} : newest->roster;
}

std::vector<RosterEntry> leavers(const Roster& roster, const Cluster& cluster, const Machines& machines) {
  std::vector<RosterEntry> left;
  for (const RosterEntry& member : roster.members) {
    const bool still_there = std::any_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const NodeSpec& node) {
      return node.name.str() == member.name || is_at_the_same_place(member, node);
    });
    const bool under_another_name = std::any_of(
        machines.begin(), machines.end(), [&](const auto& machine) { return machine.second.known_as == member.name; });
    if (!still_there && !under_another_name) left.push_back(member);
  }
  return left;
}

Roster next_roster(const Roster& previous, const Cluster& cluster, const Machines& machines,
                   const std::set<std::string>& released, const std::string& new_uuid) {
  Roster next;
  next.cluster = cluster.name;
  next.uuid = previous.uuid.empty() ? new_uuid : previous.uuid;
  next.generation = previous.generation;
  for (const NodeSpec& node : cluster.nodes) next.members.push_back(entry_of(node, previous, machines));
  for (RosterEntry& leaver : leavers(previous, cluster, machines)) {
    if (released.contains(leaver.name)) continue;
    leaver.leaving = true;
    next.members.push_back(std::move(leaver));
  }
  // The order of the file says nothing about membership.
  std::sort(next.members.begin(), next.members.end(),
            [](const auto& a, const auto& b) { return std::tie(a.id, a.name) < std::tie(b.id, b.name); });
  if (next != previous) ++next.generation;
  return next;
}

Result<void> check_membership(const Manifest& manifest, const Cluster& cluster) {
  const std::string& other = manifest.roster.cluster;
  if (other.empty() || other == cluster.name) return {};
  return failure(ErrorCode::kRefused, "the node belongs to cluster " + other + ", not to " + cluster.name,
                 "release it with the cluster.yaml of " + other + " first");
}

}  // namespace sparkplan
