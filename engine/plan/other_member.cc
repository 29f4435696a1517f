#include "engine/plan/other_member.h"

#include <set>

#include "engine/core/text.h"
#include "engine/plan/same_machine.h"

namespace sparkplan {
namespace {

/// The claims of the file and of the manifests about every member.
class MemberIndex {
 public:
  MemberIndex(const std::vector<RosterEntry>& members, const std::vector<const NodeSpec*>& file) {
    for (const RosterEntry& member : members) {
      by_name_.emplace(member.name, &member);
      if (!member.host_key.empty()) by_host_key_.emplace(member.host_key, member.name);
      if (tells_apart(member.machine_id)) by_machine_id_.emplace(member.machine_id, member.name);
    }
    for (const NodeSpec* node : file) {
      in_file_.insert(node->name.str());
      if (!node->ssh.host_key.empty()) by_host_key_.emplace(node->ssh.host_key, node->name.str());
    }
  }

  /// The marks of the machine that belong to another member than `node`: that member's name -> the marks.
  std::map<std::string, std::vector<std::string>> owners(const NodeSpec& node, const Machine& machine) const {
    std::map<std::string, std::vector<std::string>> owners;
    const auto note = [&](const std::string& owner, std::string mark) {
      if (owner != node.name.str()) owners[owner].push_back(std::move(mark));
    };
    const auto [key, last_key] = by_host_key_.equal_range(machine.host_key);
    std::set<std::string> of_key;  // A key may be recorded and pinned.
    for (auto one = key; one != last_key; ++one) of_key.insert(one->second);
    for (const std::string& owner : of_key) note(owner, "has its host key");
    const RosterEntry* own = entry(node.name.str());
    if (own == nullptr || own->machine_id != machine.machine_id) {
      const auto [id, last_id] = by_machine_id_.equal_range(machine.machine_id);
      for (auto one = id; one != last_id; ++one) note(one->second, "reports its machine-id");
    }
    const bool is_known = in_file_.contains(machine.known_as) || entry(machine.known_as) != nullptr;
    if (is_known) note(machine.known_as, "has its manifest");
    return owners;
  }

  /// `node` is the file's new name for that member.
  bool is_renamed(const std::string& member, const NodeSpec& node, const Machine& machine) const {
    const RosterEntry* recorded = entry(member);
    if (recorded != nullptr && is_at_the_same_place(*recorded, node)) return true;
    if (in_file_.contains(member)) return false;
    if (!node.ssh.host_key.empty()) return true;
    const bool trusted = node.transport == TransportKind::kLocal || node.ssh.host_keys == HostKeyPolicy::kStrict;
    return trusted && recorded != nullptr && is_the_same_machine(*recorded, machine);
  }

 private:
  const RosterEntry* entry(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  std::map<std::string, const RosterEntry*> by_name_;
  std::multimap<std::string, std::string> by_host_key_;    ///< To the owner's name.
  std::multimap<std::string, std::string> by_machine_id_;  ///< To the owner's name.
  std::set<std::string> in_file_;
};

Error refused(const std::string& node, const std::string& member, const std::vector<std::string>& marks) {
  return make_error(ErrorCode::kRefused,
                    node + " leads to the machine of " + printable(member) + ": it " + join(marks, ", "),
                    "correct the address of " + node + " in the file; if " + printable(member) + " was renamed to " +
                        node + ", pin its host key there, or release it under its old name first");
}

}  // namespace

std::map<std::string, Error> mistaken_for_members(const std::vector<RosterEntry>& members,
                                                  const std::vector<const NodeSpec*>& file, const Machines& contacted) {
  const MemberIndex index(members, file);
  std::map<std::string, Error> mistaken;
  for (const NodeSpec* node : file) {
    const auto machine = contacted.find(node->name.str());
    if (machine == contacted.end()) continue;
    for (const auto& [member, marks] : index.owners(*node, machine->second)) {
      if (index.is_renamed(member, *node, machine->second)) continue;
      mistaken.emplace(node->name.str(), refused(node->name.str(), member, marks));
      break;
    }
  }
  return mistaken;
}

}  // namespace sparkplan
