// Facts that only programs of the node know: sshd, netplan, the clock, units.
#include <algorithm>
#include <array>
#include <chrono>

#include "engine/agent/facts/extended_facts.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::array<std::string_view, 12> kSshdOptions{"usepam",
                                                        "permitrootlogin",
                                                        "passwordauthentication",
                                                        "pubkeyauthentication",
                                                        "maxstartups",
                                                        "maxsessions",
                                                        "allowusers",
                                                        "allowgroups",
                                                        "denyusers",
                                                        "permituserenvironment",
                                                        "acceptenv",
                                                        "port"};

/// Units that set-up guides leave behind, that start ranks, or that manage network, time and storage.
constexpr std::array<std::string_view, 15> kUnits{
    "docker.service",           "containerd.service",        "ssh.service",
    "slurmd.service",           "earlyoom.service",          "ufw.service",
    "nftables.service",         "nvmf-autoconnect.service",  "NetworkManager.service",
    "systemd-networkd.service", "systemd-oomd.service",      "disable-unused-nics.service",
    "rdma-optimize.service",    "nvme-rosa-connect.service", "gb10-clock-cap.service"};

/// netplan is written in Python, and a machine may be busy.
constexpr std::chrono::seconds kNetplanDeadline{10};
constexpr std::chrono::seconds kUnitsDeadline{10};

void read_sshd(const NodeReader& node, ExtendedFacts& facts) {
  const std::vector<std::string> argv{"sshd", "-T"};
  const auto text = printed_by(node, argv, "sshd", facts);
  if (!text) return;
  for (const auto line : split_lines(*text)) {
    const auto blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const auto option = line.substr(0, blank);
    if (std::find(kSshdOptions.begin(), kSshdOptions.end(), option) == kSshdOptions.end()) continue;
    auto& value = facts.sshd[std::string(option)];
    value += (value.empty() ? "" : " ") + std::string(trim(line.substr(blank)));
  }
}

void read_clock(const NodeReader& node, ExtendedFacts& facts) {
  const std::vector<std::string> argv{"timedatectl", "show", "--property=NTPSynchronized", "--value"};
  const auto text = printed_by(node, argv, "clock_synchronised", facts);
  if (text) facts.clock_synchronised = trim(*text) == "yes";
}

/// Source: org.freedesktop.login1(5).
void read_logind(const NodeReader& node, ExtendedFacts& facts) {
  const std::vector<std::string> argv{
      "busctl",   "get-property", "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
      "RemoveIPC"};
  const auto text = printed_by(node, argv, "removes_ipc", facts);
  if (text) facts.removes_ipc = trim(*text) == "b true";
}

bool has_netplan_files(const NodeReader& node) {
  for (const char* directory : {"/etc/netplan", "/run/netplan", "/usr/lib/netplan"}) {
    const auto names = node.list_directory(directory);
    if (names && std::any_of(names->begin(), names->end(), [](const auto& name) { return name.ends_with(".yaml"); })) {
      return true;
    }
  }
  return false;
}

/// "/etc/netplan/50.yaml:3:5: Error in network definition: ...". The line that netplan quotes below it is left out,
/// because it may contain a password.
std::string complaint_in(const CommandOutput& output) {
  constexpr std::size_t kMost = 300;
  for (const auto line : split_lines(output.standard_error.empty() ? output.standard_output : output.standard_error)) {
    const auto text = trim(line);
    if (!text.empty()) return std::string(text.substr(0, kMost));
  }
  return "";
}

bool names_a_secret(std::string_view text) {
  constexpr std::array<std::string_view, 8> kParts{"password", "passphrase",    "psk",    "secret",
                                                   "key",      "access-points", "modems", "auth"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](auto part) { return text.find(part) != std::string_view::npos; });
}

/// The output of `netplan get`, block by block, without blocks of a key that names a secret: passwords of Wi-Fi and
/// 802.1X, keys of tunnels. Secrets stay on the node.
std::string netplan_without_secrets(std::string_view yaml) {
  std::string kept;
  std::size_t secret_indent = std::string_view::npos;
  for (const auto line : split_lines(yaml)) {
    const auto indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) continue;
    // The items of a list may start in the column of their key.
    const bool below = secret_indent != std::string_view::npos &&
                       (indent > secret_indent || (indent == secret_indent && line[indent] == '-'));
    if (below) continue;
    secret_indent = names_a_secret(line) ? indent : std::string_view::npos;
    const bool secret = secret_indent != std::string_view::npos;
    kept += secret ? std::string(line.substr(0, std::min(line.find(':'), line.size()))) + ": ..." : std::string(line);
    kept += '\n';
  }
  return kept;
}

/// A refusal of the files by netplan is itself a fact.
void read_netplan(const NodeReader& node, ExtendedFacts& facts) {
  if (!has_netplan_files(node)) return;
  const std::vector<std::string> argv{"netplan", "get"};
  const auto output = node.query(argv, kNetplanDeadline);
  if (!output) {
    if (output.error().code != ErrorCode::kNotFound) facts.unreadable["netplan_merged"] = output.error().describe();
    return;
  }
  if (output->exit_status == 0) {
    facts.netplan_merged = netplan_without_secrets(output->standard_output);
    return;
  }
  const auto complaint = complaint_in(*output);
  facts.netplan_error =
      "netplan: exit " + std::to_string(output->exit_status) + (complaint.empty() ? "" : ": " + complaint);
}

/// The pattern of --avoid in the command line of a running earlyoom. Source: earlyoom(1).
std::string earlyoom_avoids(const std::string& pid, const NodeReader& node) {
  constexpr std::string_view kOption = "--avoid";
  const auto text = node.read_file("/proc/" + pid + "/cmdline");
  const auto words = split(text ? std::string_view(*text) : std::string_view(), '\0');
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with(kOption)) continue;
    const auto rest = words[i].substr(kOption.size());
    if (rest.starts_with('=')) return std::string(rest.substr(1));
    if (rest.empty() && i + 1 < words.size()) return std::string(words[i + 1]);
  }
  return "";
}

void read_units(const NodeReader& node, ExtendedFacts& facts) {
  constexpr std::array<std::string_view, 6> kProperties{"Id",           "LoadState", "ActiveState", "UnitFileState",
                                                        "LimitMEMLOCK", "MainPID"};
  const std::vector<std::string> names(kUnits.begin(), kUnits.end());
  const auto units = node.units(names, kProperties, kUnitsDeadline);
  if (!units) {
    if (units.error().code != ErrorCode::kUnsupported) facts.unreadable["units"] = units.error().describe();
    return;
  }
  for (const UnitProperties& unit : *units) {
    if (property_of(unit, "LoadState") != "loaded") continue;
    facts.units.push_back({property_of(unit, "Id"), property_of(unit, "ActiveState"),
                           property_of(unit, "UnitFileState"), property_of(unit, "LimitMEMLOCK")});
    const std::string pid = property_of(unit, "MainPID");
    const bool runs = !pid.empty() && pid != "0";
    if (facts.units.back().name == "earlyoom.service" && runs) facts.earlyoom_avoids = earlyoom_avoids(pid, node);
  }
  std::sort(facts.units.begin(), facts.units.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

}  // namespace

void read_programs(const NodeReader& node, ExtendedFacts& facts) {
  read_sshd(node, facts);
  read_clock(node, facts);
  read_logind(node, facts);
  read_netplan(node, facts);
  read_units(node, facts);
}

}  // namespace sparkplan
