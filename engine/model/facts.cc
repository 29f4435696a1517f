#include "engine/model/facts.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sparkplan {

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
  // NVIDIA; ASUS Ascent GX10, Lenovo ThinkStation PGX, and other machines named after the chip.
  constexpr std::array<std::string_view, 5> kNames{"DGX Spark", "DGX_Spark", "GB10", "GX10", "PGX"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return facts.product.find(name) != std::string::npos; });
}

void list_fields(FieldVisitor& field, LinkFacts& link) {
  field("name", link.name, kRequired);
  field("mac", link.mac);
  field("mtu", link.mtu);
  field("up", link.up);
  field("carrier", link.carrier);
  field("addresses", link.addresses);
  field("kind", link.kind);
  field("master", link.master);
  field("lower", link.lower);
  field("port", link.port);
  field("pci", link.pci);
  field("driver", link.driver);
  field("rdma_devices", link.rdma_devices);
  field("speed_mbps", link.speed_mbps);
  field("managed_by", link.managed_by);
  field("profile", link.profile);
  field("carrier_changes", link.carrier_changes);
  field("pcie", link.pcie);
}

void list_fields(FieldVisitor& field, Facts& facts) {
  field("hostname", facts.hostname);
  field("machine_id", facts.machine_id);
  field("boot_id", facts.boot_id);
  field("architecture", facts.architecture);
  field("kernel", facts.kernel);
  field("os_id", facts.os_id);
  field("os_name", facts.os_name);
  field("os_version", facts.os_version);
  field("product", facts.product);
  field("nccl_version", facts.nccl_version);
  field("live", facts.live);
  field("memory_total_bytes", facts.memory_total_bytes);
  field("uptime_seconds", facts.uptime_seconds);
  field("ssh_server_address", facts.ssh_server_address);
  field("links", facts.links);
  field("rdma_devices", facts.rdma_devices);
  field("host", facts.host);
  field("survey", facts.extended);
}

}  // namespace sparkplan
