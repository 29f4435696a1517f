// Memory in use, installed kernels and packages. Sources: proc(5), the kernel's accounting/psi.rst, dpkg(1),
// apt.conf(5), update-notifier's reboot-required.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/node_text.h"
#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/model/fact_bounds.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kKibibyte = 1024;

/// "full avg10=0.12 avg60=0.03 avg300=0.00 total=1234"
void read_pressure(const NodeReader& node, ExtendedFacts& facts) {
  const auto text = text_or_reason(node, "/proc/pressure/memory", "memory_pressure", facts.unreadable);
  for (const auto line : split_lines(text ? std::string_view(*text) : std::string_view())) {
    constexpr std::string_view kStart = "full avg10=";
    if (!line.starts_with(kStart)) continue;
    const auto number = line.substr(kStart.size());
    if (!number.empty() && is_digit(number.front())) {
      facts.memory_pressure = std::strtod(std::string(number).c_str(), nullptr);
    }
  }
}

void read_swap(const NodeReader& node, ExtendedFacts& facts) {
  const auto text = text_or_reason(node, "/proc/swaps", "swap", facts.unreadable);
  for (const auto line : split_lines(text ? std::string_view(*text) : std::string_view())) {
    // Filename, type, size, used, priority
    const auto words = words_of(line);
    if (words.size() != 5 || words[0] == "Filename") continue;
    facts.swap.total += number_in_text(words[2]).value_or(0) * kKibibyte;
    facts.swap.used += number_in_text(words[3]).value_or(0) * kKibibyte;
  }
}

/// "size=65536k" -> 64 MiB
std::optional<std::int64_t> limit_in(std::string_view options) {
  for (const auto option : split(options, ',')) {
    if (!option.starts_with("size=")) continue;
    const auto number = number_in_text(option);
    if (number) return option.ends_with('k') ? *number * kKibibyte : *number;
  }
  return std::nullopt;
}

void read_shared_memory(const NodeReader& node, ExtendedFacts& facts) {
  constexpr const char* kField = "shared_memory";
  const std::string directory = "/dev/shm";
  const auto mounts = text_or_reason(node, "/proc/mounts", kField, facts.unreadable);
  if (!mounts) return;
  SharedMemoryFacts& memory = facts.shared_memory.emplace();
  for (const auto line : split_lines(*mounts)) {
    const auto words = words_of(line);
    if (words.size() < 4 || words[1] != directory) continue;
    memory.type = words[2];
    memory.limit = limit_in(words[3]);
  }
  auto names = names_or_reason(node, directory, kField, facts.unreadable);
  names.resize(std::min(names.size(), kMostOfMany));
  for (const auto& name : names) {
    const auto status = node.status(directory + "/" + name);
    if (!status || status->kind != FileStatus::Kind::kRegular) continue;
    count_shared_file(status->size, memory);
  }
}

void read_kernels(const NodeReader& node, SoftwareFacts& software, ExtendedFacts& facts) {
  constexpr std::string_view kImage = "vmlinuz-";
  for (const auto& name : names_or_reason(node, "/boot", "software.kernels", facts.unreadable)) {
    if (name.starts_with(kImage) && !name.ends_with(".old")) software.kernels.push_back(name.substr(kImage.size()));
  }
}

void read_reboot(const NodeReader& node, SoftwareFacts& software, ExtendedFacts& facts) {
  constexpr const char* kField = "software.reboot_required";
  software.reboot_required = text_or_reason(node, "/var/run/reboot-required", kField, facts.unreadable).has_value();
  if (!software.reboot_required) return;
  const auto packages = text_or_reason(node, "/var/run/reboot-required.pkgs", kField, facts.unreadable);
  for (const auto line : split_lines(packages ? std::string_view(*packages) : std::string_view())) {
    const std::string name(trim(line));
    const bool known =
        std::find(software.reboot_for.begin(), software.reboot_for.end(), name) != software.reboot_for.end();
    if (!name.empty() && !known && software.reboot_for.size() < kMostOfFew) software.reboot_for.push_back(name);
  }
}

/// `APT::Periodic::Unattended-Upgrade "1";` The last file that has it counts.
void read_upgrades(const NodeReader& node, SoftwareFacts& software, ExtendedFacts& facts) {
  constexpr const char* kField = "software.upgrades_itself";
  const std::string directory = "/etc/apt/apt.conf.d";
  for (const auto& name : names_or_reason(node, directory, kField, facts.unreadable)) {
    const auto text = text_or_reason(node, directory + "/" + name, kField, facts.unreadable);
    for (const auto line : split_lines(text ? std::string_view(*text) : std::string_view())) {
      const auto words = words_of(line);
      if (words.size() != 2 || words[0] != "APT::Periodic::Unattended-Upgrade") continue;
      software.upgrades_itself = words[1].find_first_of("123456789") != std::string::npos;
    }
  }
}

/// The packages and files that decide which kernel and driver run.
bool concerns_driver(std::string_view package) {
  constexpr auto kPrefixes = std::to_array<std::string_view>(
      {"linux-image-", "linux-nvidia", "linux-headers-nvidia", "linux-modules-nvidia-", "linux-generic",
       "nvidia-driver-", "nvidia-firmware-", "nvidia-fabricmanager", "nvidia-nvswitch"});
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return package.starts_with(prefix); });
}

/// dpkg writes the name of a package before its status and its version. Source: deb822(5), dpkg(1), PACKAGE STATES.
void read_packages(const NodeReader& node, SoftwareFacts& software, ExtendedFacts& facts) {
  constexpr std::size_t kLongestStatus = std::size_t{64} << 20;
  const auto text = text_or_reason(node, "/var/lib/dpkg/status", "software.packages", facts.unreadable, kLongestStatus);
  PackageFacts package;
  bool installed = false;
  const auto end_of_package = [&] {
    if (installed && concerns_driver(package.name) && software.packages.size() < kMostOfMany)
      software.packages.push_back(std::move(package));
    package = {};
    installed = false;
  };
  for (const auto line : split_lines(text ? std::string_view(*text) : std::string_view())) {
    constexpr std::string_view kPackage = "Package: ";
    constexpr std::string_view kVersion = "Version: ";
    constexpr std::string_view kStatus = "Status: ";
    if (line.empty()) end_of_package();
    if (line.starts_with(kPackage)) package.name = line.substr(kPackage.size());
    if (line.starts_with(kVersion)) package.version = line.substr(kVersion.size());
    if (!line.starts_with(kStatus)) continue;
    const auto words = words_of(line.substr(kStatus.size()));
    package.held = !words.empty() && words.front() == "hold";
    installed = !words.empty() && words.back() == "installed";
  }
  end_of_package();
  std::sort(software.packages.begin(), software.packages.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

}  // namespace

void count_shared_file(std::int64_t size, SharedMemoryFacts& memory) {
  // Any user can make a sparse file of any size there.
  memory.used = std::min(memory.used + std::clamp<std::int64_t>(size, 0, kBytes.most), kBytes.most);
  ++memory.files;
}

void read_software(const NodeReader& node, ExtendedFacts& facts) {
  read_pressure(node, facts);
  read_swap(node, facts);
  read_shared_memory(node, facts);
  read_kernels(node, facts.software, facts);
  read_reboot(node, facts.software, facts);
  read_upgrades(node, facts.software, facts);
  read_packages(node, facts.software, facts);
}

}  // namespace sparkplan
