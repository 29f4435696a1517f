// RDMA devices of the fabric, and the memory that they may register.
#include <algorithm>
#include <array>

#include "engine/doctor/examinations.h"

namespace sparkplan {
namespace {

constexpr int kFullRdmaMtu = 4096;
/// A few errors over months are normal.
constexpr std::int64_t kManyErrors = 100;
constexpr std::int64_t kEnoughLockedBytes = std::int64_t{1} << 36;

const RdmaDeviceFacts* device_named(const ExaminedNode& node, const std::string& name) {
  const auto& devices = node.facts->rdma_devices;
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const auto& one) { return one.name == name; });
  return found == devices.end() ? nullptr : &*found;
}

/// A fault of the port of one half; empty: none.
using PortFault = std::string (*)(const ObservedPort& half, const std::string& hca, const RdmaPortFacts& port);

/// The faults of all connected halves; rows of links cover the others.
template <CheckStatus kStatus, PortFault kFault>
Verdict each_port(const ExaminedNode& node) {
  Complaints complaints;
  for (const ObservedPort& half : node.halves) {
    if (half.link == nullptr || !half.link->up || !half.link->carrier) continue;
    for (const std::string& hca : half.hcas) {
      const RdmaDeviceFacts* device = device_named(node, hca);
      const RdmaPortFacts* port = device == nullptr ? nullptr : rdma_port(*device, half.interface);
      if (port == nullptr) continue;
      if (const auto complaint = kFault(half, hca, *port); !complaint.empty()) complaints.add(complaint);
    }
  }
  return complaints.as(kStatus);
}

Verdict no_device(const ExaminedNode& node) {
  Complaints complaints;
  for (const ObservedPort& half : node.halves) {
    if (half.link == nullptr) continue;
    const bool any = std::any_of(half.hcas.begin(), half.hcas.end(),
                                 [&](const auto& hca) { return device_named(node, hca) != nullptr; });
    if (!any) complaints.add(half.interface + " has no RDMA device");
  }
  return complaints.as(CheckStatus::kFail);
}

std::string port_down(const ObservedPort&, const std::string& hca, const RdmaPortFacts& port) {
  return port.state == "ACTIVE" ? "" : hca + " is " + port.state;
}

std::string no_gid(const ObservedPort& half, const std::string& hca, const RdmaPortFacts& port) {
  const auto& there = half.link->addresses;
  // Without the address there is no GID either: row link-no-address applies.
  if (std::find(there.begin(), there.end(), half.address_text()) == there.end()) return "";
  if (port.state != "ACTIVE" || roce_v2_gid_index(port, half.address, half.interface)) return "";
  return hca + " has no GID of type RoCE v2 for " + half.address;
}

std::string small_mtu(const ObservedPort& half, const std::string& hca, const RdmaPortFacts& port) {
  constexpr int kEnoughForFull = 4200;
  // The interface's MTU bounds it; if that is too small, row link-mtu applies.
  if (!port.active_mtu || *port.active_mtu >= kFullRdmaMtu || half.link->mtu < kEnoughForFull) return "";
  return hca + " has an active MTU of " + std::to_string(*port.active_mtu);
}

Verdict errors(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  Complaints complaints;
  for (const ObservedPort& half : node.halves) {
    for (const RdmaFirmwareFacts& device : extended.rdma_firmware) {
      if (std::find(half.hcas.begin(), half.hcas.end(), device.device) == half.hcas.end()) continue;
      for (const auto& [counter, count] : device.errors) {
        if (count > kManyErrors) complaints.add(device.device + " counts " + std::to_string(count) + " " + counter);
      }
    }
  }
  return complaints.as(CheckStatus::kWarn);
}

bool too_little(const std::string& limit) {
  if (limit.empty() || limit == "unlimited" || limit == "infinity") return false;
  return limit.size() < 12 && std::stoll("0" + limit) < kEnoughLockedBytes;
}

Verdict memlock_login(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  const LoginFacts& login = extended.login;
  // The soft limit bounds the registered memory. A program may raise its soft limit to the hard limit. Source:
  // getrlimit(2).
  if (login.locked_memory_soft.empty()) return skip("the node was not reached over ssh");
  if (!too_little(login.locked_memory_soft)) return pass();
  return fail("a command over ssh may lock " + login.locked_memory_soft + " bytes; its hard limit is " +
              login.locked_memory_hard);
}

Verdict memlock_service(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  Complaints complaints;
  std::string of_containers;
  bool any = false;
  for (const UnitFacts& unit : extended.units) {
    const bool starts_containers = unit.name == "docker.service" || unit.name == "containerd.service";
    if ((!starts_containers && unit.name != "slurmd.service") || unit.active != "active") continue;
    any = true;
    if (!too_little(unit.locked_memory)) continue;
    const std::string limit = unit.name + " has LimitMEMLOCK=" + unit.locked_memory;
    // Each container may have its own limit, and the engine's default is no fault.
    if (starts_containers) of_containers = limit + ": a container with ranks needs --ulimit memlock=-1";
    if (!starts_containers) complaints.add(limit);
  }
  if (!any) return skip("neither docker, containerd nor slurmd runs");
  if (!complaints.any() && !of_containers.empty()) return skip(std::move(of_containers));
  return complaints.as(CheckStatus::kWarn);
}

Verdict peermem(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  for (const std::string& module : extended.modules_at_boot) {
    if (module == "nvidia-peermem" || module == "nvidia_peermem" || module == "nv_peer_mem") {
      return warn(module + " is configured to load at boot");
    }
  }
  return pass();
}

constexpr Needs kRdma{Need::kRunning, Need::kFabric, Need::kRdma};
constexpr Needs kExtended{Need::kRunning, Need::kFabric, Need::kRdma, Need::kExtended};
constexpr auto kRdmaExaminations = std::to_array<Examination>({
    {"rdma-no-device", no_device, {Need::kRunning, Need::kSpark, Need::kFabric}},
    {"rdma-port-down", each_port<CheckStatus::kFail, port_down>, kRdma},
    {"rdma-no-gid", each_port<CheckStatus::kFail, no_gid>, kRdma},
    {"rdma-mtu-small", each_port<CheckStatus::kWarn, small_mtu>, kRdma},
    {"rdma-errors", errors, kExtended, {{"rdma_firmware"}}},
    {"memlock-login", memlock_login, kExtended, {{"login.locked_memory"}}},
    {"memlock-service", memlock_service, kExtended, {{"units"}}},
    {"peermem-at-boot", peermem, {Need::kExtended, Need::kSpark}, {{"modules_at_boot"}}},
});

}  // namespace

std::span<const Examination> rdma_examinations() { return kRdmaExaminations; }

}  // namespace sparkplan
