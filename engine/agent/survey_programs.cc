// What only a program of the node's can tell: sshd, netplan, the clock, units.
#include <algorithm>
#include <array>

#include "engine/agent/survey.h"
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

/// Those that a guide leaves behind, that start ranks, or that decide over network, time and storage.
constexpr std::array<std::string_view, 14> kUnits{
    "docker.service",           "containerd.service",       "ssh.service",
    "slurmd.service",           "earlyoom.service",         "ufw.service",
    "nftables.service",         "nvmf-autoconnect.service", "NetworkManager.service",
    "systemd-networkd.service", "systemd-oomd.service",     "disable-unused-nics.service",
    "rdma-optimize.service",    "nvme-rosa-connect.service"};

void read_sshd(const NodeReader& node, SurveyFacts& facts) {
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

void read_clock(const NodeReader& node, SurveyFacts& facts) {
  const std::vector<std::string> argv{"timedatectl", "show", "--property=NTPSynchronized", "--value"};
  const auto text = printed_by(node, argv, "clock_synchronised", facts);
  if (text) facts.clock_synchronised = trim(*text) == "yes";
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

/// That netplan refuses its files is itself what is to be known.
void read_netplan(const NodeReader& node, SurveyFacts& facts) {
  if (!has_netplan_files(node)) return;
  const std::vector<std::string> argv{"netplan", "get"};
  const auto text = printed_by(node, argv, "netplan_merged", facts);
  if (text) {
    facts.netplan_merged = *text;
  } else if (const auto why = facts.unreadable.find("netplan_merged"); why != facts.unreadable.end()) {
    facts.netplan_error = why->second;
  }
}

std::string_view value_of(std::string_view line, std::string_view key) {
  return line.size() > key.size() && line.starts_with(key) && line[key.size()] == '=' ? line.substr(key.size() + 1)
                                                                                      : std::string_view();
}

void read_units(const NodeReader& node, SurveyFacts& facts) {
  std::vector<std::string> argv{"systemctl", "show", "--property=Id,LoadState,ActiveState,UnitFileState,LimitMEMLOCK",
                                "--"};
  for (const auto unit : kUnits) argv.emplace_back(unit);
  const auto text = printed_by(node, argv, "units", facts);
  if (!text) return;
  UnitFacts unit;
  bool there = false;
  const auto finish = [&] {
    if (there && !unit.name.empty()) facts.units.push_back(unit);
    unit = {};
    there = false;
  };
  for (const auto line : split_lines(*text)) {
    if (line.empty()) finish();
    if (const auto id = value_of(line, "Id"); !id.empty()) unit.name = id;
    if (const auto state = value_of(line, "ActiveState"); !state.empty()) unit.active = state;
    if (const auto state = value_of(line, "UnitFileState"); !state.empty()) unit.enabled = state;
    if (const auto limit = value_of(line, "LimitMEMLOCK"); !limit.empty()) unit.locked_memory = limit;
    if (const auto state = value_of(line, "LoadState"); !state.empty()) there = state == "loaded";
  }
  finish();
  std::sort(facts.units.begin(), facts.units.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

}  // namespace

void survey_programs(const NodeReader& node, SurveyFacts& facts) {
  read_sshd(node, facts);
  read_clock(node, facts);
  read_netplan(node, facts);
  read_units(node, facts);
}

}  // namespace sparkplan
