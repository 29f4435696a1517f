#include "engine/plan/disputed_ids.h"

#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

Diagnostic warning_of(const std::vector<std::string>& nodes, const std::map<std::string, std::string>& ids) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> claims;
  std::vector<std::string> reporting;
  for (const auto& [name, member] : ids) {
    if (claims.size() == kShown) break;
    claims.push_back("the id of " + name + " for " + printable(member));
    reporting.push_back(name);
  }
  const std::string more = ids.size() > kShown ? " and " + std::to_string(ids.size() - kShown) + " more" : "";
  Diagnostic warning =
      finding(Severity::kWarning, "roster.disputed-id",
              "the manifest of " + fold_names(nodes) + " records machine-ids for other members: " + join(claims, ", ") +
                  more + "; no new machine-id is recorded for " + join(reporting, ", ") + more,
              "find out on " + fold_names(nodes) +
                  " why; --yes-prune does not release a node without a recorded machine-id: put it back into the file "
                  "and run `sparkplan release` on it");
  warning.node = nodes.front();
  return warning;
}

}  // namespace

DisputedIds forget_disputed_ids(Machines& machines, const Rosters& rosters) {
  std::multimap<std::string, std::string> reported;  // Machine-id -> the nodes that report it.
  for (const auto& [name, machine] : machines) {
    if (!machine.machine_id.empty()) reported.emplace(machine.machine_id, name);
  }
  std::map<const Roster*, std::vector<std::string>> holders;  // Each roster once.
  for (const auto& [node, roster] : rosters) {
    if (roster != nullptr) holders[roster].push_back(node);
  }
  DisputedIds disputed;
  for (const auto& [roster, nodes] : holders) {
    std::map<std::string, std::string> ids;
    for (const RosterEntry& member : roster->members) {
      const auto [first, last] = reported.equal_range(member.machine_id);
      for (auto one = first; one != last; ++one) {
        const std::string& name = one->second;
        const bool only_its_own = nodes.size() == 1 && nodes.front() == name;
        if (name == member.name || only_its_own || is_the_same_machine(member, machines.at(name))) continue;
        ids.emplace(name, member.name);
      }
    }
    if (!ids.empty()) disputed.emplace(nodes, std::move(ids));
  }
  for (const auto& [nodes, ids] : disputed) {
    for (const auto& [name, member] : ids) machines.at(name).machine_id.clear();
  }
  return disputed;
}

std::vector<Diagnostic> warnings_of(const DisputedIds& disputed) {
  std::vector<Diagnostic> warnings;
  for (const auto& [nodes, ids] : disputed) warnings.push_back(warning_of(nodes, ids));
  return warnings;
}

}  // namespace sparkplan
