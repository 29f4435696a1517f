#include "engine/model/rdma_facts.h"

#include <algorithm>
#include <charconv>

#include "engine/model/fact_bounds.h"

namespace sparkplan {

PcieLink pcie_link_from(const std::function<std::string(const char* file)>& read) {
  const auto lanes = [&](const char* file) {
    const std::string text = read(file);
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number == 255 || number < 0 ? 0 : number;
  };
  const auto speed = [&](const char* file) {
    const std::string text = read(file);
    return text.starts_with("Unknown") ? "" : text;
  };
  return {lanes("current_link_width"), lanes("max_link_width"), speed("current_link_speed"), speed("max_link_speed")};
}

Result<int> roce_v2_gid_index(const RdmaPortFacts& port, const std::string& address, const std::string& interface) {
  std::string there;
  for (const RdmaGid& gid : port.gids) {
    const bool ours = gid.gid == "::ffff:" + address && (interface.empty() || gid.interface == interface);
    if (ours && gid.type == "RoCE v2") return gid.index;
    there += (there.empty() ? "" : ", ") + std::to_string(gid.index) + " " + gid.gid + " " + gid.type;
  }
  return failure(ErrorCode::kNotFound, "there is no GID of type RoCE v2 for " + address +
                                           "; found: " + (there.empty() ? std::string("none") : there));
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
  field("index", gid.index, kRequiredCount);
  field("type", gid.type, kFactText);
  field("gid", gid.gid, kFactText);
  field("interface", gid.interface, kFactText);
}

void list_fields(FieldVisitor& field, RdmaPortFacts& port) {
  field("number", port.number, kRequiredCount);
  field("state", port.state, kFactText);
  field("physical_state", port.physical_state, kFactText);
  field("link_layer", port.link_layer, kFactText);
  field("rate", port.rate, kFactText);
  field("gids", port.gids, kOptional.at_most(kMostRdmaGids));
  field("active_mtu", port.active_mtu, kCount);
}

void list_fields(FieldVisitor& field, PcieLink& link) {
  field("width", link.width, kCount);
  field("max_width", link.max_width, kCount);
  field("speed", link.speed, kFactText);
  field("max_speed", link.max_speed, kFactText);
}

void list_fields(FieldVisitor& field, RdmaDeviceFacts& device) {
  field("name", device.name, kRequiredFactText);
  field("node_guid", device.node_guid, kFactText);
  field("ports", device.ports, kCount);
  field("port_facts", device.port_facts, kOptional.at_most(kMostRdmaPorts));
  field("pci", device.pci, kFactText);
  field("pcie", device.pcie);
}

}  // namespace sparkplan
