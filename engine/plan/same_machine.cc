#include "engine/plan/same_machine.h"

#include <array>
#include <string_view>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

struct Mark {
  std::string MachineIdentity::*value;
  std::string_view name;
  std::string_view command;  ///< Gives the copy its own value.
};

constexpr std::array<Mark, 3> kMarks{{
    {&MachineIdentity::machine_id, "machine-id",
     "`rm -f /etc/machine-id /var/lib/dbus/machine-id && systemd-machine-id-setup`, then reboot"},
    {&MachineIdentity::host_key, "SSH host key",
     "`rm /etc/ssh/ssh_host_*_key* && ssh-keygen -A && systemctl restart ssh`, then `sparkplan trust`"},
    {&MachineIdentity::nvme_host, "NVMe host name (/etc/nvme/hostnqn)",
     "`nvme gen-hostnqn >/etc/nvme/hostnqn && uuidgen >/etc/nvme/hostid`"},
}};

/// Earlier and later node in the file -> the marks they share, in the order of kMarks.
using Pairs = std::map<std::pair<std::size_t, std::size_t>, std::vector<const Mark*>>;

Pairs pairs_in(const Cluster& cluster, const std::map<std::string, MachineIdentity>& identities) {
  Pairs pairs;
  for (const Mark& mark : kMarks) {
    std::map<std::string, std::size_t> first;
    for (std::size_t at = 0; at < cluster.nodes.size(); ++at) {
      const auto identity = identities.find(cluster.nodes[at].name.str());
      if (identity == identities.end()) continue;
      const std::string& value = identity->second.*mark.value;
      if (!tells_apart(value)) continue;
      const auto [earlier, is_new] = first.try_emplace(value, at);
      if (!is_new) pairs[{earlier->second, at}].push_back(&mark);
    }
  }
  return pairs;
}

std::string names_of(const std::vector<const Mark*>& marks) {
  std::vector<std::string> names;
  for (const Mark* mark : marks) names.emplace_back(mark->name);
  return join(names, " and the same ");
}

std::string hint_for(const std::vector<const Mark*>& marks) {
  std::vector<std::string> commands;
  for (const Mark* mark : marks) commands.emplace_back(mark->command);
  const bool may_be_one = marks.front()->value != &MachineIdentity::nvme_host;
  return std::string(may_be_one ? "if it is one machine, list it once; if one is a copy of the other, run on the copy: "
                                : "run on one of them: ") +
         join(commands, "; ");
}

/// The node had this mark before this run.
bool had_before(const Mark& mark, const MachineIdentity& identity) {
  return mark.value == &MachineIdentity::machine_id && identity.recorded_machine_id == identity.machine_id;
}

/// The node reports another mark than the recorded one.
bool contradicts_record(const Mark& mark, const MachineIdentity& identity) {
  return mark.value == &MachineIdentity::machine_id && tells_apart(identity.recorded_machine_id) &&
         identity.recorded_machine_id != identity.machine_id;
}

/// Which of two nodes with shared marks are refused.
struct Refusal {
  bool earlier = false;
  bool later = false;
};

Refusal refusal_for(const std::vector<const Mark*>& marks, const MachineIdentity& earlier,
                    const MachineIdentity& later) {
  Refusal refusal;
  const bool proved = !earlier.host_key.empty() && earlier.host_key == later.host_key;
  for (const Mark* mark : marks) {
    // A shared name on storage servers blocks the resources that use it, but no node: the type nvme_tcp blocks them.
    if (mark->value == &MachineIdentity::nvme_host) continue;
    const bool earlier_had = had_before(*mark, earlier);
    const bool later_had = had_before(*mark, later);
    if (!proved && earlier_had != later_had) {
      (earlier_had ? refusal.later : refusal.earlier) = true;
    } else if (!proved && contradicts_record(*mark, earlier) != contradicts_record(*mark, later)) {
      (contradicts_record(*mark, earlier) ? refusal.earlier : refusal.later) = true;
    } else {
      refusal = {true, true};
    }
  }
  return refusal;
}

}  // namespace

bool tells_apart(const std::string& mark) { return !mark.empty() && mark != "uninitialized"; }

SameMachines same_machines(const Cluster& cluster, const std::map<std::string, MachineIdentity>& identities) {
  SameMachines same;
  for (const auto& [pair, marks] : pairs_in(cluster, identities)) {
    const NodeSpec& earlier = cluster.nodes[pair.first];
    const NodeSpec& later = cluster.nodes[pair.second];
    const Refusal refusal = refusal_for(marks, identities.at(earlier.name.str()), identities.at(later.name.str()));
    Diagnostic finding;
    finding.severity = refusal.earlier && refusal.later ? Severity::kError : Severity::kWarning;
    finding.code = "nodes.same-machine";
    finding.message = earlier.name.str() + " and " + later.name.str() + " have the same " + names_of(marks);
    finding.hint = hint_for(marks);
    finding.file = cluster.file;
    // The finding refers to the refused node; the other node is not affected.
    const NodeSpec& about = refusal.earlier && !refusal.later ? earlier : later;
    const NodeSpec& other = &about == &earlier ? later : earlier;
    finding.where = about.where;
    finding.notes = {{other.name.str() + " is here", other.where}};
    finding.node = about.name.str();
    same.findings.push_back(std::move(finding));
    const auto refuse = [&, what = names_of(marks)](const NodeSpec& node, const NodeSpec& twin) {
      const bool alone = !(refusal.earlier && refusal.later);
      same.by_node.try_emplace(
          node.name.str(), make_error(ErrorCode::kInvalidInput, "it has the same " + what + " as " + twin.name.str(),
                                      alone ? "sparkplan changes nothing on it until the two differ"
                                            : "sparkplan changes nothing on either until the two differ"));
    };
    if (refusal.earlier) refuse(earlier, later);
    if (refusal.later) refuse(later, earlier);
  }
  return same;
}

}  // namespace sparkplan
