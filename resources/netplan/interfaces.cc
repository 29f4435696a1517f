#include "resources/netplan/interfaces.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/core/tree.h"

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

}  // namespace

std::optional<Value> interfaces_from(const ValuesByName& applied, const Facts& own) {
  std::vector<std::string> names;
  bool took_over = false;
  for (const auto& [name, value] : applied) {
    if (value.find("persistent") == nullptr) return std::nullopt;
    took_over = took_over || value.find("also_defined_in") != nullptr;
    names.push_back(name);
  }
  std::ranges::sort(names,
                    [&](const std::string& a, const std::string& b) { return place_of(a, own) < place_of(b, own); });
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

}  // namespace sparkplan::netplan
