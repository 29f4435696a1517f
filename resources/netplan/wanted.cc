#include "resources/netplan/wanted.h"

#include <algorithm>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/tree.h"

namespace sparkplan::netplan {
namespace {

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
    if (std::find(routes.begin(), routes.end(), route) == routes.end()) routes.push_back(std::move(route));
  }
  std::sort(routes.begin(), routes.end());
  return routes;
}

}  // namespace

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
    const bool in_fabric = std::any_of(wanted.all.begin(), wanted.all.end(), [&](const WantedInterface& one) {
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

}  // namespace sparkplan::netplan
