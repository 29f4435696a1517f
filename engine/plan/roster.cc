#include "engine/plan/roster.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

const RosterEntry* find_by_name(const std::vector<RosterEntry>& members, const std::string& name) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.name == name; });
  return found == members.end() ? nullptr : &*found;
}

/// The member for this node, under this name or another.
const RosterEntry* find_member(const Roster& roster, const NodeSpec& node) {
  const auto& members = roster.members;
  if (const RosterEntry* named = find_by_name(members, node.name.str())) return named;
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& m) { return is_at_the_same_place(m, node); });
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

void sort_members(Roster& roster) {
  std::sort(roster.members.begin(), roster.members.end(),
            [](const auto& a, const auto& b) { return std::tie(a.id, a.name) < std::tie(b.id, b.name); });
}

bool is_at_the_same_place(const RosterEntry& member, const NodeSpec& node) {
  if (member.address.empty() && member.root.empty()) return false;  // The manifests do not agree on a place.
  return member.address == node.address && member.port == node.ssh.port && member.jump == node.ssh.jump &&
         member.root == node.root.string();
}

bool is_the_same_machine(const RosterEntry& member, const Machine& machine) {
  if (!member.host_key.empty() || !machine.host_key.empty()) return member.host_key == machine.host_key;
  return !member.root.empty() && !member.machine_id.empty() && member.machine_id == machine.machine_id &&
         member.name == machine.known_as;
}

std::vector<RosterEntry> require_two_witnesses(AgreedRoster& agreed, const Rosters& rosters, const Cluster& cluster,
                                               const Machines& machines) {
  std::vector<RosterEntry> taken_out;
  if (cluster.nodes.size() < 2) return taken_out;
  for (RosterEntry& member : departed_members(agreed.roster, cluster, machines)) {
    UnsupportedMember unsupported{member.name, {}};
    std::map<const Roster*, bool> lists;  // Each roster is searched once.
    for (const auto& [node, roster] : rosters) {
      if (roster == nullptr) continue;
      const auto [found, is_new] = lists.emplace(roster, false);
      if (is_new) found->second = find_by_name(roster->members, member.name) != nullptr;
      if (found->second) unsupported.listed_by.push_back(node);
    }
    if (unsupported.listed_by.size() > 1) continue;
    std::erase_if(agreed.roster.members, [&](const RosterEntry& entry) { return entry.name == member.name; });
    agreed.unsupported.push_back(std::move(unsupported));
    taken_out.push_back(std::move(member));
  }
  return taken_out;
}

void keep_marks_of_many(Roster& roster, const Rosters& rosters, const Cluster& cluster, const Machines& machines) {
  const auto is_witness = [&](const auto& one) { return one.second != nullptr && is_one_cluster(*one.second, roster); };
  if (cluster.nodes.size() < 2 || std::ranges::count_if(rosters, is_witness) > 1) return;
  const auto witness = std::ranges::find_if(rosters, is_witness);
  std::set<std::string_view> in_file;
  for (const NodeSpec& node : cluster.nodes) in_file.insert(node.name.str());
  std::erase_if(roster.members, [&](const RosterEntry& member) { return !in_file.contains(member.name); });
  for (RosterEntry& member : roster.members) {
    const auto machine = machines.find(member.name);
    const bool is_its_own = witness != rosters.end() && witness->first == member.name && machine != machines.end();
    member.host_key = is_its_own ? machine->second.host_key : "";
    member.machine_id = is_its_own ? machine->second.machine_id : "";
  }
}

std::vector<Diagnostic> warnings_of(const std::vector<UnsupportedMember>& unsupported, const std::string& hint) {
  std::map<std::vector<std::string>, std::vector<std::string>> members_by_nodes;
  for (const UnsupportedMember& member : unsupported) members_by_nodes[member.listed_by].push_back(member.name);
  std::vector<Diagnostic> warnings;
  for (auto& [nodes, members] : members_by_nodes) {
    constexpr std::size_t kNamed = 5;
    const std::size_t more = members.size() > kNamed ? members.size() - kNamed : 0;
    members.resize(members.size() - more);
    auto warning = finding(Severity::kWarning, "roster.unsupported-member",
                           "the manifest of " + fold_names(nodes) + " lists " + join(members, ", ") +
                               (more > 0 ? " and " + std::to_string(more) + " more" : "") +
                               " as a member of the cluster; most manifests do not, so it is ignored",
                           hint);
    warning.node = nodes.front();
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

std::vector<RosterEntry> departed_members(const Roster& roster, const Cluster& cluster, const Machines& machines) {
  std::vector<RosterEntry> departed;
  std::set<std::string_view> in_file;
  for (const NodeSpec& node : cluster.nodes) in_file.insert(node.name.str());
  for (const RosterEntry& member : roster.members) {
    // Most members are in the file. Only the others are compared with all nodes and machines.
    if (in_file.contains(member.name)) continue;
    const bool still_there = std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                                         [&](const NodeSpec& node) { return is_at_the_same_place(member, node); });
    const bool under_another_name = std::any_of(machines.begin(), machines.end(), [&](const auto& machine) {
      return is_the_same_machine(member, machine.second);
    });
    if (!still_there && !under_another_name) departed.push_back(member);
  }
  return departed;
}

Roster next_roster(const Roster& previous, const Cluster& cluster, const Machines& machines,
                   const std::set<std::string>& released, const std::set<std::string>& consented,
                   const std::string& new_uuid) {
  Roster next;
  next.cluster = cluster.name;
  next.uuid = previous.uuid.empty() ? new_uuid : previous.uuid;
  next.generation = previous.generation;
  for (const NodeSpec& node : cluster.nodes) next.members.push_back(entry_of(node, previous, machines));
  for (RosterEntry& member : departed_members(previous, cluster, machines)) {
    if (released.contains(member.name)) continue;
    member.leaving = member.leaving || consented.contains(member.name);
    next.members.push_back(std::move(member));
  }
  sort_members(next);  // The order in the file has no meaning for membership.
  if (next != previous && next.generation < kLargestGeneration) ++next.generation;
  return next;
}

Roster roster_of_node(const Roster& next, const Roster& own, const Cluster& cluster,
                      const std::vector<RosterEntry>& single_witness) {
  std::set<std::string_view> in_file;
  for (const NodeSpec& node : cluster.nodes) in_file.insert(node.name.str());
  Roster kept = next;
  std::erase_if(kept.members, [&](RosterEntry& member) {
    const RosterEntry* known = find_by_name(own.members, member.name);
    if (in_file.contains(member.name)) {
      if (known != nullptr && member.host_key.empty()) member.host_key = known->host_key;
      if (known != nullptr && member.machine_id.empty()) member.machine_id = known->machine_id;
      return false;
    }
    if (known == nullptr) return member.address.empty() && member.root.empty();
    const bool leaving = member.leaving || known->leaving;
    member = *known;
    member.leaving = leaving;
    return false;
  });
  for (const RosterEntry& member : single_witness) {
    const RosterEntry* known = find_by_name(own.members, member.name);
    if (known != nullptr && kept.members.size() < kMostMembers) kept.members.push_back(*known);
  }
  sort_members(kept);
  return kept;
}

Result<void> check_membership(const Roster& roster, const Cluster& cluster) {
  const std::string& other = roster.cluster;
  if (other == cluster.name || (other.empty() && roster.uuid.empty())) return {};
  if (other.empty()) return failure(ErrorCode::kRefused, "the node belongs to a cluster without a name");
  return failure(ErrorCode::kRefused, "the node belongs to cluster " + printable(other) + ", not to " + cluster.name,
                 "release it with the cluster.yaml of " + printable(other) + " first");
}

}  // namespace sparkplan
