#include <fmt/format.h>

#include "engine/domain/fabric/cabling.h"
#include "engine/export/formats.h"

namespace sparkplan::formats {
namespace {

std::string cable(const Cluster& cluster, const std::vector<Wire>& wires, const NodeSpec& first,
                  const NodeSpec& second) {
  std::string text = "\n" + first.name.str() + " ======== " + second.name.str() + "\n";
  for (const Wire& wire : wires) {
    if (!wire.to || &cluster.nodes[wire.from.node] != &first || &cluster.nodes[wire.to->node] != &second) continue;
    const FabricPort& a = first.fabric[wire.from.half];
    const FabricPort& b = second.fabric[wire.to->half];
    text += fmt::format("  {:<14} {:<20} ---- {:>20} {:>14}\n", half_name(first, a), address_or_kind(a),
                        address_or_kind(b), half_name(second, b));
  }
  return text;
}

std::string star(const Cluster& cluster) {
  std::string text = "\n";
  for (const NodeSpec& node : cluster.nodes) {
    for (std::size_t i = 0; i < node.fabric.size(); ++i) {
      const FabricPort& half = node.fabric[i];
      text += fmt::format("{:<16} {:<14} {:<20} ---- switch\n", i == 0 ? node.name.str() : "", half_name(node, half),
                          address_or_kind(half));
    }
  }
  return text;
}

std::string list(const Cluster& cluster) {
  std::string text = "\n";
  for (const NodeSpec& node : cluster.nodes) {
    text += node.name.str() + "\n";
    for (const FabricPort& half : node.fabric) {
      text += fmt::format("  {:<14} {}\n", half_name(node, half), address_or_kind(half));
    }
  }
  return text;
}

}  // namespace

std::string topology(const Cluster& cluster) {
  const std::string kind = topology_of(cluster);
  const auto count = cluster.nodes.size();
  std::string text =
      fmt::format("{}: {}, {} node{}\n", cluster.name, kind.empty() ? "no fabric" : kind, count, count == 1 ? "" : "s");
  if (kind == "switch") return text + star(cluster);
  if (cluster.cables.empty()) return text + list(cluster);
  const auto wires = declared_wires(cluster);
  for (const auto& [first, second] : cluster.cables) {
    const NodeSpec* a = cluster.find(first);
    const NodeSpec* b = cluster.find(second);
    if (a != nullptr && b != nullptr) text += cable(cluster, wires, *a, *b);
  }
  return text;
}

}  // namespace sparkplan::formats
