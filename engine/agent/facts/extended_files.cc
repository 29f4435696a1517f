// Facts from small files: modules, kernel parameters, NVMe, firmware, NCCL's variables, fstab.
#include <algorithm>
#include <array>
#include <string>

#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/node_text.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::string first_word(std::string_view line) {
  line = trim(line);
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

void read_modules(const NodeReader& node, ExtendedFacts& facts) {
  constexpr std::array<std::string_view, 6> kPrefixes{"nvidia", "mlx5", "nvme", "rdma", "ib_", "bonding"};
  if (const auto text = node.read_file("/proc/modules")) {
    for (const auto line : split_lines(*text)) {
      const auto name = first_word(line);
      const bool wanted =
          std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
      if (wanted) facts.kernel_modules.push_back(name);
    }
  }
  std::sort(facts.kernel_modules.begin(), facts.kernel_modules.end());
  for (const std::string directory : {"/usr/lib/modules-load.d", "/etc/modules-load.d"}) {
    for (const auto& file : names_or_reason(node, directory, "modules_at_boot", facts.unreadable)) {
      const auto text = node.read_file(directory + "/" + file);
      if (!text || !file.ends_with(".conf")) continue;
      for (const auto line : split_lines(*text)) {
        const auto name = first_word(line);
        if (!name.empty() && name.front() != '#' && name.front() != ';') facts.modules_at_boot.push_back(name);
      }
    }
  }
}

void read_sysctl(const NodeReader& node, const std::vector<LinkFacts>& links, ExtendedFacts& facts) {
  std::vector<std::string> keys{"net/core/rmem_max", "net/core/wmem_max", "net/ipv4/ip_forward",
                                "net/ipv4/conf/all/rp_filter", "net/ipv4/conf/all/arp_ignore"};
  for (const LinkFacts& link : links) {
    if (link.rdma_devices.empty()) continue;
    for (const char* key : {"rp_filter", "arp_ignore", "arp_announce"}) {
      keys.push_back("net/ipv4/conf/" + link.name + "/" + key);
    }
  }
  for (auto& key : keys) {
    const auto value = line_or_reason(node, "/proc/sys/" + key, "sysctl", facts.unreadable);
    std::replace(key.begin(), key.end(), '/', '.');
    if (!value.empty()) facts.sysctl[key] = value;
  }
}

void read_nvme(const NodeReader& node, ExtendedFacts& facts) {
  for (const auto& name : names_or_reason(node, "/sys/class/nvme", "nvme", facts.unreadable)) {
    const auto directory = "/sys/class/nvme/" + name + "/";
    facts.nvme.push_back({name, first_line_of(node, directory + "transport"),
                          first_line_of(node, directory + "address"), first_line_of(node, directory + "state"),
                          first_line_of(node, directory + "subsysnqn")});
  }
}

void read_rdma_firmware(const NodeReader& node, ExtendedFacts& facts) {
  constexpr std::array<const char*, 6> kErrors{"counters/port_rcv_errors",
                                               "counters/symbol_error",
                                               "counters/link_downed",
                                               "hw_counters/packet_seq_err",
                                               "hw_counters/local_ack_timeout_err",
                                               "hw_counters/out_of_sequence"};
  for (const auto& device : names_or_reason(node, "/sys/class/infiniband", "rdma_firmware", facts.unreadable)) {
    const auto directory = "/sys/class/infiniband/" + device + "/";
    RdmaFirmwareFacts one{
        device, first_line_of(node, directory + "fw_ver"), first_line_of(node, directory + "board_id"), {}};
    for (const std::string error : kErrors) {
      const auto count = number_in_text(first_line_of(node, directory + "ports/1/" + error));
      if (count) one.errors[error.substr(error.find('/') + 1)] = *count;
    }
    facts.rdma_firmware.push_back(std::move(one));
  }
}

void add_profile_variables(const Result<std::string>& text, ExtendedFacts& facts) {
  if (!text) return;
  for (const auto line : split_lines(*text)) {
    auto assigned = assignment_in(line);
    if (assigned && concerns_nccl(assigned->first))
      facts.nccl_profile.insert_or_assign(assigned->first, assigned->second);
  }
}

void read_nccl(const NodeReader& node, ExtendedFacts& facts) {
  read_nccl_file("/etc/nccl.conf", node.read_file("/etc/nccl.conf"), facts);
  add_profile_variables(node.read_file("/etc/environment"), facts);
  const std::string directory = "/etc/profile.d";
  for (const auto& file : names_or_reason(node, directory, "nccl_profile", facts.unreadable)) {
    if (file.ends_with(".sh")) add_profile_variables(node.read_file(directory + "/" + file), facts);
  }
}

/// For mount.cifs, mount.davfs, curlftpfs, ecryptfs and ceph: "password=x", "pass", "password2", "credentials",
/// "secret", "key", "passwd", "ecryptfs_passwd_file" ...
bool holds_secret(std::string_view option) {
  constexpr std::array<std::string_view, 5> kParts{"pass", "cred", "secret", "key", "token"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](auto part) { return option.find(part) != std::string_view::npos; });
}

/// Options without the values of those that hold secrets. mount.cifs reads ",," as a comma of the value.
std::string options_without_secrets(std::string_view options) {
  std::string text;
  bool within_secret = false;
  bool doubled = false;
  bool first = true;
  for (const auto option : split(options, ',')) {
    if (within_secret && option.empty()) {
      doubled = true;
      continue;
    }
    if (within_secret && doubled) {
      doubled = false;
      continue;
    }
    const auto equals = option.find('=');
    within_secret = equals != std::string_view::npos && holds_secret(option.substr(0, equals));
    doubled = false;
    text += first ? "" : ",";
    text += within_secret ? std::string(option.substr(0, equals + 1)) + "..." : std::string(option);
    first = false;
  }
  return text;
}

/// "curlftpfs#user:password@host" without the text between the colon and the last "@".
std::string without_password(const std::string& device) {
  const auto at = device.rfind('@');
  if (at == std::string::npos) return device;
  const auto scheme = device.find("://");
  const auto colon = device.find(':', scheme == std::string::npos ? 0 : scheme + 3);
  if (colon == std::string::npos || colon > at) return device;
  return device.substr(0, colon + 1) + "..." + device.substr(at);
}

void read_fstab(const NodeReader& node, ExtendedFacts& facts) {
  const auto text = text_or_reason(node, "/etc/fstab", "fstab", facts.unreadable);
  if (!text) return;
  for (const auto line : split_lines(*text)) {
    const auto words = words_of(line);
    if (words.size() < 4 || words[0].front() == '#') continue;
    facts.fstab.push_back({without_password(words[0]), words[1], words[2], options_without_secrets(words[3])});
  }
}

/// Source: hosts(5): the resolver asks this file first.
void read_own_name(const NodeReader& node, ExtendedFacts& facts) {
  const std::string name = first_line_of(node, "/proc/sys/kernel/hostname");
  const auto text = text_or_reason(node, "/etc/hosts", "own_name_addresses", facts.unreadable);
  if (!text) return;
  for (const auto line : split_lines(*text)) {
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.size() < 2 || name.empty() || std::find(words.begin() + 1, words.end(), name) == words.end()) continue;
    facts.own_name_addresses.push_back(words[0]);
  }
}

}  // namespace

void read_files(const NodeReader& node, const std::vector<LinkFacts>& links, ExtendedFacts& facts) {
  read_nccl(node, facts);
  read_fstab(node, facts);
  if (!node.live()) return;
  read_own_name(node, facts);
  read_modules(node, facts);
  read_sysctl(node, links, facts);
  read_nvme(node, facts);
  read_rdma_firmware(node, facts);
}

}  // namespace sparkplan
