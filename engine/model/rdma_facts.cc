#include "engine/model/rdma_facts.h"

#include <algorithm>

namespace sparkplan {

Result<int> roce_v2_gid_index(const RdmaPortFacts& port, const std::string& address, const std::string& interface) {
  std::string there;
  for (const RdmaGid& gid : port.gids) {
    const bool ours = gid.gid == "::ffff:" + address && (interface.empty() || gid.interface == interface);
    if (ours && gid.type == "RoCE v2") return gid.index;
    there += (there.empty() ? "" : ", ") + std::to_string(gid.index) + " " + gid.gid + " " + gid.type;
  }
  return failure(ErrorCode::kNotFound, "there is no GID of type RoCE v2 for " + address + "; there is " +
                                           (there.empty() ? std::string("none at all") : there));
}

const RdmaPortFacts* rdma_port(const RdmaDeviceFacts& device, const std::string& interface) {
  const auto found = std::find_if(device.port_facts.begin(), device.port_facts.end(), [&](const RdmaPortFacts& port) {
    return std::any_of(port.gids.begin(), port.gids.end(),
                       [&](const RdmaGid& gid) { return gid.interface == interface; });
  });
  if (found != device.port_facts.end()) return &*found;
  return device.port_facts.size() == 1 ? &device.port_facts.front() : nullptr;
}

void list_fields(FieldVisitor& field, RdmaGid& gid) {
  field("index", gid.index, kRequired);
  field("type", gid.type);
  field("gid", gid.gid);
  field("interface", gid.interface);
}

void list_fields(FieldVisitor& field, RdmaPortFacts& port) {
  field("number", port.number, kRequired);
  field("state", port.state);
  field("physical_state", port.physical_state);
  field("link_layer", port.link_layer);
  field("rate", port.rate);
  field("gids", port.gids);
  field("active_mtu", port.active_mtu);
}

void list_fields(FieldVisitor& field, PcieLink& link) {
  field("width", link.width);
  field("max_width", link.max_width);
  field("speed", link.speed);
  field("max_speed", link.max_speed);
}

void list_fields(FieldVisitor& field, RdmaDeviceFacts& device) {
  field("name", device.name, kRequired);
  field("node_guid", device.node_guid);
  field("ports", device.ports);
  field("port_facts", device.port_facts);
  field("pci", device.pci);
  field("pcie", device.pcie);
}

}  // namespace sparkplan
