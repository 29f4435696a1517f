#include "engine/init/second_contacts.h"

#include <map>
#include <string>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"

namespace sparkplan {

std::vector<Diagnostic> drop_second_contacts(std::vector<InitMachine>& machines, std::size_t named) {
  std::vector<Diagnostic> remarks;
  std::vector<InitMachine> kept;
  std::map<std::string, std::string> seen;  // machine-id -> name that the user gave
  for (std::size_t at = 0; at < machines.size(); ++at) {
    InitMachine& machine = machines[at];
    const std::string id = machine.facts ? machine.facts->machine_id : "";
    const auto first = seen.find(id);
    if (at < named || id.empty() || first == seen.end()) {
      if (!id.empty()) seen.emplace(id, machine.given);
      kept.push_back(std::move(machine));
      continue;
    }
    remarks.push_back(
        finding(Severity::kWarning, "init.second-contact",
                machine.given + " has the machine-id of " + first->second + ", " + printable(id) +
                    ": treated as the same machine, and skipped",
                "if it is a clone of that machine's disk, give it a machine-id of its own: empty /etc/machine-id "
                "there, and run `systemd-machine-id-setup`"));
  }
  machines = std::move(kept);
  return remarks;
}

}  // namespace sparkplan
