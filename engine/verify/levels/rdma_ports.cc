#include "engine/verify/levels/rdma_ports.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "engine/core/text.h"
#include "engine/doctor/rdma_bands.h"

namespace sparkplan {
namespace {

const RdmaDeviceFacts* device_of(const ObservedPort& half, const Facts& facts) {
  const auto found = std::find_if(facts.rdma_devices.begin(), facts.rdma_devices.end(), [&](const auto& device) {
    return std::find(half.hcas.begin(), half.hcas.end(), device.name) != half.hcas.end();
  });
  return found == facts.rdma_devices.end() ? nullptr : &*found;
}

/// The nodes that report an RDMA device; none of them if they are fewer than half. One of several may only claim its
/// device, and the others would fail without theirs.
std::vector<std::string> nodes_with_devices(const VerifyContext& context) {
  std::vector<std::string> names;
  std::size_t read = 0;
  for (const VerifyNode& node : context.nodes) {
    if (node.facts == nullptr || node.halves.empty()) continue;
    ++read;
    if (!node.facts->rdma_devices.empty()) names.push_back(node.name());
  }
  if (names.size() * 2 < read) names.clear();
  return names;
}

std::string described(const RdmaDeviceFacts& device, const RdmaPortFacts& port, const ObservedPort& half) {
  std::string text = device.name + " active";
  if (port.active_mtu) text += ", RDMA MTU " + std::to_string(*port.active_mtu);
  if (const auto gid = roce_v2_gid_index(port, half.address, half.interface)) {
    text += ", GID " + std::to_string(*gid) + " (RoCE v2)";
  }
  if (device.pcie && device.pcie->width > 0) {
    text += ", " + std::to_string(device.pcie->width) + " PCIe lanes";
    if (!device.pcie->speed.empty()) text += " at " + device.pcie->speed;
  }
  if (half.link != nullptr && half.link->speed_mbps) {
    text += ", link " + std::to_string(*half.link->speed_mbps / 1000) + " Gb/s";
  }
  return text;
}

/// A poor connection explains a low bandwidth before it is measured.
void judge_connection(Check& check, const RdmaHalf& half, const VerifyNode& node, const ObservedPort& seen) {
  RdmaPath path;
  path.known_hardware = is_dgx_spark(*node.facts) && !half.device->pci.empty();
  add_end(path, *half.port, *half.device, seen.link);
  const auto row = poor_connection_row(path);
  if (row) diagnose(check, CheckStatus::kWarn, row, node.name() + ", " + half.device->name);
}

void judge(RdmaHalf& found, const VerifyContext& context, const VerifyNode& node, const ObservedPort& half,
           const std::vector<std::string>& others) {
  Check& check = found.check;
  const auto fail = [&](RowId row, const std::string& details) { diagnose(check, CheckStatus::kFail, row, details); };
  if (node.facts == nullptr || node.lost) {
    check.cause = node.name() + " is not connected";
    return;
  }
  if (node.is_too_late()) return check.block(node.why_not_asked());
  if (const Blocker failed = context.blocked_by_link(node, half)) return check.block(failed);
  const RdmaDeviceFacts* device = device_of(half, *node.facts);
  if (device == nullptr) {
    const auto missing = node.name() + " has no RDMA device on " + half.interface;
    if (is_dgx_spark(*node.facts) || !node.facts->rdma_devices.empty()) return fail("rdma-no-device", missing);
    if (!others.empty()) {
      const std::string who = fold_names(others) + (others.size() == 1 ? " reports one" : " report one");
      return fail("rdma-no-device", missing + ", and " + who);
    }
    check.cause = "no RDMA device";
    check.fix = "without RDMA hardware, `--level tcp` measures the network";
    return;
  }
  const RdmaPortFacts* port = rdma_port(*device, half.interface);
  check.text = device->name;
  if (port == nullptr || port->state != "ACTIVE") {
    const auto state = port == nullptr ? "has no port" : "is " + port->state + " (" + port->physical_state + ")";
    return fail("rdma-port-down", node.name() + ", " + device->name + " on " + half.interface + " " + state);
  }
  if (half.address.empty()) {
    check.cause = node.name() + " has no address on " + half.interface;
    return;
  }
  const auto gid = roce_v2_gid_index(*port, half.address, half.interface);
  if (!gid && port->link_layer == "Ethernet") {
    return fail("rdma-no-gid", node.name() + ", " + device->name + ": " + gid.error().describe());
  }
  found.device = device;
  found.port = port;
  check.pass(described(*device, *port, half));
  judge_connection(check, found, node, half);
}

}  // namespace

std::vector<std::vector<RdmaHalf>> rdma_halves(const VerifyContext& context) {
  const std::vector<std::string> others = nodes_with_devices(context);
  std::vector<std::vector<RdmaHalf>> all;
  for (const VerifyNode& node : context.nodes) {
    std::vector<RdmaHalf> halves;
    for (const ObservedPort& half : node.halves) {
      RdmaHalf found{skipped(Level::kRdma, {node.name()}, half.label(), "")};
      judge(found, context, node, half, others);
      halves.push_back(std::move(found));
    }
    all.push_back(std::move(halves));
  }
  return all;
}

std::int64_t bytes_on_wire(std::int64_t messages, std::int64_t message_bytes, const RdmaEndpoint& one,
                           const RdmaEndpoint& other) {
  constexpr std::int64_t kSmallestMtu = 256;  // Bytes. Queue pairs use powers of two between these.
  constexpr std::int64_t kLargestMtu = 4096;
  const std::int64_t wanted = std::min(one.mtu, other.mtu);
  std::int64_t mtu = kSmallestMtu;
  while (mtu < kLargestMtu && mtu < wanted) mtu *= 2;
  return roce_bytes(messages, message_bytes, mtu);
}

bool is_gid_of(const std::string& gid, const std::string& address) {
  in6_addr given{};
  in6_addr own{};
  return ::inet_pton(AF_INET6, gid.c_str(), &given) == 1 &&
         ::inet_pton(AF_INET6, ("::ffff:" + address).c_str(), &own) == 1 && std::memcmp(&given, &own, sizeof own) == 0;
}

Result<void> check_endpoint(const RdmaEndpoint& endpoint, bool routed, const std::string& address,
                            const std::optional<RdmaEndpoint>& other) {
  // Source: InfiniBand Architecture Specification, 4.1.3: above are those of multicast groups.
  constexpr std::int64_t kLastUnicastLid = 0xbfff;
  const bool is_expected_gid = routed ? is_gid_of(endpoint.gid, address) : endpoint.gid.empty();
  if (!is_expected_gid) {
    return failure(ErrorCode::kFailed, "its endpoint has an unexpected address: " + printable(endpoint.gid));
  }
  if (routed) return {};
  const std::string lid = std::to_string(endpoint.lid);
  if (endpoint.lid < 1 || endpoint.lid > kLastUnicastLid) {
    return failure(ErrorCode::kFailed, "its endpoint has the LID " + lid + ", which is none of a port");
  }
  if (!other || other->lid != endpoint.lid) return {};
  return failure(ErrorCode::kFailed, "both nodes report the LID " + lid + ", so one of them is wrong");
}

}  // namespace sparkplan
