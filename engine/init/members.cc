#include "engine/init/members.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/core/ids.h"
#include "engine/core/text.h"
#include "engine/init/roster_entries.h"
#include "engine/load/fabric.h"
#include "engine/load/unresolved_node.h"
#include "engine/plan/roster.h"

namespace sparkplan {
namespace {

/// Pairs machines with the same machine-id. A clone of an image and one machine under two names look the same here.
std::map<const InitMachine*, const InitMachine*> machines_of_one_id(const std::vector<InitMachine>& machines) {
  std::map<std::string, const InitMachine*> seen;
  std::map<const InitMachine*, const InitMachine*> twins;
  for (const InitMachine& machine : machines) {
    if (!machine.facts || machine.facts->machine_id.empty()) continue;
    const auto [first, fresh] = seen.emplace(machine.facts->machine_id, &machine);
    if (fresh) continue;
    twins.try_emplace(first->second, &machine);
    twins.emplace(&machine, first->second);
  }
  return twins;
}

/// True for the host key of the machine's connection, and for one that it reports.
bool has_host_key(const InitMachine& machine, const std::string& host_key) {
  const auto& reported = machine.facts->host.host_keys;
  return machine.host_key == host_key ||
         std::ranges::any_of(reported, [&](const HostKeyFacts& one) { return one.fingerprint == host_key; });
}

/// Two connections to one machine may have proved keys of different types. Each machine reports only its own keys, so a
/// false claim of one of them is not enough.
bool share_host_key(const InitMachine& one, const InitMachine& other) {
  return has_host_key(one, other.host_key) && has_host_key(other, one.host_key);
}

constexpr auto kTwinHint =
    "if they are the same machine, name it once; if one is a clone, give it its own machine-id: empty "
    "the file there, and run `systemd-machine-id-setup`";

/// The common beginning of all names: "spark" of spark-01 and spark-02.
std::string cluster_name_from(const std::vector<Member>& nodes) {
  std::string shared = nodes.front().name.substr(0, nodes.front().name.find('.'));
  for (const Member& node : nodes) {
    const auto end = std::mismatch(shared.begin(), shared.end(), node.name.begin(), node.name.end()).first;
    shared.erase(end, shared.end());
  }
  const auto end = shared.find_last_not_of("0123456789-");
  shared = end == std::string::npos ? "" : shared.substr(0, end + 1);
  return shared.empty() || nodes.size() < 2 ? "cluster" : shared;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

/// The first label of the host name, reduced to what a node name allows; empty if no node may have the rest as a name.
std::string node_name_from(std::string_view host_name) {
  std::string name(host_name.substr(0, host_name.find('.')));
  std::replace(name.begin(), name.end(), '_', '-');
  const std::string in_lower_case = lower(name);
  if (in_lower_case == "localhost" || in_lower_case == kControllerName || !NodeName::parse(name)) return "";
  return name;
}

/// The stem is cut if the name would be too long.
std::string numbered(const std::string& stem, int number) {
  constexpr std::size_t kLongestName = 63;
  const std::string ending = (number < 10 ? "-0" : "-") + std::to_string(number);
  return stem.substr(0, kLongestName - ending.size()) + ending;
}

class Naming {
 public:
  Naming(const std::vector<const InitMachine*>& machines, const Roster& roster) : roster_(roster) {
    // The machine-id decides first, for all machines. A clone, or another machine with a member's name, must not claim
    // the member before its owner.
    claim(machines, &has_its_machine_id);
    claim(machines, &has_its_manifest);
    claim(machines, &is_in_its_place);
    for (const InitMachine* machine : machines) {
      if (machine->facts) ++called_[lower(node_name_from(machine->facts->hostname))];
    }
    for (const RosterEntry& entry : roster.members) {
      ids_.insert(entry.id);
      if (!entry.leaving) taken_.insert(lower(entry.name));
    }
  }

  const RosterEntry* entry(const InitMachine& machine) const {
    const auto found = known_.find(&machine);
    return found == known_.end() ? nullptr : found->second;
  }

  bool has_found(const RosterEntry& entry) const { return claimed_.contains(&entry); }

  Member member(const InitMachine& machine) {
    Member node;
    node.machine = machine.facts ? &machine : nullptr;
    node.address = machine.address;
    node.ssh = machine.ssh;
    if (const RosterEntry* known = entry(machine)) {
      node.name = known->name;
      if (used_ids_.insert(known->id).second) node.id = known->id;  // One manifest may give an id to two members.
      if (machine.facts && !known->machine_id.empty() && known->machine_id != machine.facts->machine_id) {
        node.remark = "the cluster has recorded another machine-id for this node: the machine was probably reinstalled";
      } else if (machine.facts && !known->host_key.empty() && known->host_key != machine.host_key) {
        node.remark =
            "the host key of its connection is not the one that the cluster has recorded: check that it is this "
            "machine";
      }
    } else {
      node.cloned = machine.manifest.has_value();
      give_name(machine, node);
    }
    return node;
  }

  /// Gives an id to each node without one: the number in its name if it is free and fits into a /24, else the lowest
  /// free id.
  void give_ids(std::vector<Member>& nodes) {
    const int largest = largest_id(*default_subnet(0));
    for (Member& node : nodes) {
      const int id = id_from_name(node.name);
      if (node.id == 0 && id > 0 && id <= largest && ids_.insert(id).second) node.id = id;
    }
    for (Member& node : nodes) {
      for (int id = 1; node.id == 0; ++id) {
        if (ids_.insert(id).second) node.id = id;
      }
    }
  }

 private:
  using Likeness = bool (*)(const RosterEntry& entry, const InitMachine& machine);

  static bool has_its_machine_id(const RosterEntry& entry, const InitMachine& machine) {
    return machine.facts && !entry.machine_id.empty() && entry.machine_id == machine.facts->machine_id;
  }
  static bool has_its_manifest(const RosterEntry& entry, const InitMachine& machine) {
    return machine.manifest && machine.manifest->node == entry.name;
  }
  /// The address alone proves little for an unmanaged machine: it may now belong to another machine.
  static bool is_in_its_place(const RosterEntry& entry, const InitMachine& machine) {
    if (entry.address != machine.address || machine.manifest) return false;
    if (!machine.facts) return entry.port == machine.ssh.port;
    return lower(node_name_from(machine.facts->hostname)) == lower(entry.name);
  }

  void claim(const std::vector<const InitMachine*>& machines, Likeness is_like) {
    for (const InitMachine* machine : machines) {
      for (const RosterEntry& entry : roster_.members) {
        if (entry.leaving || known_.contains(machine) || claimed_.contains(&entry)) continue;
        if (!is_like(entry, *machine)) continue;
        known_.emplace(machine, &entry);
        claimed_.insert(&entry);
      }
    }
  }

  void give_name(const InitMachine& machine, Member& node) {
    const std::string own = node_name_from(machine.facts->hostname);
    const auto is_free = [&](const std::string& name) { return taken_.insert(lower(name)).second; };
    const bool alone = called_[lower(own)] == 1;
    if (!own.empty() && alone && is_free(own)) {
      node.name = own;
      if (own != machine.facts->hostname)
        node.remark = "the machine's host name is " + printable(machine.facts->hostname);
    } else {
      int number = 1;
      while (!is_free(numbered(own.empty() ? "node" : own, number))) ++number;
      node.name = numbered(own.empty() ? "node" : own, number);
      node.remark =
          own.empty()
              ? "the machine's host name is \"" + printable(machine.facts->hostname) + "\", not a valid node name"
              : (alone ? "another member has the name " : "more than one machine has the host name ") + own;
    }
    if (node.cloned) node.remark += "; the machine has the records of another member, so its disk is probably a clone";
  }

  const Roster& roster_;
  std::map<const InitMachine*, const RosterEntry*> known_;
  std::set<const RosterEntry*> claimed_;
  std::set<std::string> taken_;        // In lower case, because resolvers ignore case.
  std::map<std::string, int> called_;  // Likewise.
  std::set<int> ids_;                  // Of all members of the roster.
  std::set<int> used_ids_;             // Of the machines with an entry.
};

/// Adds members that the user did not name or that did not answer: without them, the next apply would release them.
void add_unread(const Roster& roster, const Rosters& rosters, const Naming& naming, const Registry& registry,
                EntriesLeftOut& left_out, Members& members) {
  std::vector<RosterEntry> unread;
  for (const RosterEntry& entry : roster.members) {
    const bool there = std::any_of(members.nodes.begin(), members.nodes.end(), [&](const Member& node) {
      // One address is one machine, whatever member it claims to be.
      const bool same_place =
          node.address == entry.address && node.ssh.port == entry.port && node.ssh.jump == entry.jump;
      return node.name == entry.name || same_place;
    });
    if (!there && !entry.leaving && entry.root.empty()) unread.push_back(entry);
  }
  std::set<std::string_view> tried;
  for (const RosterEntry& entry : roster.members) {
    if (naming.has_found(entry)) tried.insert(entry.name);
  }
  const std::string source = rosters.size() == 1 && members.read() > 1
                                 ? ", according to the manifest of " + rosters.begin()->first + " alone"
                                 : "";
  std::vector<std::string> unnamed;
  for (Member& node : loadable_beside(members.nodes, unread, registry, left_out)) {
    const bool was_tried = tried.contains(node.name);
    node.remark = was_tried ? "its machine could not be read" : "its machine was not given to `init`";
    if (!was_tried) unnamed.push_back(node.name);
    members.nodes.push_back(std::move(node));
  }
  if (unnamed.empty()) return;
  members.remarks.push_back(finding(Severity::kWarning, "init.more-members",
                                    fold_names(unnamed) + " belong" + (unnamed.size() == 1 ? "s" : "") +
                                        " to the cluster, too" + source + ", and appear" +
                                        (unnamed.size() == 1 ? "s" : "") + " in the file with `maintenance: true`",
                                    "name all machines of the cluster to read them too"));
}

/// Statements of only half of the manifests, or of fewer, become remarks and change nothing in the file.
void add_remarks(const AgreedRoster& agreed, Members& members) {
  for (const auto& [given, error] : agreed.refused) {
    members.remarks.push_back(finding(Severity::kWarning, "init.other-cluster",
                                      given + ": " + error.message + "; it is left out", error.hint));
  }
  for (auto& warning : warnings_of(agreed.unsupported, "name all machines of the cluster")) {
    members.remarks.push_back(std::move(warning));
  }
}

/// The cluster's name in enough of the manifests; empty, with a remark, without one.
std::string agreed_name(const std::vector<const InitMachine*>& machines, const AgreedRoster& agreed, Members& members) {
  std::map<std::string, std::vector<std::string>> machines_by_name;
  std::size_t manifests = 0;
  for (const InitMachine* machine : machines) {
    if (!machine->manifest || machine->manifest->roster.uuid.empty() || agreed.refused.contains(machine->given))
      continue;
    machines_by_name[machine->manifest->roster.cluster].push_back(machine->given);
    ++manifests;
  }
  std::vector<std::string> claims;
  for (const auto& [name, given] : machines_by_name) {
    if (members.decides_for_all(given.size(), manifests)) return name;
    claims.push_back(printable(name) + " in the manifest of " + fold_names(given));
  }
  if (claims.empty()) return "";
  members.remarks.push_back(
      finding(Severity::kWarning, "init.unsupported-name",
              "too few manifests name the cluster alike, so the file has a new name: " + join(claims, ", "),
              "if a named one is right, write it as `name`: a machine that belongs to another "
              "cluster is refused"));
  return "";
}

}  // namespace

std::size_t Members::read() const {
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const Member& node) { return node.machine != nullptr; }));
}

Result<Members> members_of(const std::vector<InitMachine>& machines, const Registry& registry) {
  const auto twins = machines_of_one_id(machines);
  Rosters rosters;
  std::vector<const InitMachine*> apart;
  for (const InitMachine& machine : machines) {
    if (twins.contains(&machine)) continue;
    apart.push_back(&machine);
    if (machine.manifest) rosters.emplace(machine.given, &machine.manifest->roster);
  }
  AgreedRoster agreed = agree_on_roster(rosters);
  Roster& roster = agreed.roster;
  if (!agreed.refused.empty() && roster.uuid.empty()) return failure(agreed.refused.begin()->second);
  std::erase_if(rosters,
                [&](const auto& one) { return one.second->uuid.empty() || agreed.refused.contains(one.first); });
  EntriesLeftOut left_out;
  leave_out_impossible(roster, left_out);
  Members members;
  add_remarks(agreed, members);
  Naming naming(apart, roster);
  for (const InitMachine& machine : machines) {
    if (const auto twin = twins.find(&machine); twin != twins.end()) {
      members.left_out.push_back({&machine, "Has the machine-id of " + twin->second->given});
      members.remarks.push_back(
          finding(Severity::kWarning, "init.same-machine-id",
                  machine.given + " and " + twin->second->given + " have the same /etc/machine-id; both are skipped",
                  kTwinHint));
    } else if (agreed.refused.contains(machine.given)) {
      members.left_out.push_back({&machine, "Belongs to another cluster"});
    } else if (machine.facts) {
      members.nodes.push_back(naming.member(machine));
    } else if (naming.entry(machine) == nullptr) {
      members.left_out.push_back({&machine, "Could not be read: " + (machine.error ? machine.error->describe() : "")});
    }
  }
  if (members.nodes.empty() && !twins.empty()) {
    const auto first = std::find_if(machines.begin(), machines.end(),
                                    [&](const InitMachine& machine) { return twins.contains(&machine); });
    return failure(ErrorCode::kInvalidInput,
                   first->given + " and " + twins.at(&*first)->given + " have the same /etc/machine-id, " +
                       printable(first->facts->machine_id),
                   kTwinHint);
  }
  if (members.nodes.empty())
    return failure(ErrorCode::kUnreachable, "none of the machines could be read",
                   "correct the errors above and repeat; no file was written");
  add_unread(roster, rosters, naming, registry, left_out, members);
  for (Diagnostic& remark : left_out.remarks(rosters)) members.remarks.push_back(std::move(remark));
  naming.give_ids(members.nodes);
  const std::string name = agreed_name(apart, agreed, members);
  members.cluster_known = !name.empty();
  members.cluster = members.cluster_known ? name : cluster_name_from(members.nodes);
  return members;
}

std::vector<Diagnostic> drop_second_contacts(std::vector<InitMachine>& machines, std::size_t named) {
  std::vector<Diagnostic> remarks;
  std::vector<InitMachine> kept;
  kept.reserve(machines.size());                        // `seen` points to its machines.
  std::multimap<std::string, const InitMachine*> seen;  // By machine-id.
  for (std::size_t at = 0; at < machines.size(); ++at) {
    InitMachine& machine = machines[at];
    const std::string id = machine.facts ? machine.facts->machine_id : "";
    const auto [begin, end] = seen.equal_range(id);
    const auto first = std::find_if(begin, end, [&](const auto& one) { return share_host_key(*one.second, machine); });
    if (at < named || id.empty() || first == end) {
      kept.push_back(std::move(machine));
      if (!id.empty()) seen.emplace(id, &kept.back());
      continue;
    }
    remarks.push_back(
        finding(Severity::kWarning, "init.second-contact",
                machine.given + " has the machine-id of " + first->second->given + ", " + printable(id) +
                    ": treated as the same machine, and skipped",
                "if it is a clone of that machine's disk, give it a machine-id of its own: empty /etc/machine-id "
                "there, and run `systemd-machine-id-setup`"));
  }
  machines = std::move(kept);
  return remarks;
}

}  // namespace sparkplan
