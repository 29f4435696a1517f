// Kernels and packages: what runs, what the next boot starts, and what an upgrade may change.
#include <algorithm>
#include <array>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/doctor/known_kernels.h"

namespace sparkplan {
namespace {

constexpr Needs kSoftwarePrograms{Need::kRunning, Need::kExtended};
constexpr Needs kSparkSoftware{Need::kRunning, Need::kSpark, Need::kExtended};
constexpr std::size_t kMostNames = 6;

/// "a, b and 3 more"
std::string first_of(const std::vector<std::string>& names, std::size_t most) {
  if (names.size() <= most) return join(names, ", ");
  return join(std::span(names).first(most), ", ") + " and " + std::to_string(names.size() - most) + " more";
}

const SoftwareFacts& software_of(const ExaminedNode& node) { return extended_of(node).software; }

/// The digits at the start of `text`, without leading zeros; `text` loses them.
std::string_view take_number(std::string_view& text) {
  const auto end = std::min(text.size(), text.find_first_not_of("0123456789"));
  auto number = text.substr(0, end);
  text.remove_prefix(end);
  number.remove_prefix(std::min(number.size(), number.find_first_not_of('0')));
  return number;
}

/// By their numbers: 6.17.0-1031-nvidia is newer than 6.17.0-999-nvidia. By default the boot loader starts
/// the newest one.
bool is_older(std::string_view one, std::string_view other) {
  while (!one.empty() && !other.empty()) {
    if (is_digit(one.front()) && is_digit(other.front())) {
      const auto a = take_number(one);
      const auto b = take_number(other);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
      continue;
    }
    if (one.front() != other.front()) return one.front() < other.front();
    one.remove_prefix(1);
    other.remove_prefix(1);
  }
  return one.empty() && !other.empty();
}

/// The newest kernel in /boot, if it is newer than the running one; empty otherwise.
std::string next_kernel(const ExaminedNode& node) {
  const auto& kernels = software_of(node).kernels;
  const auto newest = std::max_element(kernels.begin(), kernels.end(),
                                       [](const auto& one, const auto& other) { return is_older(one, other); });
  return newest == kernels.end() || !is_older(node.facts->kernel, *newest) ? "" : *newest;
}

bool is_known_bad(std::string_view release, const HostFacts& host) {
  return is_one_of(release, kKernelsThatLoseTheAdapter) ||
         (is_one_of(release, kKernelsThatLoseMemory) && !without_handover(host));
}

Verdict loses_adapter(const ExaminedNode& node) {
  return is_one_of(node.facts->kernel, kKernelsThatLoseTheAdapter) ? fail("kernel " + node.facts->kernel) : pass();
}

Verdict next_is_bad(const ExaminedNode& node) {
  if (software_of(node).kernels.empty()) return skip("there is no kernel in /boot");
  const auto next = next_kernel(node);
  const bool bad = !next.empty() && is_known_bad(next, node.facts->host);
  return bad ? warn(next + " is installed, " + node.facts->kernel + " runs") : pass();
}

/// "580.173.02-0ubuntu1" -> "580.173.02"
std::string upstream(const PackageFacts& package) {
  const auto colon = package.version.find(':');
  const auto start = colon == std::string::npos ? 0 : colon + 1;
  return package.version.substr(start, package.version.find('-', start) - start);
}

bool is_driver(const PackageFacts& package) { return package.name.starts_with("nvidia-driver-"); }
bool is_firmware(const PackageFacts& package) { return package.name.starts_with("nvidia-firmware-"); }

Verdict reboot(const ExaminedNode& node) {
  const SoftwareFacts& software = software_of(node);
  Complaints complaints;
  const auto next = next_kernel(node);
  // Row kernel-next-bad reports a kernel that must not be booted.
  if (!next.empty() && !is_known_bad(next, node.facts->host))
    complaints.add(next + " is installed, " + node.facts->kernel + " runs");
  const auto& running = node.facts->host.gpu_driver;
  for (const PackageFacts& package : software.packages) {
    if (is_driver(package) && !running.empty() && upstream(package) != running)
      complaints.add(package.name + " is " + upstream(package) + ", " + running + " runs");
  }
  if (software.reboot_required && !complaints.any()) {
    complaints.add(software.reboot_for.empty() ? "a package asks for it"
                                               : "asked for by " + first_of(software.reboot_for, kMostNames));
  }
  if (complaints.any() || !software.kernels.empty()) return complaints.as(CheckStatus::kWarn);
  return skip("there is no kernel in /boot");
}

/// A package whose name has a release of the kernel, as linux-image-6.17.0-1031-nvidia, is never replaced by another
/// release.
bool names_release(std::string_view package) {
  const auto parts = split(package, '-');
  return std::any_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return std::count(part.begin(), part.end(), '.') == 2; });
}

bool belongs_to_set(const PackageFacts& package) {
  if (package.name.starts_with("linux-")) return !names_release(package.name);
  return is_driver(package) || is_firmware(package);
}

Verdict holds(const ExaminedNode& node) {
  const SoftwareFacts& software = software_of(node);
  std::vector<std::string> held;
  std::vector<std::string> free;
  for (const PackageFacts& package : software.packages) {
    if (belongs_to_set(package)) (package.held ? held : free).push_back(package.name);
  }
  if (held.empty() && free.empty()) return skip("kernel and driver are not installed as packages");
  if (free.empty()) return pass("all are held");
  if (!held.empty()) return warn("not held: " + first_of(free, kMostNames));
  if (software.upgrades_itself != true) return pass("nothing is held, and unattended upgrades are off");
  return warn("unattended upgrades are on, and nothing is held: " + first_of(free, kMostNames));
}

Verdict driver_branch(const ExaminedNode& node) {
  const auto& version = node.facts->host.gpu_driver;
  if (version.empty()) return skip("no GPU driver is loaded");
  return is_other_driver_branch(version) ? fail("driver " + version) : pass();
}

bool is_foreign(const PackageFacts& package) {
  const std::string_view name = package.name;
  if (name.starts_with("nvidia-fabricmanager") || name.starts_with("nvidia-nvswitch")) return true;
  return is_driver(package) && (name.find("-server") != std::string_view::npos || !name.ends_with("-open"));
}

Verdict driver_packages(const ExaminedNode& node) {
  const auto& packages = software_of(node).packages;
  Complaints complaints;
  std::vector<std::string> drivers;
  std::vector<std::string> firmware;
  for (const PackageFacts& package : packages) {
    if (is_foreign(package)) complaints.add(package.name + " is installed");
    if (is_driver(package)) drivers.push_back(upstream(package));
    if (is_firmware(package)) firmware.push_back(upstream(package));
  }
  if (drivers.empty()) return complaints.any() ? complaints.as(CheckStatus::kFail) : skip("no driver from packages");
  for (const std::string& driver : drivers) {
    const bool fits = firmware.empty() || std::find(firmware.begin(), firmware.end(), driver) != firmware.end();
    if (!fits) complaints.add("the driver is " + driver + ", its firmware " + first_of(firmware, kMostNames));
  }
  return complaints.as(CheckStatus::kFail);
}

constexpr auto kSoftwareExaminations = std::to_array<Examination>({
    {"kernel-loses-adapter", loses_adapter, {Need::kRunning, Need::kSpark}},
    {"kernel-next-bad", next_is_bad, kSparkSoftware, {{"software.kernels", "kernel_command_line"}}},
    {"reboot-pending",
     reboot,
     kSoftwarePrograms,
     {{"software.kernels", "software.reboot_required", "software.packages", "gpu_driver"}}},
    {"holds-missing", holds, kSparkSoftware, {{"software.packages", "software.upgrades_itself"}}},
    {"driver-unsupported", driver_branch, {Need::kRunning, Need::kSpark}, {{"gpu_driver"}}},
    {"driver-packages-mixed", driver_packages, kSparkSoftware, {{"software.packages"}}},
});

}  // namespace

bool is_other_driver_branch(std::string_view version) {
  return version.starts_with("590.") || version.starts_with("595.");
}

std::span<const Examination> software_examinations() { return kSoftwareExaminations; }

}  // namespace sparkplan
