// The machine itself: firmware, kernel, memory, services, time, storage.
#include <algorithm>
#include <array>

#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/doctor/known_kernels.h"

namespace sparkplan {
namespace {

constexpr Needs kSpark{Need::kRunning, Need::kSpark};
constexpr Needs kPrograms{Need::kRunning, Need::kExtended};

/// Since this release, the BIOS of a GX10 gives the second half all of its PCIe lanes. Source: NVIDIA's developer
/// forum.
constexpr std::string_view kBiosWithAllLanes = "2026-04";
/// Source: NVIDIA's developer forum, PR 108 of dgx-spark-playbooks.
constexpr std::array<int, 3> kDriverWithGoodStart{580, 159, 3};
/// NCCL's tests of 1 GiB need buffers for sending, receiving and comparing. NCCL also needs its own buffers.
constexpr std::int64_t kEnoughForTests = std::int64_t{4} << 30;

constexpr int kLargestNumber = 1'000'000;

/// A version number that is too large counts as kLargestNumber.
std::array<int, 3> numbers_in(std::string_view version) {
  std::array<int, 3> numbers{};
  std::size_t place = 0;
  for (const char c : version) {
    if (c == '.') {
      if (++place == numbers.size()) break;
    } else if (c >= '0' && c <= '9') {
      numbers.at(place) = std::min(numbers.at(place) * 10 + (c - '0'), kLargestNumber);
    }
  }
  return numbers;
}

/// Every port of the adapter is known to have the lanes that an old BIOS withholds.
bool has_all_lanes(const ExaminedNode& node) {
  constexpr int kFastLanes = 4;
  bool any = false;
  for (const LinkFacts& link : node.facts->links) {
    if (link.driver != "mlx5_core") continue;
    if (!link.pcie || link.pcie->width < kFastLanes) return false;
    any = true;
  }
  return any;
}

Verdict bios(const ExaminedNode& node) {
  const HostFacts& host = node.facts->host;
  if (has_all_lanes(node)) return pass();
  const bool dated = host.bios_date.size() == 10 && host.bios_date[4] == '-';
  if (!dated) return skip("DMI reports no date of the BIOS");
  return host.bios_date.substr(0, kBiosWithAllLanes.size()) >= kBiosWithAllLanes
             ? pass()
             : warn("BIOS " + host.bios_version + " of " + host.bios_date);
}

Verdict driver(const ExaminedNode& node) {
  const auto& version = node.facts->host.gpu_driver;
  if (version.empty()) return skip("no GPU driver is loaded");
  if (is_other_driver_branch(version)) return skip("driver " + version + " is of another branch");
  return numbers_in(version) >= kDriverWithGoodStart ? pass() : warn("driver " + version);
}

Verdict kernel(const ExaminedNode& node) {
  const bool bad = is_one_of(node.facts->kernel, kKernelsThatLoseMemory);
  return bad && !without_handover(node.facts->host) ? fail("kernel " + node.facts->kernel + " without kho=off")
                                                    : pass();
}

Verdict contiguous_memory(const ExaminedNode& node) {
  const HostFacts& host = node.facts->host;
  if (!host.cma_total) return skip("the kernel reports no contiguous memory");
  // A healthy machine with kho=off has 0 of both.
  if (!host.cma_free || *host.cma_free <= *host.cma_total) return pass();
  return fail("CmaFree is " + std::to_string(*host.cma_free >> 10) + " KiB, CmaTotal only " +
              std::to_string(*host.cma_total >> 10) + " KiB");
}

Verdict memory_short(const ExaminedNode& node) {
  const auto& available = node.facts->host.memory_available;
  if (!available) return skip("not known");
  return *available >= kEnoughForTests ? pass() : warn(std::to_string(*available >> 20) + " MiB are available");
}

Verdict killers(const ExaminedNode& node) {
  const auto& spared = extended_of(node).earlyoom_avoids;
  if (!spared.empty()) return pass("earlyoom avoids " + spared);
  constexpr std::array<std::string_view, 1> kNames{"earlyoom.service"};
  return of_units(node, kNames, CheckStatus::kWarn);
}

Verdict disabling_units(const ExaminedNode& node) {
  constexpr std::array<std::string_view, 1> kNames{"disable-unused-nics.service"};
  return of_units(node, kNames, CheckStatus::kFail);
}

/// Source: logind.conf(5), RemoveIPC=: system users are exempt, and a lingering user is never logged out.
Verdict logins_end_jobs(const ExaminedNode& node) {
  constexpr std::int64_t kFirstOrdinaryUid = 1000;
  const auto& extended = extended_of(node);
  const LoginFacts& login = extended.login;
  if (!extended.removes_ipc) return skip("logind does not run there");
  if (!*extended.removes_ipc) return pass("RemoveIPC=no");
  if (!login.uid) return skip("the login user is not known");
  if (*login.uid < kFirstOrdinaryUid) return pass(login.user + " is a system user");
  if (!login.linger) return skip("it is not known whether " + login.user + " lingers");
  return *login.linger ? pass(login.user + " lingers") : warn("RemoveIPC=yes, and " + login.user + " does not linger");
}

Verdict clock(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  if (!extended.clock_synchronised) return skip("no time service is available");
  return *extended.clock_synchronised ? pass() : warn("NTPSynchronized=no");
}

Verdict sshd_without_pam(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  const auto found = extended.sshd.find("usepam");
  if (found == extended.sshd.end()) return skip("there is no sshd");
  return found->second == "yes" ? pass() : warn("usepam " + found->second);
}

bool is_network_storage(const FstabFacts& line) {
  constexpr std::array<std::string_view, 3> kTypes{"nfs", "nfs4", "cifs"};
  const bool by_option = line.options.find("_netdev") != std::string::npos;
  return by_option || std::find(kTypes.begin(), kTypes.end(), line.type) != kTypes.end();
}

Verdict unstable_device(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  Complaints complaints;
  for (const FstabFacts& line : extended.fstab) {
    if (line.device.starts_with("/dev/nvme") || line.device.starts_with("/dev/sd")) {
      complaints.add(line.target + " uses " + line.device);
    }
  }
  return complaints.as(CheckStatus::kWarn);
}

Verdict without_nofail(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  Complaints complaints;
  for (const FstabFacts& line : extended.fstab) {
    const auto words = split(line.options, ',');
    const auto is = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
    if (is_network_storage(line) && !is("nofail") && !is("noauto")) complaints.add(line.target + " has no nofail");
  }
  return complaints.as(CheckStatus::kWarn);
}

Verdict nvme_state(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  Complaints complaints;
  bool any = false;
  for (const NvmeControllerFacts& one : extended.nvme) {
    if (one.transport == "pcie" || one.transport.empty()) continue;
    any = true;
    if (one.state != "live") complaints.add(one.name + " (" + one.subsystem + ") is " + one.state);
  }
  return any ? complaints.as(CheckStatus::kFail) : skip("no NVMe device over the network");
}

constexpr auto kMachineExaminations = std::to_array<Examination>({
    {"bios-old", bios, kSpark, {{"bios_date", "bios_version"}}},
    {"driver-old", driver, kSpark, {{"gpu_driver"}}},
    {"kernel-handover", kernel, kSpark, {{"kernel_command_line"}}},
    {"contiguous-memory-lost", contiguous_memory, kSpark, {{"memory_available_bytes"}}},
    {"memory-short", memory_short, kSpark, {{"memory_available_bytes"}}},
    {"earlyoom-runs", killers, kPrograms, {{"units"}}},
    {"logins-end-jobs", logins_end_jobs, kPrograms, {{"removes_ipc", "login.linger"}}},
    {"half-switched-off", disabling_units, kPrograms, {{"units"}}},
    {"clock-not-synchronised", clock, kPrograms, {{"clock_synchronised"}}},
    {"sshd-without-pam", sshd_without_pam, kPrograms, {{"sshd"}}},
    {"fstab-unstable-device", unstable_device, {Need::kExtended}, {{"fstab"}}},
    {"fstab-without-nofail", without_nofail, {Need::kExtended}, {{"fstab"}}},
    {"nvme-not-live", nvme_state, kPrograms, {{"nvme"}}},
});

}  // namespace

const UnitFacts* unit_named(const ExtendedFacts& extended, std::string_view name) {
  const auto found = std::ranges::find_if(extended.units, [&](const UnitFacts& unit) { return unit.name == name; });
  return found == extended.units.end() ? nullptr : &*found;
}

/// Units that run now or start at the next boot.
Verdict of_units(const ExaminedNode& node, std::span<const std::string_view> names, CheckStatus verdict) {
  const auto& extended = extended_of(node);
  Complaints complaints;
  for (const auto name : names) {
    const UnitFacts* unit = unit_named(extended, name);
    if (unit != nullptr && (unit->active == "active" || unit->enabled == "enabled")) {
      complaints.add(unit->name + " is " + unit->active + " and " + unit->enabled);
    }
  }
  return complaints.as(verdict);
}

std::span<const Examination> machine_examinations() { return kMachineExaminations; }

}  // namespace sparkplan
