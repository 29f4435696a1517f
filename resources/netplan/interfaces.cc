#include "resources/netplan/interfaces.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/tree.h"
#include "resources/netplan/adoption.h"
#include "resources/netplan/live_link.h"

namespace sparkplan::netplan {
namespace {

/// The sort key of an interface: ports, and the halves of a port, are in the order of a node's fabric.
std::tuple<std::string, std::string, bool, std::string> place_of(const std::string& name, const Facts& own) {
  const auto link = std::ranges::find(own.links, name, &LinkFacts::name);
  const auto number = name.rfind("np");
  std::string port = number == std::string::npos ? "" : name.substr(number + 1);
  if (link == own.links.end()) return {std::move(port), "", !name.starts_with("enp"), name};
  if (!link->port.empty()) port = link->port;
  return {std::move(port), link->pci, !name.starts_with("enp"), name};
}

/// `beside_addresses`: another interface has an address. One without any would then take a link-local address; null
/// says that it does not.
Value record_of(const std::string& name, const Stanza& stanza, bool beside_addresses) {
  Value record = Value::map({{"name", name}});
  if (!stanza.addresses.empty()) record.set("address", stanza.addresses.front());
  if (stanza.link_local) record.set("link_local", "ipv4");
  if (!stanza.manages_addresses() && beside_addresses) record.set("link_local", Value());
  record.set("mtu", stanza.mtu ? Value(*stanza.mtu) : Value());
  return record;
}

/// A record of `interfaces`, which are no part of the fabric.
Value other_record_of(const std::string& name, const Stanza& stanza) {
  Value record = Value::map({{"name", name}});
  if (!stanza.addresses.empty()) record.set("address", stanza.addresses.front());
  if (stanza.mtu) record.set("mtu", *stanza.mtu);
  Value routes = Value::list();
  for (const Route& one : stanza.routes) {
    if (one.to == "default" && !one.metric && record.find("gateway") == nullptr) {
      record.set("gateway", one.via);
      continue;
    }
    Value route = Value::map({{"to", one.to}, {"via", one.via}});
    if (one.metric) route.set("metric", *one.metric);
    routes.push_back(std::move(route));
  }
  if (!items_of(routes).empty()) record.set("routes", std::move(routes));
  return record;
}

Stanza stanza_of(const FabricPort& wanted, Renderer renderer) {
  Stanza stanza;
  stanza.renderer = renderer;
  stanza.mtu = wanted.mtu;
  stanza.link_local = wanted.link_local;
  if (!wanted.address.empty()) stanza.addresses.push_back(wanted.address_text());
  return stanza;
}

/// `gateway` and `routes` of a record of `interfaces`.
std::vector<Route> routes_of(const Value& record) {
  std::vector<Route> routes;
  if (const std::string gateway = record.text_or("gateway", ""); !gateway.empty()) {
    routes.push_back({"default", gateway, std::nullopt});
  }
  for (const Value& one : items_of(record.find("routes"))) {
    Route route{one.text_or("to", ""), one.text_or("via", ""), std::nullopt};
    if (const Value* metric = one.find("metric"); metric != nullptr && metric->integer() != nullptr) {
      route.metric = *metric->integer();
    }
    if (std::ranges::find(routes, route) == routes.end()) routes.push_back(std::move(route));
  }
  std::ranges::sort(routes);
  return routes;
}

constexpr std::int64_t kLargestInt = std::numeric_limits<int>::max();
constexpr std::int64_t kSmallestInt = std::numeric_limits<int>::min();
/// An interface is defined in one file, or in a few by mistake. The controller parses a file again for each.
constexpr std::size_t kMostSources = 64;
constexpr std::size_t kMostAddresses = 1000;
/// The limit of interfaces and of shared files: each shared file is compared with all interfaces.
constexpr std::size_t kMostInterfaces = 1000;

Shape word() { return Shape::text(Shape::kMostLineBytes); }

/// Fields of a stanza, and of the kernel's state.
std::vector<ShapeField> link_fields() {
  return {{"mtu", Shape::integer(0, kLargestInt)},
          {"addresses", Shape::texts(kMostAddresses)},
          {"link_local", Shape::boolean()},
          {"up", Shape::boolean()},
          {"routes", Shape::texts(kMostAddresses)},
          {"fabric", Shape::boolean()},
          {"renderer", word()}};
}

Shape definition() {
  return Shape::map({{"source", word(), true},
                     {"section", word()},
                     {"id", word()},
                     {"has_match", Shape::boolean()},
                     {"match_name", word()},
                     {"match_mac", word()},
                     {"match_driver", word()},
                     {"members", Shape::texts()},
                     {"set_name", word()},
                     {"parent", word()},
                     {"has_virtual_functions", Shape::boolean()},
                     {"is_profile", Shape::boolean()},
                     {"starts_by_itself", Shape::boolean()},
                     {"priority", Shape::integer(kSmallestInt, kLargestInt)},
                     {"generated", Shape::boolean()},
                     {"why_not_taken_over", Shape::text()},
                     {"entries", Shape::texts()}});
}

}  // namespace

std::optional<Value> interfaces_from(const ValuesByName& applied, const Facts& own) {
  std::vector<std::string> names;
  bool took_over = false;
  for (const auto& [name, value] : applied) {
    if (value.find("persistent") == nullptr) return std::nullopt;
    took_over = took_over || value.find("also_defined_in") != nullptr;
    names.push_back(name);
  }
  // Each is looked up once among the links, not for each comparison.
  std::map<std::string, decltype(place_of("", own))> places;
  for (const std::string& name : names) places.emplace(name, place_of(name, own));
  std::ranges::sort(names, [&](const std::string& a, const std::string& b) { return places.at(a) < places.at(b); });
  std::vector<Stanza> stanzas;
  for (const std::string& name : names) {
    stanzas.push_back(decode_stanza(*applied.at(name).find("persistent")));
    if (stanzas.back().addresses.size() > 1) return std::nullopt;
  }
  const bool addressed =
      std::ranges::any_of(stanzas, [](const Stanza& one) { return one.fabric && !one.addresses.empty(); });
  Value interfaces = Value::list();
  Value others = Value::list();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (stanzas[i].fabric) {
      interfaces.push_back(record_of(names[i], stanzas[i], addressed));
    } else {
      others.push_back(other_record_of(names[i], stanzas[i]));
    }
  }
  Value section = Value::map({{"interfaces", std::move(interfaces)}});
  if (!items_of(others).empty()) section.set(kOtherInterfaces, std::move(others));
  if (took_over) section.set("adopt", "take-over");
  return section;
}

WantedInterfaces wanted_interfaces(const ClusterView& view, const Value& section, const Facts& own, Renderer renderer) {
  WantedInterfaces wanted;
  FabricInterfaces fabric = fabric_interfaces(view.self, own, view.cluster.profile);
  FabricInterfaces others = other_interfaces(view.self, own, view.cluster.profile);
  wanted.diagnostics = std::move(fabric.diagnostics);
  std::move(others.diagnostics.begin(), others.diagnostics.end(), std::back_inserter(wanted.diagnostics));
  for (ObservedPort& port : fabric.interfaces) {
    const Stanza stanza = stanza_of(port, renderer);
    wanted.all.push_back({std::move(port), stanza});
  }
  const Value::List& records = items_of(section.find(kOtherInterfaces));
  for (ObservedPort& port : others.interfaces) {
    const bool in_fabric = std::ranges::any_of(wanted.all, [&](const WantedInterface& one) {
      return one.stanza.fabric && one.port.interface == port.interface;
    });
    if (in_fabric) {
      wanted.all.clear();
      wanted.diagnostics.push_back(finding("interfaces.also-fabric", port.interface + " is in the fabric too",
                                           "leave it out of `interfaces`, or correct the fabric's `port`", port.where));
      return wanted;
    }
    Stanza stanza = stanza_of(port, renderer);
    stanza.fabric = false;
    stanza.routes = routes_of(records[static_cast<std::size_t>(port.half)]);
    wanted.all.push_back({std::move(port), std::move(stanza)});
  }
  return wanted;
}

ReportedShapes reported_interfaces() {
  ReportedShapes reported;
  auto resource = link_fields();
  resource.push_back({"persistent", Shape::map(link_fields())});
  resource.push_back({kAlsoDefinedIn, Shape::texts(kMostSources)});
  reported.resource = Shape::map(std::move(resource));
  auto link = link_fields();
  link.push_back({kProfileBefore, Shape::map({{"name", word()}, {"uuid", word()}})});
  reported.artifacts = {{std::string(kLinkKind), Shape::map(std::move(link))}};
  reported.most = kMostInterfaces;
  const Shape unreadable = Shape::list(Shape::map({{"source", word()}, {"message", Shape::text()}}));
  reported.exported = Shape::map({{"definitions", Shape::list(definition())},
                                  {"unreadable", unreadable},
                                  {"unread_profiles", unreadable},
                                  {"renderer", word()},
                                  {"virtual_functions", Shape::texts()},
                                  {"name_servers", Shape::map_of(Shape::texts())},
                                  {"configured", Shape::texts()}});
  return reported;
}

}  // namespace sparkplan::netplan
