#include "engine/agent/kernel/rdma_ends.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "engine/agent/kernel/kernel_file.h"
#include "engine/agent/kernel/verbs_handles.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

/// The most GIDs that are read; mlx5 has 256 per port.
constexpr std::size_t kMostGids = 1024;

std::string guid_text(std::uint64_t network_order) {
  const auto guid = be64toh(network_order);
  std::string text(24, '\0');
  const int size = std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(guid));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

/// "4: ACTIVE" -> "ACTIVE". sysfs prints both states of a port like this.
std::string without_number(const std::string& text) {
  const auto colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

std::string type_name(std::uint32_t type) {
  if (type == IBV_GID_TYPE_ROCE_V2) return "RoCE v2";
  return type == IBV_GID_TYPE_ROCE_V1 ? "IB/RoCE v1" : "IB";
}

RdmaPortFacts port_at(const fs::path& place, int number) {
  RdmaPortFacts port;
  port.number = number;
  port.state = without_number(kernel_line(place / "state"));
  port.physical_state = without_number(kernel_line(place / "phys_state"));
  port.link_layer = kernel_line(place / "link_layer");
  port.rate = kernel_line(place / "rate");
  return port;
}

/// Reads the properties of ports that sysfs lacks. This requires opening the device.
void ask_the_device(ibv_device* device, std::vector<RdmaPortFacts>& ports) {
  const VerbsContext context(ibv_open_device(device));
  if (!context) return;
  for (RdmaPortFacts& port : ports) {
    if (port.state != "ACTIVE") continue;
    ibv_port_attr attributes{};
    const auto number = static_cast<std::uint8_t>(port.number);
    if (ibv_query_port(context.get(), number, &attributes) == 0) port.active_mtu = mtu_bytes(attributes.active_mtu);
    port.gids = gids_of(context.get(), number);
  }
}

std::vector<int> port_numbers(const fs::path& ports) {
  std::vector<int> numbers;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(ports, none)) {
    const auto name = entry.path().filename().string();
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc()) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void add_pci_function(const fs::path& device, RdmaDeviceFacts& facts) {
  std::error_code none;
  const auto function = fs::canonical(device, none);
  if (none || !fs::exists(function / "subsystem_vendor", none)) return;
  facts.pci = function.filename();
  if (!fs::exists(function / "current_link_width", none)) return;
  facts.pcie = pcie_link_from([&](const char* file) { return kernel_line(function / file); });
}

RdmaDeviceFacts facts_of(ibv_device* device) {
  RdmaDeviceFacts facts;
  facts.name = ibv_get_device_name(device);
  facts.node_guid = guid_text(ibv_get_device_guid(device));
  const fs::path place = fs::path("/sys/class/infiniband") / facts.name;
  for (const int number : port_numbers(place / "ports")) {
    facts.port_facts.push_back(port_at(place / "ports" / std::to_string(number), number));
  }
  facts.ports = static_cast<int>(facts.port_facts.size());
  add_pci_function(place / "device", facts);
  // Opening a device costs more than all other reads. A Spark has four devices, and usually two of them have no cable.
  const bool active = std::any_of(facts.port_facts.begin(), facts.port_facts.end(),
                                  [](const RdmaPortFacts& port) { return port.state == "ACTIVE"; });
  if (active) ask_the_device(device, facts.port_facts);
  return facts;
}

}  // namespace

/// One request per device: sysfs would take three files for each of several hundred GIDs.
std::vector<RdmaGid> gids_of(ibv_context* context, std::uint32_t port) {
  std::vector<ibv_gid_entry> entries(kMostGids);
  const auto count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  std::vector<RdmaGid> gids;
  for (std::size_t i = 0; count > 0 && i < static_cast<std::size_t>(count); ++i) {
    const ibv_gid_entry& entry = entries[i];
    if (entry.port_num != port) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    std::array<char, IF_NAMESIZE> interface {};
    if (::inet_ntop(AF_INET6, entry.gid.raw, text.data(), text.size()) == nullptr) continue;
    if (entry.ndev_ifindex != 0) (void)::if_indextoname(entry.ndev_ifindex, interface.data());
    gids.push_back({static_cast<int>(entry.gid_index), type_name(entry.gid_type), text.data(), interface.data()});
  }
  std::sort(gids.begin(), gids.end(), [](const RdmaGid& a, const RdmaGid& b) { return a.index < b.index; });
  return gids;
}

int mtu_bytes(ibv_mtu mtu) { return 128 << static_cast<unsigned>(mtu); }

Result<std::vector<RdmaDeviceFacts>> read_rdma_devices() {
  // Without the kernel module, libibverbs reports an error even if there is simply no device.
  std::error_code ignored;
  if (!fs::exists("/sys/class/infiniband", ignored)) return std::vector<RdmaDeviceFacts>();
  int count = 0;
  const VerbsDeviceList list(ibv_get_device_list(&count));
  if (!list) {
    if (errno == ENOSYS || errno == ENOENT) return std::vector<RdmaDeviceFacts>();
    return failure(system_error("list the RDMA devices", errno));
  }
  std::vector<RdmaDeviceFacts> devices;
  for (int i = 0; i < count; ++i) devices.push_back(facts_of(list.get()[i]));
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return devices;
}

}  // namespace sparkplan
