#include "engine/init/fabric_neighbours.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/init/fabric_found.h"
#include "engine/load/address.h"

namespace sparkplan {

std::vector<std::string> fabric_neighbours(const std::vector<InitMachine>& machines) {
  std::set<std::string> found;
  std::set<std::string> own;
  for (const InitMachine& machine : machines) {
    if (!machine.facts) continue;
    for (const LinkFacts& link : machine.facts->links) {
      for (const std::string& address : link.addresses) own.insert(address.substr(0, address.find('/')));
    }
    if (!machine.facts->extended) continue;
    std::set<std::string_view> fabric;
    for (const LinkFacts* link : fabric_links(*machine.facts)) fabric.insert(link->name);
    for (const NeighbourFacts& one : machine.facts->extended->neighbours) {
      const auto address = parse_ipv4(one.address);
      if (fabric.contains(one.interface) && !one.mac.empty() && one.state != "failed" && address &&
          is_host_address(*address)) {
        found.insert(one.address);
      }
    }
  }
  std::vector<std::string> neighbours;
  std::set_difference(found.begin(), found.end(), own.begin(), own.end(), std::back_inserter(neighbours));
  return neighbours;
}

}  // namespace sparkplan
