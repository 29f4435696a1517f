#include "resources/netplan/netplan_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"

namespace sparkplan::netplan {
namespace {

/// The interface of NetworkManager's profile for an interface with only an MTU. There is none of this name, so the
/// profile is never active, and NetworkManager makes its usual one for the real interface.
constexpr std::string_view kNoInterface = "sparkplan-none";

/// After the key of an interface of `interfaces`: netplan has no word for it.
constexpr std::string_view kNoFabric = "  # not of the fabric";

std::string render_routes(const std::vector<Route>& routes) {
  if (routes.empty()) return "";
  std::string text = "      routes:\n";
  for (const Route& route : routes) {
    text += "        - {to: " + route.to + ", via: " + route.via;
    if (route.metric) text += ", metric: " + std::to_string(*route.metric);
    text += "}\n";
  }
  return text;
}

/// Settings that netplan leaves to NetworkManager's defaults. By default, IPv6 is left to the kernel. For an interface
/// with only an MTU, the profile must stay without effect: whatever profile is active would lose its addresses.
std::string render_settings(const Stanza& stanza) {
  const std::string indent(10, ' ');
  std::string text = "      networkmanager:\n        passthrough:\n" + indent;
  if (!stanza.manages_addresses()) {
    return text + "connection.autoconnect: \"false\"\n" + indent +
           "connection.interface-name: " + std::string(kNoInterface) + "\n";
  }
  text += "connection.autoconnect-priority: \"" + std::to_string(kAutoconnectPriority) + "\"\n";
  // 3: enabled. Source: nm-settings(5), ipv4.link-local.
  if (!stanza.addresses.empty() && stanza.link_local) text += indent + "ipv4.link-local: \"3\"\n";
  return text + indent + "ipv6.method: disabled\n";
}

std::string render_stanza(const std::string& interface, const Stanza& stanza) {
  const std::string indent(6, ' ');
  std::string text = "    " + interface + ":" + std::string(stanza.fabric ? "" : kNoFabric) + "\n";
  if (stanza.renderer == Renderer::kNetworkManager) text += indent + "renderer: NetworkManager\n";
  if (stanza.manages_addresses()) {
    text += indent + "dhcp4: false\n" + indent + "dhcp6: false\n" + indent + "accept-ra: false\n";
    text += indent + (stanza.link_local ? "link-local: [ipv4]\n" : "link-local: []\n");
  }
  text += indent + "optional: true\n";
  if (stanza.mtu) text += indent + "mtu: " + std::to_string(*stanza.mtu) + "\n";
  if (!stanza.addresses.empty()) text += indent + "addresses: [" + join(stanza.addresses, ", ") + "]\n";
  text += render_routes(stanza.routes);
  if (stanza.renderer == Renderer::kNetworkManager) text += render_settings(stanza);
  return text;
}

/// The interfaces that have kNoFabric after their key. One pass: a file may have thousands of definitions.
std::set<std::string_view> marked_no_fabric(std::string_view text) {
  constexpr std::string_view kIndent = "    ";
  const std::string end = ":" + std::string(kNoFabric);
  std::set<std::string_view> marked;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(kIndent) || !line.ends_with(end) || line.size() < kIndent.size() + end.size()) continue;
    line.remove_prefix(kIndent.size());
    line.remove_suffix(end.size());
    marked.insert(line);
  }
  return marked;
}

}  // namespace

std::string Route::str() const { return to + " via " + via + (metric ? " metric " + std::to_string(*metric) : ""); }

std::optional<Route> parse_route(std::string_view text) {
  const auto words = split(text, ' ');
  const bool complete = words.size() == 3 || (words.size() == 5 && words[3] == "metric");
  if (!complete || words[1] != "via") return std::nullopt;
  Route route{std::string(words[0]), std::string(words[2]), std::nullopt};
  if (words.size() == 3) return route;
  route.metric = parse_number(words[4]);
  return route.metric ? std::optional(route) : std::nullopt;
}

std::string_view to_string(Renderer renderer) {
  return renderer == Renderer::kNetworkManager ? "NetworkManager" : "networkd";
}

std::optional<Renderer> renderer_from(std::string_view name) {
  for (const Renderer one : {Renderer::kNetworkd, Renderer::kNetworkManager}) {
    if (to_string(one) == name) return one;
  }
  return std::nullopt;
}

std::string render_file(const Stanzas& stanzas) {
  std::string text = ownership_header();
  text += "network:\n  version: 2\n  ethernets:\n";
  for (const auto& [interface, stanza] : stanzas) text += render_stanza(interface, stanza);
  return text;
}

Result<Stanzas> parse_file(std::string_view text) {
  SPARK_TRY(const Value tree, parse_yaml(text));
  const auto others = marked_no_fabric(text);
  Stanzas stanzas;
  const Value* network = tree.find("network");
  const Value* ethernets = network == nullptr ? nullptr : network->find("ethernets");
  for (const MapEntry& entry : entries_of(ethernets)) {
    Stanza& stanza = stanzas[entry.key];
    stanza.mtu = parse_number<int>(text_of(entry.value.find("mtu")));
    stanza.addresses = texts_in(entry.value.find("addresses"));
    std::ranges::sort(stanza.addresses);
    const auto families = texts_in(entry.value.find("link-local"));
    stanza.link_local = std::ranges::find(families, "ipv4") != families.end();
    stanza.renderer = renderer_from(entry.value.text_or("renderer", "")).value_or(Renderer::kNetworkd);
    stanza.fabric = !others.contains(entry.key);
    for (const Value& route : items_of(entry.value.find("routes"))) {
      stanza.routes.push_back(
          {route.text_or("to", ""), route.text_or("via", ""), parse_number(text_of(route.find("metric")))});
    }
    std::ranges::sort(stanza.routes);
  }
  return stanzas;
}

Value encode(const Stanza& stanza) {
  Value value = Value::map();
  if (stanza.mtu) value.set("mtu", *stanza.mtu);
  if (stanza.manages_addresses()) {
    value.set("addresses", list_of_texts(stanza.addresses));
    if (stanza.link_local) value.set("link_local", true);
  }
  if (!stanza.routes.empty()) value.set("routes", texts_of(stanza.routes));
  if (!stanza.fabric) value.set("fabric", false);
  if (stanza.renderer == Renderer::kNetworkManager) value.set("renderer", std::string(to_string(stanza.renderer)));
  return value;
}

Stanza decode_stanza(const Value& value) {
  Stanza stanza;
  if (const auto mtu = value.integer_or("mtu", 0); mtu > 0 && std::in_range<int>(mtu))
    stanza.mtu = static_cast<int>(mtu);
  stanza.addresses = texts_in(value.find("addresses"));
  stanza.link_local = value.boolean_or("link_local", false);
  stanza.renderer = renderer_from(value.text_or("renderer", "")).value_or(Renderer::kNetworkd);
  stanza.fabric = value.boolean_or("fabric", true);
  for (const std::string& text : texts_in(value.find("routes"))) {
    if (auto route = parse_route(text)) stanza.routes.push_back(*std::move(route));
  }
  return stanza;
}

Value texts_of(const std::vector<Route>& routes) {
  std::vector<std::string> texts;
  for (const Route& route : routes) texts.push_back(route.str());
  return list_of_texts(texts);
}

}  // namespace sparkplan::netplan
