// RDMA devices of the fabric, and what memory they may register.
#include <algorithm>
#include <array>

#include "engine/doctor/examinations.h"

namespace sparkplan {
namespace {

constexpr int kFullMtu = 4096;
/// What is lost now and then, over months, says nothing.
constexpr std::int64_t kManyErrors = 100;
constexpr std::int64_t kEnoughLockedBytes = std::int64_t{1} << 36;

const RdmaDeviceFacts* device_named(const ExaminedNode& node, const std::string& name) {
  const auto& devices = node.facts->rdma_devices;
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const auto& one) { return one.name == name; });
  return found == devices.end() ? nullptr : &*found;
}

/// Why there is nothing to look at; empty when there is.
std::string no_rdma(const ExaminedNode& node) {
  if (!node.facts->live) return "nothing is running there";
  if (node.halves.empty()) return "no fabric declared";
  const bool none = std::all_of(node.halves.begin(), node.halves.end(),
                                [](const ExaminedHalf& half) { return half.hcas.empty() || half.link == nullptr; });
  return none ? "no interface of the fabric has an RDMA device" : "";
}

/// Looks at the port of each half that is connected; what is wrong with the others, rows of links tell.
template <class Look>
Opinion of_each_port(const ExaminedNode& node, Verdict verdict, Look look) {
  if (auto why = no_rdma(node); !why.empty()) return skip(std::move(why));
  Complaints complaints;
  for (const ExaminedHalf& half : node.halves) {
    if (half.link == nullptr || !half.link->up || !half.link->carrier) continue;
    for (const std::string& hca : half.hcas) {
      const RdmaDeviceFacts* device = device_named(node, hca);
      const RdmaPortFacts* port = device == nullptr ? nullptr : rdma_port(*device, half.interface);
      if (port == nullptr) continue;
      if (const auto complaint = look(half, hca, *port); !complaint.empty()) complaints.add(complaint);
    }
  }
  return complaints.as(verdict);
}

Opinion no_device(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (!node.facts->live) return skip("nothing is running there");
  if (!is_dgx_spark(*node.facts)) return skip("no DGX Spark");
  if (node.halves.empty()) return skip("no fabric declared");
  Complaints complaints;
  for (const ExaminedHalf& half : node.halves) {
    if (half.link == nullptr) continue;
    const bool any = std::any_of(half.hcas.begin(), half.hcas.end(),
                                 [&](const auto& hca) { return device_named(node, hca) != nullptr; });
    if (!any) complaints.add(half.interface + " has no RDMA device");
  }
  return complaints.as(Verdict::kFail);
}

Opinion port_down(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return of_each_port(node, Verdict::kFail, [](const ExaminedHalf&, const std::string& hca, const RdmaPortFacts& port) {
    return port.state == "ACTIVE" ? "" : hca + " is " + port.state;
  });
}

Opinion no_gid(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return of_each_port(node, Verdict::kFail,
                      [](const ExaminedHalf& half, const std::string& hca, const RdmaPortFacts& port) {
                        const auto wanted = half.address + "/" + std::to_string(half.prefix_length);
                        const auto& there = half.link->addresses;
                        // Without the address there is no GID either, and another row tells of that.
                        if (std::find(there.begin(), there.end(), wanted) == there.end()) return std::string();
                        if (port.state != "ACTIVE" || roce_v2_gid_index(port, half.address, half.interface)) {
                          return std::string();
                        }
                        return hca + " has no GID of type RoCE v2 for " + half.address;
                      });
}

Opinion small_mtu(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return of_each_port(node, Verdict::kWarn,
                      [](const ExaminedHalf& half, const std::string& hca, const RdmaPortFacts& port) {
                        constexpr int kEnoughForFull = 4200;
                        // That of the interface decides; where that is too small, the row about it tells.
                        if (!port.active_mtu || *port.active_mtu >= kFullMtu || half.link->mtu < kEnoughForFull)
                          return std::string();
                        return hca + " has an active MTU of " + std::to_string(*port.active_mtu);
                      });
}

Opinion errors(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_rdma(node); !why.empty()) return skip(std::move(why));
  const auto* extended = extended_of(node);
  if (extended == nullptr) return skip("not asked");
  Complaints complaints;
  for (const ExaminedHalf& half : node.halves) {
    for (const RdmaFirmwareFacts& device : extended->rdma_firmware) {
      if (std::find(half.hcas.begin(), half.hcas.end(), device.device) == half.hcas.end()) continue;
      for (const auto& [counter, count] : device.errors) {
        if (count > kManyErrors) complaints.add(device.device + " counts " + std::to_string(count) + " " + counter);
      }
    }
  }
  return complaints.as(Verdict::kWarn);
}

bool too_little(const std::string& limit) {
  if (limit.empty() || limit == "unlimited" || limit == "infinity") return false;
  return limit.size() < 12 && std::stoll("0" + limit) < kEnoughLockedBytes;
}

Opinion memlock_login(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  const auto* extended = extended_of(node);
  if (extended == nullptr || !node.facts->live) return skip("nothing is running there");
  if (auto why = no_rdma(node); !why.empty()) return skip(std::move(why));
  const LoginFacts& login = extended->login;
  // The soft limit bounds what is registered; a program may raise its own as far as the hard one. Source: getrlimit(2).
  if (login.locked_memory_soft.empty()) return skip("the node was not reached over ssh");
  if (!too_little(login.locked_memory_soft)) return pass();
  return fail("a command over ssh may lock " + login.locked_memory_soft + " bytes; its hard limit is " +
              login.locked_memory_hard);
}

Opinion memlock_service(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  const auto* extended = extended_of(node);
  if (extended == nullptr || !node.facts->live) return skip("nothing is running there");
  if (auto why = no_rdma(node); !why.empty()) return skip(std::move(why));
  Complaints complaints;
  bool any = false;
  for (const UnitFacts& unit : extended->units) {
    const bool starts_ranks =
        unit.name == "docker.service" || unit.name == "containerd.service" || unit.name == "slurmd.service";
    if (!starts_ranks || unit.active != "active") continue;
    any = true;
    if (too_little(unit.locked_memory)) complaints.add(unit.name + " has LimitMEMLOCK=" + unit.locked_memory);
  }
  return any ? complaints.as(Verdict::kWarn) : skip("neither docker, containerd nor slurmd runs");
}

Opinion peermem(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  const auto* extended = extended_of(node);
  if (extended == nullptr) return skip("not asked");
  if (!is_dgx_spark(*node.facts)) return skip("no DGX Spark");
  for (const std::string& module : extended->modules_at_boot) {
    if (module == "nvidia-peermem" || module == "nvidia_peermem" || module == "nv_peer_mem") {
      return warn(module + " is to be loaded at boot");
    }
  }
  return pass();
}

constexpr auto kExaminations = std::to_array<Examination>({
    {"rdma-no-device", no_device},
    {"rdma-port-down", port_down},
    {"rdma-no-gid", no_gid},
    {"rdma-mtu-small", small_mtu},
    {"rdma-errors", errors, nullptr, {{"rdma_firmware"}}},
    {"memlock-login", memlock_login, nullptr, {{"login.locked_memory"}}},
    {"memlock-service", memlock_service, nullptr, {{"units"}}},
    {"peermem-at-boot", peermem, nullptr, {{"modules_at_boot"}}},
});

}  // namespace

std::span<const Examination> rdma_examinations() { return kExaminations; }

}  // namespace sparkplan
