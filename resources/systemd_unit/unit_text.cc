#include "resources/systemd_unit/unit_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/resource/artifact.h"

namespace sparkplan::systemd_unit {
namespace {

/// Beginnings of keys that have one value each: their last assignment wins.
constexpr std::array<std::string_view, 17> kSingleValued{
    "CPUQuota", "CPUWeight",    "Group", "IOWeight", "KillMode",        "Limit",
    "Memory",   "Nice",         "OOM",   "Restart",  "Slice",           "StandardOutput",
    "Tasks",    "TimeoutStart", "Type",  "User",     "WorkingDirectory"};

constexpr std::array<std::string_view, 6> kCarriers{
    "NetworkManager.service", "dbus.service", "ssh.service", "ssh.socket", "sshd.service", "systemd-networkd.service"};

/// Services that filter packets or bring up the interfaces of a connection.
constexpr std::array<std::string_view, 9> kFilters{
    "firewalld.service", "iptables.service",        "netfilter-persistent.service",
    "nftables.service",  "systemd-networkd.socket", "systemd-resolved.service",
    "ufw.service",       "wpa_supplicant.service",  "networking.service"};
constexpr std::array<std::string_view, 22> kNetworkPrograms{"brctl",
                                                            "bridge",
                                                            "dhclient",
                                                            "dhcpcd",
                                                            "firewall-cmd",
                                                            "ifconfig",
                                                            "ifdown",
                                                            "ifup",
                                                            "ip",
                                                            "ip6tables",
                                                            "ip6tables-restore",
                                                            "iptables",
                                                            "iptables-restore",
                                                            "netplan",
                                                            "networkctl",
                                                            "nft",
                                                            "nmcli",
                                                            "rfkill",
                                                            "route",
                                                            "tc",
                                                            "ufw",
                                                            "wg-quick"};

bool is_single_valued(std::string_view key) {
  return std::ranges::any_of(kSingleValued, [&](std::string_view beginning) { return key.starts_with(beginning); });
}

bool is_comment(std::string_view line) { return line.starts_with('#') || line.starts_with(';'); }

/// A logical line: continuation lines are joined, without the comments between them.
struct LogicalLine {
  std::string text;
  int number = 0;
};

/// Calls `take(line)` for each, without a list of them: a node's text can have millions.
template <class Take>
void for_each_logical_line(std::string_view text, const Take& take) {
  LogicalLine current;
  bool goes_on = false;
  int number = 0;
  for_each_line(text, [&](std::string_view raw) {
    ++number;
    std::string_view line = trim(raw);
    if (is_comment(line) || (line.empty() && !goes_on)) return;
    const bool continues = line.ends_with('\\');
    if (continues) line = trim(line.substr(0, line.size() - 1));
    if (goes_on) {
      current.text += ' ';
    } else {
      current = {{}, number};
    }
    current.text += line;
    goes_on = continues;
    if (!goes_on) take(std::as_const(current));
  });
  if (goes_on) take(std::as_const(current));
}

/// The parts of an Assignment in its line.
struct AssignmentView {
  std::string_view section;
  std::string_view key;
  std::string_view value;
  int line = 0;
};

template <class Take>
void for_each_assignment(std::string_view text, const Take& take) {
  std::string section;
  for_each_logical_line(text, [&](const LogicalLine& line) {
    const std::string_view all = line.text;
    if (all.starts_with('[')) {
      section = all.ends_with(']') ? all.substr(1, all.size() - 2) : all;
      return;
    }
    const std::size_t equals = all.find('=');
    if (equals == std::string_view::npos) return;
    take(AssignmentView{section, trim(all.substr(0, equals)), trim(all.substr(equals + 1)), line.number});
  });
}

bool same_key(const Assignment& a, const Assignment& b) { return a.section == b.section && a.key == b.key; }

/// The last assignment of the same key as `like`; null without one.
const Assignment* last_of(const std::vector<Assignment>& all, const Assignment& like) {
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const auto& one) { return same_key(one, like); });
  return found == all.rend() ? nullptr : &*found;
}

}  // namespace

std::string unit_path(std::string_view name) { return std::string(kUnitDirectory) + "/" + std::string(name); }

std::string drop_in_path(std::string_view name) { return unit_path(name) + ".d/" + std::string(kDropInFile); }

bool is_template(std::string_view name) {
  const std::size_t at = name.find('@');
  return at != std::string_view::npos && at + 1 == name.rfind('.');
}

std::string template_of(std::string_view name) {
  const std::size_t at = name.find('@');
  const std::size_t dot = name.rfind('.');
  if (at == std::string_view::npos || dot == std::string_view::npos || at + 1 >= dot) return {};
  return std::string(name.substr(0, at + 1)) + std::string(name.substr(dot));
}

bool is_unit_name(std::string_view name) {
  const std::size_t at = name.find('@');
  const std::size_t dot = name.rfind('.');
  return at != 0 && dot != std::string_view::npos && dot != 0 && (at == std::string_view::npos || at < dot);
}

bool can_be_restarted(std::string_view name) { return !name.ends_with(".slice") && !name.ends_with(".target"); }

bool carries_the_connection(std::string_view name) { return std::ranges::find(kCarriers, name) != kCarriers.end(); }

bool may_cut_off(std::string_view name, std::string_view text) {
  if (carries_the_connection(name)) return true;
  if (std::ranges::find(kFilters, name) != kFilters.end()) return true;
  const auto is_part = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_part(text[end])) ++end;
    if (std::ranges::find(kNetworkPrograms, text.substr(i, end - i)) != kNetworkPrograms.end()) return true;
    i = end == i ? i + 1 : end;
  }
  return false;
}

std::string render(std::string_view text) {
  std::string file = ownership_header() + std::string(text);
  if (!file.ends_with('\n')) file += '\n';
  return file;
}

std::string without_header(std::string_view file) {
  if (is_ours(file)) file.remove_prefix(ownership_header().size());
  return std::string(file);
}

bool is_ours(std::string_view file) { return file.starts_with(ownership_header()); }

std::vector<Assignment> parse_unit(std::string_view text) {
  std::vector<Assignment> assignments;
  for_each_assignment(text, [&](const AssignmentView& one) {
    assignments.push_back({std::string(one.section), std::string(one.key), std::string(one.value), one.line});
  });
  return assignments;
}

std::optional<Assignment> first_assignment(std::string_view text) {
  std::optional<Assignment> first;
  for_each_assignment(text, [&](const AssignmentView& one) {
    if (!first) first = Assignment{std::string(one.section), std::string(one.key), std::string(one.value), one.line};
  });
  return first;
}

std::set<std::string_view> dependencies_among(const std::set<std::string_view>& units, std::string_view text) {
  static constexpr std::array<std::string_view, 6> kKeys{"After", "BindsTo", "Requires", "Requisite", "Unit", "Wants"};
  std::set<std::string_view> found;
  for_each_assignment(text, [&](const AssignmentView& one) {
    if (one.section == "Install" || std::ranges::find(kKeys, one.key) == kKeys.end()) return;
    std::string_view rest = one.value;
    while (!rest.empty()) {
      const std::size_t blank = std::min(rest.find(' '), rest.size());
      if (const auto unit = units.find(rest.substr(0, blank)); unit != units.end()) found.insert(*unit);
      rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
  });
  return found;
}

bool can_be_enabled(std::string_view text) {
  bool found = false;
  for_each_assignment(text, [&](const AssignmentView& one) {
    const bool links = one.key == "WantedBy" || one.key == "RequiredBy" || one.key == "UpheldBy" || one.key == "Alias";
    found = found || (one.section == "Install" && !one.value.empty() && links);
  });
  return found;
}

std::optional<Assignment> defeating(std::string_view ours, std::string_view later) {
  const std::vector<Assignment> our_own = parse_unit(ours);
  const std::vector<Assignment> theirs = parse_unit(later);
  for (const Assignment& one : theirs) {
    const Assignment* our_last = last_of(our_own, one);
    if (our_last == nullptr || our_last->value.empty() || one.section == "Install") continue;
    const Assignment* their_last = last_of(theirs, one);
    if (their_last->value == our_last->value) continue;
    if (one.value.empty() || is_single_valued(one.key)) return *their_last;
  }
  return std::nullopt;
}

}  // namespace sparkplan::systemd_unit
