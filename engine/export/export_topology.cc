#include <arpa/inet.h>
#include <fmt/format.h>

#include "engine/export/formats.h"
#include "engine/model/port_name.h"

namespace sparkplan::formats {
namespace {

std::string text_below(const NodeSpec& node, const char* key) {
  const auto section = node.sections.find("fabric");
  return section == node.sections.end() ? "" : section->second.text_or(key, "");
}

std::string half_name(const NodeSpec& node, const FabricPort& address) {
  if (!address.interface.empty()) return address.interface;
  return fmt::format("port {} half {}", port_of_half(node, address.half),
                     address.half % kHalvesOfAPort == 0 ? "A" : "B");
}

std::string address_text(const FabricPort& address) {
  if (!address.address.empty()) return fmt::format("{}/{}", address.address, address.prefix_length);
  return address.link_local ? "link-local" : "no address";
}

/// The network of an address, as a number; 0 for a text that is not an address.
std::uint32_t network_of(const FabricPort& one) {
  in_addr address{};
  if (one.prefix_length < 1 || ::inet_pton(AF_INET, one.address.c_str(), &address) != 1) return 0;
  return ntohl(address.s_addr) >> (32 - one.prefix_length);
}

bool share_network(const FabricPort& a, const FabricPort& b) {
  if (a.address.empty() || b.address.empty()) return a.half == b.half && a.address.empty() && b.address.empty();
  return a.prefix_length == b.prefix_length && network_of(a) == network_of(b);
}

std::string cable(const NodeSpec& first, const NodeSpec& second) {
  std::string text = "\n" + first.name.str() + " ======== " + second.name.str() + "\n";
  for (const FabricPort& a : first.fabric) {
    for (const FabricPort& b : second.fabric) {
      if (!share_network(a, b)) continue;
      text += fmt::format("  {:<14} {:<20} ---- {:>20} {:>14}\n", half_name(first, a), address_text(a), address_text(b),
                          half_name(second, b));
    }
  }
  return text;
}

std::string star(const Cluster& cluster) {
  std::string text = "\n";
  for (const NodeSpec& node : cluster.nodes) {
    for (std::size_t i = 0; i < node.fabric.size(); ++i) {
      const FabricPort& half = node.fabric[i];
      text += fmt::format("{:<16} {:<14} {:<20} ---- switch\n", i == 0 ? node.name.str() : "", half_name(node, half),
                          address_text(half));
    }
  }
  return text;
}

std::string list(const Cluster& cluster) {
  std::string text = "\n";
  for (const NodeSpec& node : cluster.nodes) {
    text += node.name.str() + "\n";
    for (const FabricPort& half : node.fabric) {
      text += fmt::format("  {:<14} {}\n", half_name(node, half), address_text(half));
    }
  }
  return text;
}

}  // namespace

std::string topology(const Cluster& cluster) {
  const std::string kind = text_below(cluster.nodes.front(), "topology");
  const auto count = cluster.nodes.size();
  std::string text =
      fmt::format("{}: {}, {} node{}\n", cluster.name, kind.empty() ? "no fabric" : kind, count, count == 1 ? "" : "s");
  if (kind == "switch") return text + star(cluster);
  if (cluster.cables.empty()) return text + list(cluster);
  for (const auto& [first, second] : cluster.cables) {
    const NodeSpec* a = cluster.find(first);
    const NodeSpec* b = cluster.find(second);
    if (a != nullptr && b != nullptr) text += cable(*a, *b);
  }
  return text;
}

}  // namespace sparkplan::formats
