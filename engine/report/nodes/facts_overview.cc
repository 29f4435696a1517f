// The facts of a node that fit a line each.
#include <fmt/core.h>

#include <array>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/report/nodes/facts_report.h"

namespace sparkplan {
namespace {

/// The texts that are not empty, with ", " between them.
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    if (!text.empty()) all += (all.empty() ? "" : ", ") + text;
  }
  return all;
}

std::string with(std::string_view before, const std::string& text) {
  return text.empty() ? "" : std::string(before) + text;
}

std::string machine_text(const Facts& facts) {
  const HostFacts& host = facts.host;
  return joined({facts.product, host.vendor, with("board ", host.board)});
}

std::string memory_text(const Facts& facts) {
  const HostFacts& host = facts.host;
  std::string text = facts.memory_total_bytes > 0 ? bytes_text(facts.memory_total_bytes) : "";
  if (host.cma_total) text = joined({text, "CMA " + bytes_text(*host.cma_total)});
  return text;
}

std::string free_memory_text(const HostFacts& host) {
  return joined({host.memory_available ? bytes_text(*host.memory_available) : "",
                 host.cma_free ? "CMA " + bytes_text(*host.cma_free) : ""});
}

std::string uptime_text(std::int64_t seconds) {
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  if (hours >= 24) return fmt::format("{} d {} h", hours / 24, hours % 24);
  return hours > 0 ? fmt::format("{} h {} min", hours, minutes % 60) : fmt::format("{} min", minutes);
}

/// "8 MiB" for a number of bytes; other texts, such as "unlimited", as they are.
std::string limit_text(const std::string& limit) {
  const auto bytes = parse_number(limit);
  return bytes ? bytes_text(*bytes) : limit;
}

std::string login_text(const LoginFacts& login) {
  std::string sudo;
  if (login.sudo_without_password) sudo = *login.sudo_without_password ? "sudo without password" : "sudo with password";
  const std::string soft = login.locked_memory_soft;
  const std::string hard = login.locked_memory_hard;
  std::string memlock = with("memlock ", limit_text(soft));
  if (!soft.empty() && soft != hard) memlock += " (hard " + limit_text(hard) + ")";
  const std::string linger = login.linger && *login.linger ? "lingering" : "";
  return joined({login.user, sudo, memlock, linger});
}

void add_extended(const ExtendedFacts& facts, std::vector<FactLine>& lines) {
  lines.push_back({"Login", login_text(facts.login)});
  if (facts.clock_synchronised)
    lines.push_back({"Clock", *facts.clock_synchronised ? "synchronised" : "not synchronised"});
  if (facts.removes_ipc) lines.push_back({"RemoveIPC", *facts.removes_ipc ? "yes" : "no"});
  if (facts.firewall) lines.push_back({"Firewall", with("ufw ", facts.firewall->ufw)});
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  struct Unit {
    std::string_view name;
    std::int64_t size;
  };
  constexpr std::array kUnits{Unit{"TiB", std::int64_t{1} << 40}, Unit{"GiB", std::int64_t{1} << 30},
                              Unit{"MiB", std::int64_t{1} << 20}, Unit{"KiB", std::int64_t{1} << 10}};
  for (const Unit& unit : kUnits) {
    if (bytes < unit.size) continue;
    if (bytes % unit.size == 0) return fmt::format("{} {}", bytes / unit.size, unit.name);
    return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit.size), unit.name);
  }
  return fmt::format("{} bytes", bytes);
}

std::vector<FactLine> facts_overview(const Facts& facts) {
  const HostFacts& host = facts.host;
  std::vector<FactLine> lines{
      {"Machine", machine_text(facts)},
      {"Firmware", joined({host.bios_version, host.bios_date})},
      {"OS", facts.os_name},
      {"Kernel", joined({facts.kernel, facts.architecture})},
      {"Options", host.kernel_command_line},
      {"Memory", memory_text(facts)},
      {"Free", free_memory_text(host), true},
      {"GPU driver", host.gpu_driver},
      {"NCCL", facts.nccl_version},
      {"Network", join(host.renderers, ", ")},
  };
  if (facts.extended) add_extended(*facts.extended, lines);
  lines.push_back({"Host name", facts.hostname, true});
  if (facts.uptime_seconds > 0) lines.push_back({"Up", uptime_text(facts.uptime_seconds), true});
  lines.push_back({"Reached at", facts.ssh_server_address, true});
  lines.push_back({"Machine id", facts.machine_id, true});
  lines.push_back({"NVMe host", host.nvme_host_nqn, true});
  for (const HostKeyFacts& key : host.host_keys) lines.push_back({"Host key", key.type + " " + key.fingerprint, true});
  if (!facts.live) lines.push_back({"State", "a directory tree: no kernel, no links, no units"});
  std::erase_if(lines, [](const FactLine& line) { return line.text.empty(); });
  for (FactLine& line : lines) line.text = printable(line.text);
  return lines;
}

}  // namespace sparkplan
