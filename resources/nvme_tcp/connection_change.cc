#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <vector>

#include "engine/core/text.h"
#include "engine/domain/storage/storage.h"
#include "engine/resource/systemd_units.h"
#include "resources/nvme_tcp/connection_state.h"
#include "resources/nvme_tcp/connection_unit.h"

namespace sparkplan::nvme_tcp {
namespace {

constexpr std::chrono::seconds kDeadline{60};
constexpr std::chrono::milliseconds kPause{100};
constexpr int kPauses = 50;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool has_one_of(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return has(text, part); });
}

enum class Cause { kUnknown, kNoModule, kOtherSubsystem, kRefused, kNothingListens, kSilent, kTookTooLong };

/// Source: nvmf_log_connect_error() in drivers/nvme/host/fabrics.c, and the errno of connect(2) behind
/// "failed to connect socket".
Cause cause_in(std::string_view line) {
  if (has(line, "modprobe: FATAL")) return Cause::kNoModule;
  if (has(line, kNamesAnother)) return Cause::kOtherSubsystem;
  if (has_one_of(line, {"Connect Invalid", "Invalid Data Param", "rejected", "DNR", "Invalid Host"})) {
    return Cause::kRefused;
  }
  if (has_one_of(line, {"error=-111", "socket: -111", "onnection refused"})) return Cause::kNothingListens;
  if (has(line, "operation timed out")) return Cause::kTookTooLong;
  if (has_one_of(line, {"socket: -1", "timed out", "timeout", "No route", "unreachable"})) return Cause::kSilent;
  return Cause::kUnknown;
}

/// The cause in the latest line that has one. Lines about other subsystems, and lines of an earlier start, do not
/// count.
Cause latest_cause(const std::string& lines, const std::string& subsystem) {
  const auto all = split_lines(lines);
  for (auto line = all.rbegin(); line != all.rend(); ++line) {
    const bool about_another = has(*line, "subsysnqn \"") && !has(*line, "subsysnqn \"" + subsystem + "\"");
    const Cause cause = about_another ? Cause::kUnknown : cause_in(*line);
    if (cause != Cause::kUnknown) return cause;
    if (line->starts_with("Starting ")) break;
  }
  return Cause::kUnknown;
}

/// The last line that systemd did not write itself; empty without one.
std::string last_line_of_program(const std::string& messages, const std::string& unit) {
  std::string_view last;
  for (const std::string_view line : split_lines(messages)) {
    const bool of_systemd =
        line.starts_with("Starting ") || line.starts_with("Failed to start ") || line.starts_with(unit + ": ");
    if (!of_systemd) last = trim(line);
  }
  return printable(last);
}

/// `error` with the cause of a failed connection and a hint for the user. The cause is in the unit's messages, or else
/// in the kernel's.
Error explained(Error error, const std::string& subsystem, const Server& server, const std::string& of_unit,
                const std::string& of_kernel) {
  const std::string port = std::to_string(server.port);
  const std::string place = server.address + " port " + port;
  Cause cause = latest_cause(of_unit, subsystem);
  // systemd's words about the unit say nothing about the server.
  if (cause == Cause::kUnknown || cause == Cause::kTookTooLong) {
    const Cause of_server = latest_cause(of_kernel, subsystem);
    if (of_server != Cause::kUnknown) cause = of_server;
  }
  switch (cause) {
    case Cause::kNoModule:
      error.message = "the running kernel has no module nvme-tcp";
      error.hint = "on Ubuntu it comes with linux-modules-extra-$(uname -r); after a kernel upgrade, reboot first";
      break;
    case Cause::kOtherSubsystem:
      error.message = "the server at " + place + " names another subsystem than " + subsystem +
                      ": it could take the place of another server";
      error.hint = "the connection was closed; see what that machine runs as its NVMe target";
      break;
    case Cause::kRefused:
      error.message = "the server at " + place + " refuses " + subsystem;
      error.hint = "it offers no such subsystem, or does not allow this host: compare with `nvme discover -t tcp -a " +
                   server.address + " -s " + port + "` and with /etc/nvme/hostnqn";
      break;
    case Cause::kNothingListens:
      error.message = "nothing listens at " + place;
      error.hint = "check that the NVMe target runs there and listens on that TCP port";
      break;
    case Cause::kSilent:
      error.message = "the server at " + place + " does not answer";
      error.hint = "check that it is on: `ping " + server.address + "` from the node; a firewall may drop port " + port;
      break;
    case Cause::kTookTooLong:
      error.message = "no connection to the server at " + place + " within the unit's time";
      error.hint =
          "the kernel makes one connection at a time, so another slow NVMe server of this node delays this one: "
          "compare `systemctl status 'sparkplan-nvme-*'`, and `ping " +
          server.address + "` from the node";
      break;
    case Cause::kUnknown:
      if (const std::string line = last_line_of_program(of_unit, nvme_unit_name(subsystem)); !line.empty()) {
        error.message += ": " + line;
      }
  }
  return error;
}

/// The beginnings of lines about controllers of another server, or of disks in the node. An unknown controller is none
/// of those: after a failed first attempt, the kernel removes it.
std::vector<std::string> marks_of_others(const std::string& subsystem, const Server& server, const NodeReader& node) {
  std::vector<std::string> marks;
  const auto all = controllers(node);
  if (!all) return marks;
  for (const Controller& one : *all) {
    const bool at_server =
        one.address_part("traddr") == server.address && one.address_part("trsvcid") == std::to_string(server.port);
    if (!at_server && one.subsystem != subsystem) marks.push_back("nvme " + one.name + ":");
  }
  return marks;
}

/// The kernel's lines about NVMe, without those about controllers of others. The lines that name the subsystem are the
/// last ones: others can be about any server.
std::string lines_about_nvme(const std::string& text, const std::string& subsystem, const Server& server,
                             const NodeReader& node) {
  const auto others = marks_of_others(subsystem, server, node);
  std::string lines;
  std::string naming;
  for (const std::string_view line : split_lines(text)) {
    const bool of_another = std::ranges::any_of(others, [&](const std::string& mark) { return has(line, mark); });
    if (has(line, "nvme") && !of_another)
      (has(line, "\"" + subsystem + "\"") ? naming : lines) += std::string(line) + "\n";
  }
  return lines + naming;
}

Result<bool> has_nvme_program(const NodeReader& node) {
  static constexpr std::array<const char*, 3> kPaths{"/usr/sbin/nvme", "/usr/bin/nvme", "/sbin/nvme"};
  for (const char* path : kPaths) {
    SPARK_TRY(const bool there, node.is_there(path));
    if (there) return true;
  }
  return false;
}

class ConnectionChange {
 public:
  ConnectionChange(const std::string& subsystem, const ConnectionState& now, WantedUnitState wanted, Node& node)
      : subsystem_(subsystem), unit_(nvme_unit_name(subsystem)), now_(now), wanted_(std::move(wanted)), node_(node) {}

  Result<void> carry_out() {
    if (now_.connected() && !wants_connection()) SPARK_CHECK(disconnect());
    if (!wanted_.content) {
      // Stopping the unit also ends its retries.
      const bool tries = node_.live() && now_.unit.ours() && !wants_connection();
      if (tries) SPARK_CHECK(systemctl("stop", unit_, node_));
      return remove_unit(unit_, now_.unit, node_);
    }
    SPARK_CHECK(write_unit(unit_, *wanted_.content, wanted_.enabled, now_.unit, node_));
    if (!node_.live()) return {};
    return wants_connection() ? connect() : systemctl("stop", unit_, node_);
  }

 private:
  bool wants_connection() const { return !wanted_.state.empty() && wanted_.state != state::kNotConnected; }

  Result<void> refuse_if_used() {
    SPARK_TRY(const auto users, users_of(subsystem_, false, node_));
    if (users.empty()) return {};
    return failure(in_use(subsystem_, users));
  }

  Result<void> disconnect() {
    SPARK_CHECK(refuse_if_used());
    if (now_.unit.ours()) SPARK_CHECK(systemctl("stop", unit_, node_));
    SPARK_TRY(ConnectionState after, look_at_connection(subsystem_, node_));
    if (after.connected()) {
      // Stopping the unit does not disconnect: see render_unit().
      const std::vector<std::string> argv{"nvme", "disconnect", "--nqn=" + subsystem_};
      SPARK_TRY(const CommandOutput output, node_.run(argv, kDeadline));
      if (output.exit_status != 0) {
        return failure(ErrorCode::kFailed, "nvme disconnect: " + std::string(trim(output.standard_error)));
      }
    }
    for (int pause = 0; pause < kPauses; ++pause) {
      SPARK_TRY(after, look_at_connection(subsystem_, node_));
      if (!after.connected()) return {};
      node_.pause(kPause);
    }
    return failure(ErrorCode::kVerifyFailed, subsystem_ + " is still connected after it was disconnected",
                   "`nvme list-subsys` shows its controllers");
  }

  Result<void> connect() {
    SPARK_TRY(const bool has_program, has_nvme_program(node_));
    if (!has_program) {
      return failure(ErrorCode::kNotFound, "there is no program nvme on this node",
                     "install nvme-cli, for example with `packages: [nvme-cli]` in cluster.yaml");
    }
    SPARK_TRY(const ConnectionState before, look_at_connection(subsystem_, node_));
    if (before.state.starts_with(state::kElsewhere)) {
      // Our unit may not have made this connection. Stopping the unit would leave it connected.
      SPARK_CHECK(disconnect());
    }
    reload_rules();
    static_cast<void>(systemctl("reset-failed", unit_, node_));
    const std::string since = journal_time(node_);
    if (Result<void> started = systemctl("start", unit_, node_); !started) {
      return failure(why_not(std::move(started).error(), since));
    }
    ConnectionState after;
    for (int pause = 0; pause < kPauses; ++pause) {
      SPARK_TRY(after, look_at_connection(subsystem_, node_));
      if (after.state == state::kConnected || after.state == state::kReconnecting) return make_links();
      node_.pause(kPause);
    }
    return failure(why_not({ErrorCode::kVerifyFailed, subsystem_ + " is still " + after.state, {}, {}, ""}, since));
  }

  /// `error` with its cause. Messages before `since` belong to an earlier start.
  Error why_not(Error error, const std::string& since) const {
    const auto server = server_in(*wanted_.content);
    const std::string of_unit = last_messages(unit_, since, node_);
    if (server) {
      const std::string of_kernel = lines_about_nvme(last_messages({}, since, node_), subsystem_, *server, node_);
      error = explained(std::move(error), subsystem_, *server, of_unit, of_kernel);
    }
    if (error.hint.empty()) error.hint = "journalctl -u " + unit_ + " shows details";
    return error;
  }

  /// udev does not notice new rules immediately.
  void reload_rules() {
    const std::vector<std::string> argv{"udevadm", "control", "--reload"};
    static_cast<void>(node_.run(argv, kDeadline));
  }

  /// A device that is older than our rule has no link from it yet.
  Result<void> make_links() {
    const std::string prefix = std::string(kNvmeLinkPrefix.substr(kNvmeLinkPrefix.rfind('/') + 1)) + subsystem_ + "-";
    const auto names = node_.list_directory("/dev/disk/by-id");
    const bool there =
        names && std::ranges::any_of(*names, [&](const std::string& name) { return name.starts_with(prefix); });
    if (there) return {};
    const std::vector<std::string> argv{"udevadm", "trigger", "--settle", "--subsystem-match=block",
                                        "--sysname-match=nvme*"};
    static_cast<void>(node_.run(argv, kDeadline));
    return {};
  }

  const std::string& subsystem_;
  std::string unit_;
  const ConnectionState& now_;
  WantedUnitState wanted_;
  Node& node_;
};

}  // namespace

Error in_use(const std::string& subsystem, const std::vector<std::string>& users) {
  return make_error(ErrorCode::kRefused, subsystem + " is in use by " + join(users, ", "),
                    "unmount it first: disconnecting a mounted volume loses written data");
}

Result<void> make_connection(const std::string& subsystem, const Observation& after, Node& node) {
  SPARK_TRY(const ConnectionState now, look_at_connection(subsystem, node));
  return ConnectionChange(subsystem, now, wanted_unit_state(after), node).carry_out();
}

}  // namespace sparkplan::nvme_tcp
