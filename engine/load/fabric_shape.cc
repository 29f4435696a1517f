#include <algorithm>
#include <map>
#include <set>

#include "engine/load/fabric.h"
#include "engine/load/tree.h"

namespace sparkplan {
namespace {

std::size_t node_count(const UnresolvedCluster& draft) { return items_of(draft.root->find("nodes")).size(); }

std::string counted_nodes(std::size_t count) { return count == 1 ? "one node" : std::to_string(count) + " nodes"; }

void check_node_count(const UnresolvedCluster& draft, FabricFile& fabric, Findings& findings) {
  const std::size_t count = node_count(draft);
  if (count == 0) return;  // Has a finding of its own.
  const bool pair = fabric.topology == Topology::kDirect || fabric.topology == Topology::kDualCable;
  const bool fits = pair ? count == 2 : fabric.topology != Topology::kRing || count >= 3;
  if (fits) return;
  const std::string name(to_string(fabric.topology));
  std::string hint = count < 3 ? "for two nodes write \"topology: direct\" or \"topology: dual-cable\""
                               : "write \"topology: switch\" or \"topology: ring\"";
  if (count == 1) hint = "leave \"fabric\" out, or add the other node";
  std::vector<DiagnosticNote> notes;
  if (fabric.topology_where.known()) {
    notes.push_back({"the topology is set here", fabric.topology_where});
  } else {
    notes.push_back({"a fabric without \"topology\" is direct", fabric.where});
  }
  findings.error(key_place_of(*draft.root, "nodes"), "fabric.node-count",
                 "topology " + name + (pair ? " joins exactly two nodes" : " needs at least three nodes") +
                     ", and the file has " + counted_nodes(count),
                 hint, std::move(notes));
  if (fabric.topology == Topology::kRing) fabric.cables_usable = false;
}

std::size_t wanted_subnets(const UnresolvedCluster& draft, const FabricFile& fabric) {
  switch (fabric.topology) {
    case Topology::kDualCable:
      return 4;
    case Topology::kRing:
      return 2 * (fabric.cables.empty() ? node_count(draft) : fabric.cables.size());
    case Topology::kCustom:
      return 0;
    case Topology::kDirect:
    case Topology::kSwitch:
      break;
  }
  return 2;
}

void check_subnet_count(const UnresolvedCluster& draft, FabricFile& fabric, Findings& findings) {
  if (!fabric.subnets_key.known()) return;
  if (fabric.link_local || fabric.topology == Topology::kCustom) {
    findings.warning(fabric.subnets_key, "fabric.no-effect",
                     fabric.link_local ? "\"subnets\" does nothing beside \"link_local\""
                                       : "\"subnets\" does nothing in topology custom",
                     "delete it");
    return;
  }
  const Value::List& given = items_of(find_below(*draft.root, "fabric", "subnets"));
  const std::size_t wanted = wanted_subnets(draft, fabric);
  const bool one_half = wanted == 2 && fabric.topology != Topology::kRing && given.size() == 1;
  if (given.size() == wanted || one_half || given.empty()) {
    if (one_half && fabric.topology == Topology::kSwitch) {
      findings.warning(fabric.subnets_key, "fabric.one-half",
                       "with one subnet only half A of the port has addresses: about half of its bandwidth",
                       "add a second subnet for half B");
    }
    if (given.empty()) fabric.subnets_usable = false;
    return;
  }
  findings.error(fabric.subnets_key, "fabric.subnet-count",
                 "topology " + std::string(to_string(fabric.topology)) + " takes " + std::to_string(wanted) +
                     " subnets here, not " + std::to_string(given.size()),
                 "one for each half of each cable, or leave \"subnets\" out");
  fabric.subnets_usable = false;
}

void check_subnet_overlap(FabricFile& fabric, Findings& findings) {
  for (std::size_t later = 1; later < fabric.subnets.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const auto& a = fabric.subnets[earlier];
      const auto& b = fabric.subnets[later];
      if (!a.network.overlaps(b.network)) continue;
      findings.error(b.where, "fabric.twins-in-one-subnet",
                     a.network == b.network ? b.network.str() + " is given to two halves"
                                            : b.network.str() + " overlaps " + a.network.str(),
                     "give each half a subnet of its own, or traffic of both leaves through one",
                     {{"the other one", a.where}});
      break;
    }
  }
}

// One cycle through all nodes, in which every node is first in one cable and second in another.
void check_ring(const UnresolvedCluster& draft, FabricFile& fabric, Findings& findings) {
  std::map<std::string, std::string> next;
  bool ordered = true;
  for (const auto& cable : fabric.cables) ordered &= next.emplace(cable.first.node, cable.second.node).second;
  std::set<std::string> reached;
  if (!draft.nodes.empty()) {
    std::string at = draft.nodes.front().name;
    while (reached.insert(at).second && next.contains(at)) at = next.at(at);
  }
  const bool cycle = reached.size() == draft.nodes.size() && next.size() == draft.nodes.size() &&
                     fabric.cables.size() == draft.nodes.size();
  if (ordered && cycle) return;
  findings.error(fabric.cables_key, "fabric.not-a-ring", "these cables do not lead around a ring of all nodes",
                 "name each node first in one cable and second in another: [[a:0, b:1], [b:0, c:1], [c:0, a:1]]");
  fabric.cables_usable = false;
}

void check_effect(const UnresolvedCluster& draft, const FabricFile& fabric, Findings& findings) {
  const std::string topology(to_string(fabric.topology));
  const bool has_port = fabric.topology == Topology::kDirect || fabric.topology == Topology::kSwitch;
  if (fabric.port_key.known() && !has_port) {
    findings.warning(fabric.port_key, "fabric.no-effect", "\"port\" does nothing in topology " + topology, "delete it");
  }
  const bool has_cables = fabric.topology == Topology::kRing || fabric.topology == Topology::kCustom;
  if (fabric.cables_key.known() && !has_cables) {
    findings.warning(fabric.cables_key, "fabric.no-effect", "\"cables\" does nothing in topology " + topology,
                     "delete it");
  }
  if (fabric.topology == Topology::kSwitch && node_count(draft) == 1) {
    findings.warning(fabric.where, "fabric.no-effect", "a fabric of one node connects nothing",
                     "add nodes, or leave \"fabric\" out");
  }
  const bool any_interfaces = std::any_of(draft.nodes.begin(), draft.nodes.end(), [](const UnresolvedNode& node) {
    return find_below(*node.record, "fabric", "interfaces") != nullptr;
  });
  if (fabric.topology == Topology::kCustom && !any_interfaces) {
    findings.warning(fabric.topology_where, "fabric.no-effect",
                     "topology custom does nothing while no node has \"fabric: {interfaces: ...}\"",
                     "list the interfaces of each node");
  }
}

}  // namespace

void check_fabric_shape(const UnresolvedCluster& draft, FabricFile& fabric, Findings& findings) {
  if (!fabric.present) return;
  check_node_count(draft, fabric, findings);
  check_subnet_count(draft, fabric, findings);
  check_subnet_overlap(fabric, findings);
  if (fabric.topology == Topology::kRing && !fabric.cables.empty() && fabric.cables_usable) {
    check_ring(draft, fabric, findings);
  }
  check_effect(draft, fabric, findings);
}

}  // namespace sparkplan
