#include "engine/model/facts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/model/field_reader.h"

namespace sparkplan {
namespace {

Value encode_text(const std::string& text) { return {text}; }

Value encode_link(const LinkFacts& link) {
  Value value = Value::map({{"name", link.name},
                            {"mac", link.mac},
                            {"mtu", link.mtu},
                            {"up", link.up},
                            {"carrier", link.carrier},
                            {"addresses", encode_list(link.addresses, encode_text)},
                            {"kind", link.kind},
                            {"master", link.master},
                            {"lower", link.lower},
                            {"port", link.port},
                            {"pci", link.pci},
                            {"driver", link.driver},
                            {"rdma_devices", encode_list(link.rdma_devices, encode_text)}});
  if (link.speed_mbps) value.set("speed_mbps", *link.speed_mbps);
  value.set("managed_by", link.managed_by);
  value.set("profile", link.profile);
  if (link.carrier_changes) value.set("carrier_changes", *link.carrier_changes);
  if (link.pcie) value.set("pcie", encode(*link.pcie));
  return value;
}

Result<LinkFacts> decode_link(const Value& value) {
  FieldReader fields(value);
  LinkFacts link;
  link.name = fields.require("name").text("name");
  link.mac = fields.text("mac");
  link.mtu = fields.integer("mtu", link.mtu);
  link.up = fields.boolean("up", link.up);
  link.carrier = fields.boolean("carrier", link.carrier);
  link.addresses = fields.list<std::string>("addresses", decode_text);
  link.kind = fields.text("kind");
  link.master = fields.text("master");
  link.lower = fields.text("lower");
  link.port = fields.text("port");
  link.pci = fields.text("pci");
  link.driver = fields.text("driver");
  link.rdma_devices = fields.list<std::string>("rdma_devices", decode_text);
  if (value.is_map() && value.find("speed_mbps") != nullptr) link.speed_mbps = fields.integer("speed_mbps", 0);
  link.managed_by = fields.text("managed_by");
  link.profile = fields.text("profile");
  if (value.is_map() && value.find("carrier_changes") != nullptr) {
    link.carrier_changes = fields.integer<std::int64_t>("carrier_changes", 0);
  }
  link.pcie = fields.object("pcie", std::optional<PcieLink>(), decode_pcie_link);
  SPARK_CHECK(std::move(fields).check());
  return link;
}

}  // namespace

std::set<std::string> links_with_address(const std::string& address, const std::vector<LinkFacts>& links) {
  if (const auto zone = address.find('%'); zone != std::string::npos) return {address.substr(zone + 1)};
  std::set<std::string> found;
  for (const LinkFacts& link : links) {
    const bool has = std::any_of(link.addresses.begin(), link.addresses.end(),
                                 [&](const std::string& one) { return one.substr(0, one.find('/')) == address; });
    if (has) found.insert(link.name);
  }
  return found;
}

std::set<std::string> links_below(std::set<std::string> links, const std::vector<LinkFacts>& all) {
  for (std::size_t before = 0; before != links.size();) {
    before = links.size();
    for (const LinkFacts& link : all) {
      if (links.contains(link.name) && !link.lower.empty()) links.insert(link.lower);
      if (links.contains(link.master)) links.insert(link.name);
    }
  }
  return links;
}

bool is_dgx_spark(const Facts& facts) {
  // NVIDIA; ASUS Ascent GX10, Lenovo ThinkStation PGX, and what else calls itself by the chip's name.
  constexpr std::array<std::string_view, 5> kNames{"DGX Spark", "DGX_Spark", "GB10", "GX10", "PGX"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return facts.product.find(name) != std::string::npos; });
}

Value encode(const Facts& facts) {
  Value value = Value::map(
      {{"hostname", facts.hostname},
       {"machine_id", facts.machine_id},
       {"boot_id", facts.boot_id},
       {"architecture", facts.architecture},
       {"kernel", facts.kernel},
       {"os_id", facts.os_id},
       {"os_name", facts.os_name},
       {"os_version", facts.os_version},
       {"product", facts.product},
       {"nccl_version", facts.nccl_version},
       {"live", facts.live},
       {"memory_total_bytes", facts.memory_total_bytes},
       {"uptime_seconds", facts.uptime_seconds},
       {"ssh_server_address", facts.ssh_server_address},
       {"links", encode_list(facts.links, encode_link)},
       {"rdma_devices", encode_list(facts.rdma_devices, [](const RdmaDeviceFacts& device) { return encode(device); })},
       {"host", encode(facts.host)}});
  if (facts.extended) value.set("survey", encode(*facts.extended));
  return value;
}

Result<Facts> decode_facts(const Value& value) {
  FieldReader fields(value);
  Facts facts;
  facts.hostname = fields.text("hostname");
  facts.machine_id = fields.text("machine_id");
  facts.boot_id = fields.text("boot_id");
  facts.architecture = fields.text("architecture");
  facts.kernel = fields.text("kernel");
  facts.os_id = fields.text("os_id");
  facts.os_name = fields.text("os_name");
  facts.os_version = fields.text("os_version");
  facts.product = fields.text("product");
  facts.nccl_version = fields.text("nccl_version");
  facts.live = fields.boolean("live", facts.live);
  facts.memory_total_bytes = fields.integer("memory_total_bytes", facts.memory_total_bytes);
  facts.uptime_seconds = fields.integer("uptime_seconds", facts.uptime_seconds);
  facts.ssh_server_address = fields.text("ssh_server_address");
  facts.links = fields.list<LinkFacts>("links", decode_link);
  facts.rdma_devices = fields.list<RdmaDeviceFacts>("rdma_devices", decode_rdma_device_facts);
  facts.host = fields.object<HostFacts>("host", {}, decode_host_facts);
  facts.extended = fields.object<std::optional<ExtendedFacts>>("survey", std::nullopt, [](const Value& extended) {
    return decode_extended_facts(extended).map([](ExtendedFacts all) { return std::optional(std::move(all)); });
  });
  SPARK_CHECK(std::move(fields).check());
  return facts;
}

}  // namespace sparkplan
