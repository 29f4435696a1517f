#include "engine/model/facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/fact_bounds.h"
#include "engine/model/manifest.h"

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
  std::map<std::string_view, std::vector<std::string_view>> below;
  for (const LinkFacts& link : all) {
    if (!link.lower.empty()) below[link.name].push_back(link.lower);
    if (!link.master.empty()) below[link.master].push_back(link.name);
  }
  // Each link is followed once, whatever order or circle the node reports.
  std::vector<std::string> unfollowed(links.begin(), links.end());
  while (!unfollowed.empty()) {
    const std::string link = std::move(unfollowed.back());
    unfollowed.pop_back();
    const auto found = below.find(link);
    if (found == below.end()) continue;
    for (const std::string_view lower : found->second) {
      if (const auto [added, fresh] = links.emplace(lower); fresh) unfollowed.push_back(*added);
    }
    below.erase(found);
  }
  return links;
}

bool is_dgx_spark(const Facts& facts) {
  // NVIDIA; ASUS Ascent GX10, Lenovo ThinkStation PGX, and other machines named after the chip.
  constexpr std::array<std::string_view, 5> kNames{"DGX Spark", "DGX_Spark", "GB10", "GX10", "PGX"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return facts.product.find(name) != std::string::npos; });
}

static void limit_ports(std::vector<RdmaDeviceFacts>& devices) {
  std::size_t ports = kMostRdmaPortsInAll;
  std::size_t gids = kMostRdmaGidsInAll;
  keep_first(devices, &RdmaDeviceFacts::port_facts, ports);
  for (RdmaDeviceFacts& device : devices) keep_first(device.port_facts, &RdmaPortFacts::gids, gids);
}

void list_fields(FieldVisitor& field, LinkFacts& link) {
  field("name", link.name, kRequiredFactText);
  field("mac", link.mac, kFactText);
  field("mtu", link.mtu, kCount);
  field("up", link.up);
  field("carrier", link.carrier);
  field("addresses", link.addresses, kFactText.at_most(kMostLinkAddresses));
  field("kind", link.kind, kFactText);
  field("master", link.master, kFactText);
  field("lower", link.lower, kFactText);
  field("port", link.port, kFactText);
  field("pci", link.pci, kFactText);
  field("driver", link.driver, kFactText);
  field("rdma_devices", link.rdma_devices, kFactText.at_most(kMostRdmaDevices));
  field("speed_mbps", link.speed_mbps, kCount);
  field("managed_by", link.managed_by, kFactText);
  field("profile", link.profile, kFactText);
  field("carrier_changes", link.carrier_changes, kCount);
  field("pcie", link.pcie);
}

void list_fields(FieldVisitor& field, Facts& facts) {
  field.limit_memory(kMostFactsMemory);
  field("hostname", facts.hostname, kFactText);
  field("machine_id", facts.machine_id, kOptional.cut_at(kLongestRosterText));
  // It gets into the roster that all nodes receive, and they refuse a roster with another text.
  if (field.reading()) facts.machine_id = shown_text(facts.machine_id, kLongestRosterText);
  field("boot_id", facts.boot_id, kFactText);
  field("architecture", facts.architecture, kFactText);
  field("kernel", facts.kernel, kFactText);
  field("os_id", facts.os_id, kFactText);
  field("os_name", facts.os_name, kFactText);
  field("os_version", facts.os_version, kFactText);
  field("product", facts.product, kFactText);
  field("nccl_version", facts.nccl_version, kFactText);
  field("live", facts.live);
  field("memory_total_bytes", facts.memory_total_bytes, kBytes);
  field("uptime_seconds", facts.uptime_seconds, kCount);
  field("ssh_server_address", facts.ssh_server_address, kFactText);
  field("links", facts.links, kOptional.at_most(kMostLinks));
  // The kernel gives each interface a name, which becomes the id of a resource.
  if (field.reading()) std::erase_if(facts.links, [](const LinkFacts& link) { return link.name.empty(); });
  field("rdma_devices", facts.rdma_devices, kOptional.at_most(kMostRdmaDevices));
  if (field.reading()) limit_ports(facts.rdma_devices);
  field("host", facts.host);
  field("survey", facts.extended);
  field.limit_memory(kUnlimitedMemory);
}

}  // namespace sparkplan
