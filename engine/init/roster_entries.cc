#include "engine/init/roster_entries.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/core/ids.h"
#include "engine/core/text.h"
#include "engine/init/bare_file.h"
#include "engine/load/load.h"
#include "engine/load/yaml_text.h"
#include "engine/model/address.h"

namespace sparkplan {
namespace {

// As in the schema.
constexpr int kLargestIdOfANode = 16'777'215;
/// Entries may fill half of a file. Their comments count, too.
constexpr std::size_t kLongestEntries = kLongestFile / 2;
constexpr std::size_t kLengthOfAComment = 250;

Member node_of_entry(const RosterEntry& entry) {
  Member node;
  node.name = entry.name;
  node.id = entry.id;
  node.address = entry.address;
  node.ssh.user = entry.user;
  node.ssh.port = entry.port;
  node.ssh.jump = entry.jump;
  if (entry.become == "none") node.ssh.become = Become::kNone;
  return node;
}

/// A file of these nodes alone. Their ids are compared elsewhere, and an id may still be missing.
Value file_of(std::vector<Member> nodes) {
  Members members;
  members.cluster = "cluster";
  members.nodes = std::move(nodes);
  for (std::size_t i = 0; i < members.nodes.size(); ++i) members.nodes[i].id = static_cast<int>(i) + 1;
  return bare_file_of(members);
}

/// Names, ids and addresses of a file's nodes. Each may be there once.
class Taken {
 public:
  /// The reason why a file with the nodes so far cannot have this one; empty, and the node is added, without one.
  std::string add(const Member& node) {
    const std::pair place{canonical_address(node.address), node.ssh.port};
    if (names_.contains(lower_case(node.name))) return "another node has the name";
    if (node.id != 0 && ids_.contains(node.id)) return "the id " + std::to_string(node.id) + " belongs to another node";
    if (places_.contains(place)) return "another node has the address " + in_quotes(node.address);
    names_.insert(lower_case(node.name));
    if (node.id != 0) ids_.insert(node.id);
    places_.insert(place);
    return "";
  }

 private:
  std::set<std::string> names_;
  std::set<int> ids_;
  std::set<std::pair<std::string, std::uint16_t>> places_;
};

}  // namespace

void EntriesLeftOut::add(const RosterEntry& entry, const std::string& why) { names_.emplace(entry.name, why); }

std::vector<Diagnostic> EntriesLeftOut::remarks(const Rosters& rosters) const {
  std::map<std::string, std::vector<std::string>> machines_by_name;
  for (const auto& [machine, roster] : rosters) {
    for (const RosterEntry& entry : roster->members) {
      if (!names_.contains(entry.name)) continue;
      auto& machines = machines_by_name[entry.name];
      if (machines.empty() || machines.back() != machine) machines.push_back(machine);
    }
  }
  std::map<std::vector<std::string>, std::vector<std::string>> told;
  for (const auto& [name, machines] : machines_by_name) told[machines].push_back(name + " (" + names_.at(name) + ")");
  std::vector<Diagnostic> remarks;
  for (auto& [machines, names] : told) {
    constexpr std::size_t kNamed = 5;
    const std::size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
    const bool one = names.size() == 1;
    names.resize(names.size() - more);
    remarks.push_back(finding(
        Severity::kWarning, "init.not-written",
        "the manifest of " + fold_first_names(machines) + " lists " +
            (one ? "a member that the file lacks" : "members that the file lacks") + ", because no file may have " +
            (one ? "it: " : "them: ") + join(names, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : ""),
        "add it to `nodes` if it is a member of the cluster, else find out how it came into the manifest"));
  }
  return remarks;
}

void leave_out_impossible(Roster& roster, EntriesLeftOut& left_out) {
  std::set<std::string> names;
  const auto reason_against = [&](const RosterEntry& entry) -> std::string {
    const std::string name = lower_case(entry.name);
    if (!NodeName::parse(entry.name) || name == kControllerName) return "no node may have this name";
    if (entry.id < 0 || entry.id > kLargestIdOfANode) return "no node may have the id " + std::to_string(entry.id);
    return names.insert(name).second ? "" : "another member has the name";
  };
  std::erase_if(roster.members, [&](const RosterEntry& entry) {
    if (entry.leaving) return false;  // No file has it.
    const std::string why = reason_against(entry);
    if (!why.empty()) left_out.add(entry, why);
    return !why.empty();
  });
}

std::vector<Member> loadable_beside(const std::vector<Member>& nodes, const std::vector<RosterEntry>& unread,
                                    const Registry& registry, EntriesLeftOut& left_out) {
  Taken taken;
  for (const Member& node : nodes) taken.add(node);
  std::vector<Member> kept;
  std::vector<const RosterEntry*> entries;  // Of `kept`.
  std::size_t length = 0;
  for (const RosterEntry& entry : unread) {
    const Member node = node_of_entry(entry);
    const std::size_t own = plain_text(file_of({node})).size() + kLengthOfAComment;
    std::string why = node.address.empty() ? "no address is known" : "";
    if (why.empty() && nodes.size() + kept.size() >= kMostNodes)
      why = "a file has at most " + std::to_string(kMostNodes) + " nodes";
    if (why.empty() && length + own > kLongestEntries) why = "the file would be too long";
    if (why.empty()) why = taken.add(node);
    if (!why.empty()) {
      left_out.add(entry, why);
      continue;
    }
    length += own;
    kept.push_back(node);
    entries.push_back(&entry);
  }
  if (kept.empty() || cluster_of(file_of(kept), registry)) return kept;
  std::vector<Member> loadable;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::string why = first_error_of(file_of({kept[i]}), registry);
    if (why.empty()) {
      loadable.push_back(kept[i]);
    } else {
      left_out.add(*entries[i], why);
    }
  }
  return loadable;
}

}  // namespace sparkplan
