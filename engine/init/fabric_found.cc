#include "engine/init/fabric_found.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "engine/core/tree.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/init/bare_file.h"
#include "engine/model/address.h"
#include "engine/model/port_name.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {
namespace {

constexpr int kPortsOfASpark = 2;
/// Of one machine: it may name any addresses. Each is shown to the user, and then tried.
constexpr std::size_t kMostNeighbours = 256;
const Ipv4Network kLinkLocal{{(169U << 24) | (254U << 16)}, 16};

/// The addresses of a link that sparkplan does not manage. Only one can be kept.
FoundInterface found_on(const LinkFacts& link) {
  FoundInterface found;
  found.name = link.name;
  found.mtu = link.mtu;
  for (const std::string& text : link.addresses) {
    const auto address = parse_ipv4_interface(text);
    if (!address) continue;
    if (kLinkLocal.contains(address->address)) {
      found.link_local = true;
    } else if (found.address.empty()) {
      found.address = text;
    }
  }
  return found;
}

/// The profiles that NetworkManager generates by default, and whose addresses it requests. They are no decision of a
/// user.
std::set<std::string_view> made_up_profiles(const Facts& facts) {
  std::set<std::string_view> made_up;
  for (const NetworkProfile& one : facts.host.network_profiles) {
    const bool is_default = one.origin == ProfileOrigin::kGenerated && one.method == "auto";
    if (is_default && !one.uuid.empty()) made_up.insert(one.uuid);
  }
  return made_up;
}

/// A port without an address on either half is not in use and is left out.
FoundFabric from_facts(const Facts& facts) {
  const auto links = fabric_links(facts);
  const auto made_up = made_up_profiles(facts);
  std::set<const LinkFacts*> used;
  std::set<int> used_ports;
  for (const LinkFacts* link : links) {
    const FoundInterface found = found_on(*link);
    if ((found.address.empty() && !found.link_local) || made_up.contains(link->profile)) continue;
    used.insert(link);
    if (const auto port = spark_port_of(*link)) used_ports.insert(*port);
  }
  FoundFabric fabric;
  for (const LinkFacts* link : links) {
    const auto port = spark_port_of(*link);
    if (used.contains(link) || (port && used_ports.contains(*port))) fabric.interfaces.push_back(found_on(*link));
  }
  return fabric;
}

FoundFabric from_section(const Value& section) {
  FoundFabric fabric;
  fabric.managed = true;
  fabric.took_over = section.find("adopt") != nullptr;
  for (const Value& record : items_of(section.find("interfaces"))) {
    FoundInterface interface;
    interface.name = record.text_or("name", "");
    interface.address = record.text_or("address", "");
    interface.link_local = record.text_or("link_local", "") == "ipv4";
    if (const auto mtu = record.integer_or("mtu", 0); mtu > 0 && std::in_range<int>(mtu))
      interface.mtu = static_cast<int>(mtu);
    fabric.interfaces.push_back(std::move(interface));
  }
  if (const Value* others = section.find(kOtherInterfaces)) fabric.others = *others;
  return fabric;
}

}  // namespace

std::optional<int> spark_port_of(const LinkFacts& link) {
  const auto port = port_of(link);
  return port && *port < kPortsOfASpark ? port : std::nullopt;
}

std::vector<const LinkFacts*> fabric_links(const Facts& facts, bool held) {
  const auto ours = links_below(links_with_address(facts.ssh_server_address, facts.links), facts.links);
  std::vector<const LinkFacts*> found;
  for (const LinkFacts& link : facts.links) {
    const bool hardware = link.kind.empty() && !link.rdma_devices.empty();
    if ((spark_port_of(link) || hardware) && !ours.contains(link.name) && (held || link.master.empty()))
      found.push_back(&link);
  }
  const auto key = [](const LinkFacts* link) {
    return std::pair(spark_port_of(*link).value_or(-1), order_in_port(*link));
  };
  std::sort(found.begin(), found.end(), [&](const auto* a, const auto* b) { return key(a) < key(b); });
  return found;
}

FoundFabric found_fabric(const Member& member, const Registry& registry) {
  if (member.machine == nullptr) return {};
  const Facts& facts = *member.machine->facts;
  if (!member.managed()) return from_facts(facts);
  const auto name = NodeName::parse(member.name);
  if (!name) return {};
  const Cluster cluster;
  const NodeSpec self{*name, 0, {}, {}, {}, {}, {}, {}, {}, {}};
  for (const ResourceType* type : registry.of_section("fabric")) {
    const auto applied = applied_of(*member.machine->manifest, type->info().name);
    if (applied.empty()) continue;
    if (const auto section = type->section_from({cluster, self, {}}, applied, facts)) return from_section(*section);
  }
  FoundFabric none;
  none.managed = true;
  return none;
}

std::vector<FoundFabric> found_fabrics(const Members& members, const Registry& registry) {
  const auto managed = static_cast<std::size_t>(std::ranges::count_if(members.nodes, &Member::managed));
  const bool manifests_decide = members.decides_for_all(managed, managed);
  std::vector<FoundFabric> found;
  for (const Member& member : members.nodes) {
    found.push_back(found_fabric(member, registry));
    FoundFabric& fabric = found.back();
    if (manifests_decide || !fabric.managed || !fabric.interfaces.empty()) continue;
    fabric.managed = false;
    fabric.interfaces = from_facts(*member.machine->facts).interfaces;
    const auto others = names_of_others(fabric);
    std::erase_if(fabric.interfaces, [&](const FoundInterface& one) { return others.contains(one.name); });
  }
  return found;
}

std::set<std::string> names_of_others(const FoundFabric& found) {
  std::set<std::string> names;
  for (const Value& record : items_of(&found.others)) names.insert(record.text_or("name", ""));
  return names;
}

std::map<std::string, Value> applied_of(const Manifest& manifest, const std::string& type) {
  std::map<std::string, Value> applied;
  for (const auto& [id, resource] : manifest.resources) {
    if (id.type == type) applied.emplace(id.name, resource.last_applied);
  }
  return applied;
}

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
    std::size_t named = 0;
    for (const NeighbourFacts& one : machine.facts->extended->neighbours) {
      if (named == kMostNeighbours) break;
      const auto address = parse_ipv4(one.address);
      if (fabric.contains(one.interface) && !one.mac.empty() && one.state != "failed" && address &&
          is_host_address(*address)) {
        found.insert(one.address);
        ++named;
      }
    }
  }
  std::vector<std::string> neighbours;
  std::set_difference(found.begin(), found.end(), own.begin(), own.end(), std::back_inserter(neighbours));
  return neighbours;
}

std::optional<Cluster> cluster_with_fabric(const Members& members, const Value& section, const Registry& registry) {
  Value file = bare_file_of(members);
  file.set("fabric", section);
  return cluster_of(file, registry);
}

std::optional<std::vector<FoundInterface>> derived_interfaces(const NodeSpec& node, const Facts& facts) {
  const FabricInterfaces fabric = fabric_interfaces(node, facts, "");
  if (!fabric.diagnostics.empty()) return std::nullopt;
  std::vector<FoundInterface> interfaces;
  for (const ObservedPort& one : fabric.interfaces) {
    FoundInterface interface { one.interface, "", one.link_local, one.mtu };
    if (!one.address.empty()) interface.address = one.address_text();
    interfaces.push_back(std::move(interface));
  }
  return interfaces;
}

Diagnostic no_fabric_remark(const std::string& why) {
  return finding(Severity::kWarning, "init.no-fabric", "the fabric of these machines is omitted: " + why,
                 "correct the addresses on the machines, then run init again; the file lists them as comments");
}

}  // namespace sparkplan
