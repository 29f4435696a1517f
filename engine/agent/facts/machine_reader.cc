#include "engine/agent/facts/facts_reader.h"

#include <string>

#include "engine/agent/facts/node_text.h"
#include "engine/core/digest.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// ssh-keygen(1) writes fingerprints as base64 without padding.
std::string fingerprint_of(std::string_view blob) {
  const auto hexadecimal = sha256(blob);
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16));
  }
  auto text = base64_encode(bytes);
  text.erase(text.find_last_not_of('=') + 1);
  return "SHA256:" + text;
}

void read_firmware_tables(const NodeReader& node, HostFacts& facts) {
  const std::string dmi = "/sys/class/dmi/id/";
  facts.vendor = line_or_reason(node, dmi + "sys_vendor", "vendor", facts.unreadable);
  facts.board = line_or_reason(node, dmi + "board_name", "board", facts.unreadable);
  facts.bios_version = line_or_reason(node, dmi + "bios_version", "bios_version", facts.unreadable);
  facts.bios_date = iso_date(line_or_reason(node, dmi + "bios_date", "bios_date", facts.unreadable));
}

void read_memory(const NodeReader& node, HostFacts& facts) {
  const auto text = node.read_file("/proc/meminfo");
  if (!text) {
    facts.unreadable["memory_available_bytes"] = text.error().describe();
    return;
  }
  for (const auto line : split_lines(*text)) {
    const auto kilobytes = number_in_text(line);
    if (!kilobytes) continue;
    const std::int64_t bytes = *kilobytes * 1024;
    if (line.starts_with("MemAvailable:")) facts.memory_available = bytes;
    if (line.starts_with("CmaTotal:")) facts.cma_total = bytes;
    if (line.starts_with("CmaFree:")) facts.cma_free = bytes;
  }
}

/// "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build ..."
std::string gpu_driver_in(const std::string& line) {
  for (const auto word : split(line, ' ')) {
    const bool version = !word.empty() && word.find('.') != std::string_view::npos &&
                         word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (version) return std::string(word);
  }
  return "";
}

void read_host_keys(const NodeReader& node, HostFacts& facts) {
  const std::string directory = "/etc/ssh";
  for (const auto& name : names_or_reason(node, directory, "host_keys", facts.unreadable)) {
    if (!name.starts_with("ssh_host_") || !name.ends_with("_key.pub")) continue;
    auto key = host_key_in(first_line_of(node, directory + "/" + name));
    if (!key.fingerprint.empty()) facts.host_keys.push_back(std::move(key));
  }
}

}  // namespace

std::string iso_date(const std::string& dmi_date) {
  const bool american = dmi_date.size() == 10 && dmi_date[2] == '/' && dmi_date[5] == '/';
  if (!american) return dmi_date;
  return dmi_date.substr(6, 4) + "-" + dmi_date.substr(0, 2) + "-" + dmi_date.substr(3, 2);
}

HostKeyFacts host_key_in(std::string_view public_key_line) {
  const auto words = split(trim(public_key_line), ' ');
  if (words.size() < 2) return {};
  const auto blob = base64_decode(words[1]);
  if (!blob) return {};
  return {std::string(words[0]), fingerprint_of(*blob)};
}

void read_machine(const NodeReader& node, HostFacts& facts) {
  facts.nvme_host_nqn = line_or_reason(node, "/etc/nvme/hostnqn", "nvme_host_nqn", facts.unreadable);
  facts.nvme_host_id = line_or_reason(node, "/etc/nvme/hostid", "nvme_host_id", facts.unreadable);
  read_host_keys(node, facts);
  if (!node.live()) return;
  read_firmware_tables(node, facts);
  read_memory(node, facts);
  facts.kernel_command_line = line_or_reason(node, "/proc/cmdline", "kernel_command_line", facts.unreadable);
  facts.gpu_driver = gpu_driver_in(line_or_reason(node, "/proc/driver/nvidia/version", "gpu_driver", facts.unreadable));
}

}  // namespace sparkplan
