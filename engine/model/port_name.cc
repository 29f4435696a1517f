#include "engine/model/port_name.h"

#include <charconv>

namespace sparkplan {
namespace {

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<int> port_in_name(std::string_view interface) {
  const auto at = interface.rfind("np");
  if (at == std::string_view::npos || at < 2) return std::nullopt;
  return number_in(interface.substr(at + 2));
}

std::optional<int> half_in_name(std::string_view interface) {
  if (interface.find("np", 3) == std::string_view::npos) return std::nullopt;
  if (interface.starts_with("enp")) return 0;
  if (interface.starts_with("enP")) return 1;
  return std::nullopt;
}

std::optional<int> port_of(const LinkFacts& link) {
  if (!link.kind.empty() && link.kind != "veth") return std::nullopt;
  if (link.port.empty()) return port_in_name(link.name);
  return link.port.starts_with('p') ? number_in(std::string_view(link.port).substr(1)) : std::nullopt;
}

int port_of_half(const NodeSpec& node, int half) {
  const int place = half / kHalvesOfAPort;
  const auto found = node.sections.find("fabric");
  if (found == node.sections.end()) return place;
  const Value& fabric = found->second;
  const std::string topology = fabric.text_or("topology", "");
  if (topology == "ring") return place;
  const Value* ports = topology == "dual-cable" ? fabric.find("ports") : fabric.find("port");
  if (ports == nullptr) return place;
  if (const auto* one = ports->integer()) return static_cast<int>(*one);
  const auto* list = ports->list_items();
  const auto at = static_cast<std::size_t>(place);
  const std::int64_t* port = list == nullptr || at >= list->size() ? nullptr : (*list)[at].integer();
  return port == nullptr ? place : static_cast<int>(*port);
}

std::tuple<std::string, bool, std::string> order_in_port(const LinkFacts& link) {
  return {link.pci, !link.name.starts_with("enp"), link.name};
}

std::string spark_interface(int port, int half) {
  const std::string number = std::to_string(port);
  return (half == 0 ? "enp1s0f" : "enP2p1s0f") + number + "np" + number;
}

std::vector<std::string> spark_hcas(const std::string& interface) {
  const auto end = interface.rfind("np");
  if (!interface.starts_with("en") || end == std::string::npos || end <= 2) return {};
  return {"roce" + interface.substr(2, end - 2)};
}

}  // namespace sparkplan
