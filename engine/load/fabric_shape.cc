#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/core/tree.h"
#include "engine/load/fabric.h"

namespace sparkplan {
namespace {

std::size_t node_count(const UnresolvedCluster& draft) { return items_of(draft.root->find("nodes")).size(); }

std::string counted_nodes(std::size_t count) { return count == 1 ? "one node" : std::to_string(count) + " nodes"; }

void check_node_count(const UnresolvedCluster& draft, FabricFile& fabric, Findings& findings) {
  const std::size_t count = node_count(draft);
  if (count == 0) return;  // The schema reports this.
  const auto broken = broken_node_count(fabric.topology, count);
  if (!broken) return;
  std::string hint = count < 3 ? "for two nodes write \"topology: direct\" or \"topology: dual-cable\""
                               : "write \"topology: switch\" or \"topology: ring\"";
  if (count == 1)
    hint = "remove \"fabric\" too, or add the other node; to release both, do so before you edit the file";
  std::vector<DiagnosticNote> notes;
  if (fabric.topology_where.known()) {
    notes.push_back({"the topology is set here", fabric.topology_where});
  } else {
    notes.push_back({"a fabric without \"topology\" is direct", fabric.where});
  }
  findings.error(key_place_of(*draft.root, "nodes"), "fabric.node-count",
                 *broken + ", but the file has " + counted_nodes(count), hint, std::move(notes));
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
  if (fabric.ports.link_local || fabric.topology == Topology::kCustom) {
    findings.warning(fabric.subnets_key, "fabric.no-effect",
                     fabric.ports.link_local ? "\"subnets\" does nothing together with \"link_local\""
                                             : "\"subnets\" does nothing in topology custom",
                     "delete it");
    return;
  }
  const Value::List& given = items_of(find_below(*draft.root, "fabric", "subnets"));
  const std::size_t wanted = wanted_subnets(draft, fabric);
  const bool one_half = wanted == 2 && fabric.topology != Topology::kRing && given.size() == 1;
  if (given.size() == wanted || one_half || given.empty()) {
    if (one_half) {
      findings.warning(fabric.subnets_key, "fabric.one-half",
                       "with one subnet, only half A of the port has fixed addresses: TCP gets about half of the "
                       "bandwidth, and for RDMA half B takes link-local ones",
                       "add a second subnet for half B");
    }
    if (given.empty()) fabric.subnets_usable = false;
    return;
  }
  findings.error(fabric.subnets_key, "fabric.subnet-count",
                 "topology " + std::string(to_string(fabric.topology)) + " needs " + std::to_string(wanted) +
                     " subnets here, not " + std::to_string(given.size()),
                 "list one for each half of each cable, or leave \"subnets\" out");
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
                     "give each half its own subnet; otherwise the traffic of both uses one of them",
                     {{"the other one", a.where}});
      break;
    }
  }
}

// A ring is one cycle through all nodes in which every node is first in one cable and second in another.
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
  findings.error(fabric.cables_key, "fabric.not-a-ring", "these cables do not form a ring of all nodes",
                 "name each node first in one cable and second in another: [[a:0, b:1], [b:0, c:1], [c:0, a:1]]");
  fabric.cables_usable = false;
}

// `port` and `ports` of a node, which say where its cables are.
void check_ports_of(const UnresolvedNode& node, const FabricFile& fabric, Findings& findings) {
  const Value* own = node.record->find("fabric");
  if (own == nullptr) return;
  const Value* interfaces = own->find("interfaces");
  const bool named = interfaces != nullptr && !interfaces->is_null();
  const bool one_cable = fabric.topology == Topology::kDirect || fabric.topology == Topology::kSwitch;
  const auto check = [&](const char* key, bool fits, const std::string& instead) {
    const auto* entry = own->find_entry(key);
    if (entry == nullptr || entry->value.is_null() || (fits && !named)) return;
    findings.warning(entry->key_where, "fabric.no-effect",
                     "\"" + std::string(key) + "\" of " + node.name + " does nothing " +
                         (named ? "beside \"interfaces\"" : "in topology " + std::string(to_string(fabric.topology))),
                     named ? "delete it" : instead);
  };
  const bool ring = fabric.topology == Topology::kRing;
  const std::string otherwise = ring ? "name the ports in \"cables\"" : "delete it";
  const bool two_cables = fabric.topology == Topology::kDualCable;
  check("port", one_cable,
        two_cables ? "write \"ports: [1, 0]\" if its two cables are the other way round" : otherwise);
  check("ports", two_cables, one_cable ? "write \"port: 0\" or \"port: 1\"" : otherwise);
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
  for (const auto& node : draft.nodes) check_ports_of(node, fabric, findings);
  const bool any_interfaces = std::any_of(draft.nodes.begin(), draft.nodes.end(), [](const UnresolvedNode& node) {
    // `adopt` also counts for the interfaces beside the fabric.
    return find_below(*node.record, "fabric", "interfaces") != nullptr || node.record->find("interfaces") != nullptr;
  });
  if (fabric.topology == Topology::kCustom && !any_interfaces) {
    findings.warning(fabric.topology_where, "fabric.no-effect",
                     "topology custom does nothing unless a node has \"fabric: {interfaces: ...}\"",
                     "list the interfaces of each node");
  }
}

}  // namespace

std::optional<std::string> broken_node_count(Topology topology, std::size_t count) {
  const bool pair = topology == Topology::kDirect || topology == Topology::kDualCable;
  const bool fits = pair ? count == 2 : topology != Topology::kRing || count >= 3;
  if (fits) return std::nullopt;
  return "topology " + std::string(to_string(topology)) +
         (pair ? " connects exactly two nodes" : " needs at least three nodes");
}

void check_fabric_shape(const UnresolvedCluster& draft, const SchemaOutcome& schema, FabricFile& fabric,
                        Findings& findings) {
  if (!fabric.present) return;
  if (schema.is_broken("/fabric/topology")) {
    // The misspelt word or key is reported. The default topology in its place would cause false findings.
    fabric.subnets_usable = false;
    return check_subnet_overlap(fabric, findings);
  }
  check_node_count(draft, fabric, findings);
  check_subnet_count(draft, fabric, findings);
  check_subnet_overlap(fabric, findings);
  if (fabric.topology == Topology::kRing && !fabric.cables.empty() && fabric.cables_usable) {
    check_ring(draft, fabric, findings);
  }
  check_effect(draft, fabric, findings);
}

}  // namespace sparkplan
