#include "engine/init/fabric_found.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/init/applied.h"
#include "engine/load/address.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {
namespace {

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

/// True for an address that NetworkManager requested by a generated default profile. It is no decision of a user.
bool is_made_up(const LinkFacts& link, const Facts& facts) {
  const auto& profiles = facts.host.network_profiles;
  return !link.profile.empty() && std::any_of(profiles.begin(), profiles.end(), [&](const NetworkProfile& one) {
    return one.uuid == link.profile && one.origin == ProfileOrigin::kGenerated && one.method == "auto";
  });
}

/// A port without an address on either half is not in use and is left out.
FoundFabric from_facts(const Facts& facts) {
  const auto links = fabric_links(facts);
  const auto has_address = [](const FoundInterface& one) { return !one.address.empty() || one.link_local; };
  FoundFabric fabric;
  for (const LinkFacts* link : links) {
    const auto is_used_twin = [&](const LinkFacts* other) {
      const bool of_this_port = other == link || (port_of(*link) && port_of(*other) == port_of(*link));
      return of_this_port && !is_made_up(*other, facts) && has_address(found_on(*other));
    };
    if (std::any_of(links.begin(), links.end(), is_used_twin)) fabric.interfaces.push_back(found_on(*link));
  }
  return fabric;
}

FoundFabric from_section(const Value& section) {
  FoundFabric fabric;
  fabric.managed = true;
  fabric.took_over = section.find("adopt") != nullptr;
  const Value* interfaces = section.find("interfaces");
  if (interfaces == nullptr || interfaces->list_items() == nullptr) return fabric;
  for (const Value& record : *interfaces->list_items()) {
    FoundInterface interface;
    interface.name = record.text_or("name", "");
    interface.address = record.text_or("address", "");
    interface.link_local = record.text_or("link_local", "") == "ipv4";
    if (const auto mtu = record.integer_or("mtu", 0); mtu > 0 && std::in_range<int>(mtu))
      interface.mtu = static_cast<int>(mtu);
    fabric.interfaces.push_back(std::move(interface));
  }
  return fabric;
}

}  // namespace

std::optional<int> port_of(const LinkFacts& link) {
  if (!link.kind.empty() && link.kind != "veth") return std::nullopt;
  for (const int port : {0, 1}) {
    const std::string number = std::to_string(port);
    if (!link.port.empty() ? link.port == "p" + number : link.name.ends_with("np" + number)) return port;
  }
  return std::nullopt;
}

std::vector<const LinkFacts*> fabric_links(const Facts& facts, bool held) {
  const auto ours = links_below(links_with_address(facts.ssh_server_address, facts.links), facts.links);
  std::vector<const LinkFacts*> found;
  for (const LinkFacts& link : facts.links) {
    const bool hardware = link.kind.empty() && !link.rdma_devices.empty();
    if ((port_of(link) || hardware) && !ours.contains(link.name) && (held || link.master.empty()))
      found.push_back(&link);
  }
  const auto key = [](const LinkFacts* link) {
    return std::tuple(port_of(*link).value_or(-1), link->pci, !link->name.starts_with("enp"), link->name);
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

}  // namespace sparkplan
