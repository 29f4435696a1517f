#include "resources/netplan/interfaces.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {
namespace {

/// The order of a port's halves, and of ports: as the fabric of a node has them.
std::tuple<std::string, std::string, bool, std::string> place_of(const std::string& name, const Facts& own) {
  const auto link =
      std::find_if(own.links.begin(), own.links.end(), [&](const LinkFacts& one) { return one.name == name; });
  const auto number = name.rfind("np");
  std::string port = number == std::string::npos ? "" : name.substr(number + 1);
  if (link == own.links.end()) return {std::move(port), "", !name.starts_with("enp"), name};
  if (!link->port.empty()) port = link->port;
  return {std::move(port), link->pci, !name.starts_with("enp"), name};
}

Value record_of(const std::string& name, const Stanza& stanza) {
  Value record = Value::map({{"name", name}});
  if (!stanza.addresses.empty()) record.set("address", stanza.addresses.front());
  if (stanza.link_local) record.set("link_local", "ipv4");
  record.set("mtu", stanza.mtu ? Value(*stanza.mtu) : Value());
  return record;
}

}  // namespace

std::optional<Value> interfaces_from(const std::map<std::string, Value>& applied, const Facts& own) {
  std::vector<std::string> names;
  bool took_over = false;
  for (const auto& [name, value] : applied) {
    if (value.find("persistent") == nullptr) return std::nullopt;
    took_over = took_over || value.find("also_defined_in") != nullptr;
    names.push_back(name);
  }
  std::sort(names.begin(), names.end(),
            [&](const std::string& a, const std::string& b) { return place_of(a, own) < place_of(b, own); });
  Value interfaces = Value::list();
  for (const std::string& name : names) {
    const Stanza stanza = decode_stanza(*applied.at(name).find("persistent"));
    if (stanza.addresses.size() > 1) return std::nullopt;
    interfaces.push_back(record_of(name, stanza));
  }
  Value section = Value::map({{"interfaces", std::move(interfaces)}});
  if (took_over) section.set("adopt", "take-over");
  return section;
}

}  // namespace sparkplan::netplan
