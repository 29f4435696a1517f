#include "engine/load/fabric.h"

#include <algorithm>
#include <map>

#include "engine/core/tree.h"
#include "engine/model/port_name.h"

namespace sparkplan {
namespace {

constexpr int kFirstDefaultOctet = 100;
constexpr int kOffsetOfIds = 10;

// An address slot of a node: the half of a port, and the subnet of its address.
struct Slot {
  int half = 0;
  std::optional<FabricSubnet> subnet;  // None: an interface without an address.
};

const Value* own_interfaces(const UnresolvedNode& node) {
  const auto section = node.sections.find("fabric");
  if (section == node.sections.end()) return nullptr;
  const Value* interfaces = section->second.find("interfaces");
  return interfaces != nullptr && interfaces->is_list() ? interfaces : nullptr;
}

// Names identify halves only if all interfaces belong to one port. Otherwise the position in the list decides.
std::vector<int> halves_of(const Value::List& interfaces) {
  std::vector<int> halves;
  for (const auto& interface : interfaces) {
    const auto half = half_in_name(interface.text_or("name", ""));
    if (!half || std::find(halves.begin(), halves.end(), *half) != halves.end()) {
      halves.clear();
      for (std::size_t i = 0; i < interfaces.size(); ++i) halves.push_back(static_cast<int>(i));
      return halves;
    }
    halves.push_back(*half);
  }
  return halves;
}

// Without `hcas`, NCCL uses the devices of all interfaces. Only udev's names of devices show which interface they
// belong to; with other names, every interface counts as used.
bool nccl_uses(const UnresolvedNode& node, const std::string& interface) {
  const auto section = node.sections.find("fabric");
  const Value* hcas = section == node.sections.end() ? nullptr : section->second.find("hcas");
  const Value::List& named = items_of(hcas);
  const auto devices = spark_hcas(interface);
  if (named.empty() || devices.empty()) return true;
  return std::any_of(named.begin(), named.end(), [&](const Value& device) {
    const std::string& name = text_of(&device);
    return !name.starts_with("roce") || std::find(devices.begin(), devices.end(), name) != devices.end();
  });
}

// RDMA over IPv4 needs an address on every half, so a half without one takes a link-local address beside the addresses
// of the others. If the file gives the node none, another program does. An explicit null leaves the half alone.
void give_link_local(UnresolvedNode& node, const Value::List& as_written) {
  const bool addressed = std::ranges::any_of(node.fabric, [](const FabricPort& one) { return !one.address.empty(); });
  if (!addressed) return;
  for (std::size_t i = 0; i < node.fabric.size(); ++i) {
    FabricPort& port = node.fabric[i];
    const bool decided = i < as_written.size() && as_written[i].find("link_local") != nullptr;
    const bool has_address = i < as_written.size() && as_written[i].find("address") != nullptr;
    if (!decided && !has_address && nccl_uses(node, port.interface)) port.link_local = true;
  }
}

void take_own_interfaces(UnresolvedNode& node, const Value& interfaces, const FabricFile& fabric) {
  const auto halves = halves_of(items_of(&interfaces));
  // The merged section has no nulls, and a null in a record drops what the fabric says.
  const Value::List& as_written = items_of(find_below(*node.record, "fabric", "interfaces"));
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const Value& interface = items_of(&interfaces)[i];
    FabricPort address{fabric.ports};
    // A port with a record has the addresses that its record gives it.
    address.link_local = false;
    address.interface = interface.text_or("name", "");
    address.half = halves[i];
    address.where = interface.where;
    if (i < as_written.size()) address.read(as_written[i]);
    address.read(interface);
    if (const Value* text = interface.find("address"); text != nullptr && text->is_string()) {
      address.where = text->where;
      if (const auto parsed = parse_ipv4_interface(text_of(text))) {
        address.address = parsed->address.str();
        address.prefix_length = parsed->prefix_length;
      }
    }
    node.fabric.push_back(std::move(address));
  }
  give_link_local(node, as_written);
}

// The name of a slot's interface on a DGX Spark.
std::string name_on_a_spark(const UnresolvedNode& node, const Slot& slot, const FabricFile& fabric) {
  const auto section = node.sections.find("fabric");
  const auto port = section == node.sections.end() ? fabric.port : section->second.integer_or("port", fabric.port);
  return spark_interface(static_cast<int>(port), slot.half);
}

void take_slot(UnresolvedNode& node, const Slot& slot, const FabricFile& fabric, Findings& findings) {
  FabricPort address{fabric.ports};
  address.half = slot.half;
  // Direct and switch may have a network for half A only.
  if (!slot.subnet && nccl_uses(node, name_on_a_spark(node, slot, fabric))) address.link_local = true;
  address.where = fabric.where;
  if (slot.subnet && !fabric.ports.link_local) {
    if (slot.subnet->where.known()) address.where = slot.subnet->where;
    const auto derived = derived_address(slot.subnet->network, node.id);
    if (!derived) {
      findings.error(node.id_where, "fabric.id-too-large",
                     "id " + std::to_string(node.id) + " of " + node.name + " has no address in " +
                         slot.subnet->network.str() + ": its largest id is " +
                         std::to_string(largest_id(slot.subnet->network)),
                     "give the node a smaller \"id\", or wider \"subnets\" such as 10.20.0.0/16 and 10.21.0.0/16");
      return;
    }
    address.address = derived->str();
    address.prefix_length = slot.subnet->network.prefix_length;
  }
  node.fabric.push_back(std::move(address));
}

using Slots = std::map<std::string, std::vector<Slot>>;  // by node name

// Direct, switch and dual-cable: every node has the same slots.
std::vector<Slot> equal_slots(const FabricFile& fabric) {
  const int count = fabric.topology == Topology::kDualCable ? 4 : 2;
  std::vector<Slot> slots;
  for (int half = 0; half < count; ++half) {
    const auto place = static_cast<std::size_t>(half);
    slots.push_back({half, place < fabric.subnets.size() ? std::optional(fabric.subnets[place]) : std::nullopt});
  }
  return slots;
}

// Every cable has two networks. A cable's number is the id of the node at its first end. So a node that joins the ring
// changes only addresses of the cable that it splits.
Slots ring_slots(const std::vector<UnresolvedNode>& nodes, FabricFile& fabric, Findings& findings) {
  std::map<std::string, const UnresolvedNode*> by_name;
  for (const auto& node : nodes) by_name.emplace(node.name, &node);
  const bool given = fabric.subnets_key.known();
  std::vector<Cable> cables = fabric.cables;
  std::stable_sort(cables.begin(), cables.end(), [&](const Cable& a, const Cable& b) {
    return by_name.at(a.first.node)->id < by_name.at(b.first.node)->id;
  });
  Slots slots;
  for (std::size_t place = 0; place < cables.size(); ++place) {
    const Cable& cable = cables[place];
    const UnresolvedNode& owner = *by_name.at(cable.first.node);
    for (int half = 0; half < 2; ++half) {
      FabricSubnet subnet;
      if (given) {
        subnet = fabric.subnets[2 * place + static_cast<std::size_t>(half)];
      } else if (const auto network = default_subnet(2 * (owner.id - 1) + half)) {
        subnet.network = *network;
        if (!fabric.ports.link_local) fabric.subnets.push_back(subnet);
      } else if (!fabric.ports.link_local) {
        findings.error(
            owner.id_where, "fabric.id-too-large",
            "the default subnets of a ring end at id 78, but " + owner.name + " has id " + std::to_string(owner.id),
            "give the nodes smaller ids, or list two \"subnets\" per cable");
        return {};
      }
      slots[cable.first.node].push_back({2 * cable.first.port + half, subnet});
      slots[cable.second.node].push_back({2 * cable.second.port + half, subnet});
    }
  }
  for (auto& [name, list] : slots) {
    std::sort(list.begin(), list.end(), [](const Slot& a, const Slot& b) { return a.half < b.half; });
  }
  return slots;
}

void fill_default_subnets(FabricFile& fabric) {
  if (fabric.subnets_key.known() || fabric.ports.link_local) return;
  if (fabric.topology == Topology::kRing || fabric.topology == Topology::kCustom) return;
  const int count = fabric.topology == Topology::kDualCable ? 4 : 2;
  for (int index = 0; index < count; ++index) fabric.subnets.push_back({*default_subnet(index), {}});
}

// An id is needed only to derive an address and, in a ring, to number the cables.
bool check_ids(const UnresolvedCluster& draft, const FabricFile& fabric, Findings& findings) {
  bool complete = true;
  for (const auto& node : draft.nodes) {
    const bool needed = fabric.topology == Topology::kRing || own_interfaces(node) == nullptr;
    if (node.id > 0 || !needed || node.name.empty() || node.record->find("id") != nullptr) continue;
    if (fabric.ports.link_local && fabric.topology != Topology::kRing) continue;
    if (!node.sections.contains("fabric")) continue;
    findings.error(node.name_where, "fabric.no-id",
                   in_quotes(node.name) + " does not end in a positive number, so it gets no fabric address",
                   "give the node an \"id\" that no other node has");
    complete = false;
  }
  return complete;
}

void put_defaults(UnresolvedNode& node, const FabricFile& fabric) {
  const auto section = node.sections.find("fabric");
  if (section == node.sections.end() || !section->second.is_map()) return;
  Value& body = section->second;
  const auto put = [&](const char* key, Value value) {
    if (body.find(key) != nullptr) return;
    value.where = fabric.where;
    body.set(key, std::move(value));
  };
  put("topology", std::string(to_string(fabric.topology)));
  if (fabric.topology == Topology::kDirect || fabric.topology == Topology::kSwitch) put("port", fabric.port);
  Value subnets(Value::List{});
  for (const auto& subnet : fabric.subnets) subnets.push_back(subnet.network.str());
  if (!fabric.subnets.empty()) put("subnets", std::move(subnets));
}

}  // namespace

std::optional<Ipv4Network> default_subnet(int index) {
  const int octet = kFirstDefaultOctet + index;
  if (index < 0 || octet > 255) return std::nullopt;
  return Ipv4Network{{(192U << 24) | (168U << 16) | (static_cast<std::uint32_t>(octet) << 8)}, 24};
}

int largest_id(const Ipv4Network& network) {
  const std::uint32_t size = network.broadcast().bits - network.base.bits;
  return size <= kOffsetOfIds + 1 ? 0 : static_cast<int>(size) - kOffsetOfIds - 1;
}

std::optional<Ipv4> derived_address(const Ipv4Network& network, int id) {
  if (id < 1 || id > largest_id(network)) return std::nullopt;
  return Ipv4{network.base.bits + kOffsetOfIds + static_cast<std::uint32_t>(id)};
}

std::vector<Cable> ring_cables(const std::vector<UnresolvedNode>& nodes) {
  std::vector<const UnresolvedNode*> ordered;
  for (const auto& node : nodes) ordered.push_back(&node);
  std::sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  std::vector<Cable> cables;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const UnresolvedNode& next = *ordered[(i + 1) % ordered.size()];
    cables.push_back({{ordered[i]->name, 0, ordered[i]->name_where}, {next.name, 1, next.name_where}});
  }
  return cables;
}

void resolve_fabric(UnresolvedCluster& draft, FabricFile& fabric, Findings& findings) {
  for (auto& node : draft.nodes) {
    if (const Value* interfaces = own_interfaces(node)) take_own_interfaces(node, *interfaces, fabric);
  }
  const bool derives = fabric.present && fabric.topology != Topology::kCustom;
  if (derives && fabric.subnets_usable && fabric.cables_usable && check_ids(draft, fabric, findings)) {
    fill_default_subnets(fabric);
    Slots ring;
    if (fabric.topology == Topology::kRing) {
      if (fabric.cables.empty()) fabric.cables = ring_cables(draft.nodes);
      ring = ring_slots(draft.nodes, fabric, findings);
    }
    for (auto& node : draft.nodes) {
      if (own_interfaces(node) != nullptr || !node.sections.contains("fabric")) continue;
      for (const auto& slot : fabric.topology == Topology::kRing ? ring[node.name] : equal_slots(fabric)) {
        const std::size_t before = findings.all().size();
        take_slot(node, slot, fabric, findings);
        if (findings.all().size() > before) break;  // One finding per node is enough.
      }
    }
  }
  for (auto& node : draft.nodes) put_defaults(node, fabric);
}

std::vector<std::pair<NodeName, NodeName>> cabled_nodes(const FabricFile& fabric,
                                                        const std::vector<UnresolvedNode>& nodes) {
  std::vector<std::pair<NodeName, NodeName>> result;
  const auto add = [&](const std::string& first, const std::string& second) {
    auto a = NodeName::parse(first);
    auto b = NodeName::parse(second);
    if (a && b) result.emplace_back(std::move(*a), std::move(*b));
  };
  if (!fabric.present) return result;
  const bool pair = fabric.topology == Topology::kDirect || fabric.topology == Topology::kDualCable;
  if (pair && nodes.size() == 2) add(nodes[0].name, nodes[1].name);
  for (const Cable& cable : fabric.cables) add(cable.first.node, cable.second.node);
  if (fabric.topology == Topology::kRing && fabric.cables.empty()) {
    for (const Cable& cable : ring_cables(nodes)) add(cable.first.node, cable.second.node);
  }
  return result;
}

}  // namespace sparkplan
