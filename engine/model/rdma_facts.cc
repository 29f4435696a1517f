#include "engine/model/rdma_facts.h"

#include <algorithm>

#include "engine/model/field_reader.h"

namespace sparkplan {
namespace {

Value encode_gid(const RdmaGid& gid) {
  return Value::map({{"index", gid.index}, {"type", gid.type}, {"gid", gid.gid}, {"interface", gid.interface}});
}

Value encode_port(const RdmaPortFacts& port) {
  Value value = Value::map({{"number", port.number},
                            {"state", port.state},
                            {"physical_state", port.physical_state},
                            {"link_layer", port.link_layer},
                            {"rate", port.rate},
                            {"gids", encode_list(port.gids, encode_gid)}});
  if (port.active_mtu) value.set("active_mtu", *port.active_mtu);
  return value;
}

Result<RdmaGid> decode_gid(const Value& value) {
  FieldReader fields(value);
  RdmaGid gid;
  gid.index = fields.require("index").integer("index", gid.index);
  gid.type = fields.text("type");
  gid.gid = fields.text("gid");
  gid.interface = fields.text("interface");
  SPARK_CHECK(std::move(fields).check());
  return gid;
}

Result<RdmaPortFacts> decode_port(const Value& value) {
  FieldReader fields(value);
  RdmaPortFacts port;
  port.number = fields.require("number").integer("number", port.number);
  port.state = fields.text("state");
  port.physical_state = fields.text("physical_state");
  port.link_layer = fields.text("link_layer");
  port.rate = fields.text("rate");
  if (value.is_map() && value.find("active_mtu") != nullptr) port.active_mtu = fields.integer("active_mtu", 0);
  port.gids = fields.list<RdmaGid>("gids", decode_gid);
  SPARK_CHECK(std::move(fields).check());
  return port;
}

}  // namespace

Value encode(const PcieLink& link) {
  return Value::map(
      {{"width", link.width}, {"max_width", link.max_width}, {"speed", link.speed}, {"max_speed", link.max_speed}});
}

Result<std::optional<PcieLink>> decode_pcie_link(const Value& value) {
  FieldReader fields(value);
  PcieLink link;
  link.width = fields.integer("width", link.width);
  link.max_width = fields.integer("max_width", link.max_width);
  link.speed = fields.text("speed");
  link.max_speed = fields.text("max_speed");
  SPARK_CHECK(std::move(fields).check());
  return std::optional<PcieLink>(std::move(link));
}

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

Value encode(const RdmaDeviceFacts& device) {
  Value value = Value::map({{"name", device.name},
                            {"node_guid", device.node_guid},
                            {"ports", device.ports},
                            {"port_facts", encode_list(device.port_facts, encode_port)},
                            {"pci", device.pci}});
  if (device.pcie) value.set("pcie", encode(*device.pcie));
  return value;
}

Result<RdmaDeviceFacts> decode_rdma_device_facts(const Value& value) {
  FieldReader fields(value);
  RdmaDeviceFacts device;
  device.name = fields.require("name").text("name");
  device.node_guid = fields.text("node_guid");
  device.ports = fields.integer("ports", device.ports);
  device.port_facts = fields.list<RdmaPortFacts>("port_facts", decode_port);
  device.pci = fields.text("pci");
  device.pcie = fields.object("pcie", std::optional<PcieLink>(), decode_pcie_link);
  SPARK_CHECK(std::move(fields).check());
  return device;
}

}  // namespace sparkplan
