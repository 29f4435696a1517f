#include "resources/netplan/netplan_file.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/text_list.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/netplan/yaml_tree.h"

namespace sparkplan::netplan {
namespace {

std::optional<int> number_in(const Value* value) {
  if (value == nullptr || value->string() == nullptr) return std::nullopt;
  const std::string& text = *value->string();
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// What netplan leaves to NetworkManager's defaults, and what those get wrong: a profile without an
/// address would take a link-local one, and IPv6 would be the kernel's.
std::string render_settings(const Stanza& stanza) {
  std::string text = "connection.autoconnect-priority: \"" + std::to_string(kAutoconnectPriority) + "\"\n";
  const std::string indent(10, ' ');
  if (stanza.addresses.empty() && !stanza.link_local) text += indent + "ipv4.method: disabled\n";
  // 3: enabled. Source: nm-settings(5), ipv4.link-local.
  if (!stanza.addresses.empty() && stanza.link_local) text += indent + "ipv4.link-local: \"3\"\n";
  if (stanza.manages_addresses()) text += indent + "ipv6.method: disabled\n";
  return "      networkmanager:\n        passthrough:\n" + indent + text;
}

std::string render_stanza(const std::string& interface, const Stanza& stanza) {
  const std::string indent(6, ' ');
  std::string text = "    " + interface + ":\n";
  if (stanza.renderer == Renderer::kNetworkManager) text += indent + "renderer: NetworkManager\n";
  if (stanza.manages_addresses()) {
    text += indent + "dhcp4: false\n" + indent + "dhcp6: false\n" + indent + "accept-ra: false\n";
    text += indent + (stanza.link_local ? "link-local: [ipv4]\n" : "link-local: []\n");
  }
  text += indent + "optional: true\n";
  if (stanza.mtu) text += indent + "mtu: " + std::to_string(*stanza.mtu) + "\n";
  if (!stanza.addresses.empty()) text += indent + "addresses: [" + join(stanza.addresses, ", ") + "]\n";
  if (stanza.renderer == Renderer::kNetworkManager) text += render_settings(stanza);
  return text;
}

}  // namespace

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
  Stanzas stanzas;
  const Value* network = tree.find("network");
  const Value* ethernets = network == nullptr ? nullptr : network->find("ethernets");
  if (ethernets == nullptr || ethernets->entries() == nullptr) return stanzas;
  for (const MapEntry& entry : *ethernets->entries()) {
    Stanza& stanza = stanzas[entry.key];
    stanza.mtu = number_in(entry.value.find("mtu"));
    stanza.addresses = texts_in(entry.value.find("addresses"));
    std::sort(stanza.addresses.begin(), stanza.addresses.end());
    const auto families = texts_in(entry.value.find("link-local"));
    stanza.link_local = std::find(families.begin(), families.end(), "ipv4") != families.end();
    stanza.renderer = renderer_from(entry.value.text_or("renderer", "")).value_or(Renderer::kNetworkd);
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
  return stanza;
}

}  // namespace sparkplan::netplan
