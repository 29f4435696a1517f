#include "resources/netplan/netplan_file.h"

#include <algorithm>
#include <charconv>

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

std::string render_stanza(const std::string& interface, const Stanza& stanza) {
  const std::string indent(6, ' ');
  std::string text = "    " + interface + ":\n";
  if (stanza.manages_addresses()) {
    text += indent + "dhcp4: false\n" + indent + "dhcp6: false\n" + indent + "accept-ra: false\n";
    text += indent + (stanza.link_local ? "link-local: [ipv4]\n" : "link-local: []\n");
  }
  text += indent + "optional: true\n";
  if (stanza.mtu) text += indent + "mtu: " + std::to_string(*stanza.mtu) + "\n";
  if (!stanza.addresses.empty()) text += indent + "addresses: [" + join(stanza.addresses, ", ") + "]\n";
  return text;
}

}  // namespace

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
  return value;
}

Stanza decode_stanza(const Value& value) {
  Stanza stanza;
  if (const auto mtu = value.integer_or("mtu", 0); mtu > 0) stanza.mtu = static_cast<int>(mtu);
  stanza.addresses = texts_in(value.find("addresses"));
  stanza.link_local = value.boolean_or("link_local", false);
  return stanza;
}

}  // namespace sparkplan::netplan
