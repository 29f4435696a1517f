#include "resources/netplan/network_manager.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "engine/core/text.h"

namespace sparkplan::netplan {
namespace {

constexpr std::chrono::milliseconds kQueryDeadline{10'000};
constexpr std::chrono::milliseconds kDeadline{30'000};
/// An IPv4 link-local address takes five seconds of duplicate detection.
constexpr const char* kActivationSeconds = "15";
/// A profile with addresses of its own becomes active within a second or two.
constexpr const char* kSecondsForOwnAddresses = "5";

/// Exit statuses of nmcli(1).
constexpr int kTimedOut = 3;
constexpr int kNotActivated = 4;
constexpr int kNotThere = 10;
constexpr int kNotRunning = 8;

Error failed(const std::vector<std::string>& argv, const CommandOutput& output) {
  const std::string said(trim(output.standard_error));
  const bool not_active = output.exit_status == kTimedOut || output.exit_status == kNotActivated;
  return make_error(
      not_active ? ErrorCode::kVerifyFailed : ErrorCode::kFailed,
      join(argv, " ") + " failed: " + (said.empty() ? "exit " + std::to_string(output.exit_status) : said),
      "journalctl -u NetworkManager shows details");
}

Result<void> nmcli(const std::vector<std::string>& argv, Node& node) {
  SPARK_TRY(const CommandOutput output, node.run(argv, kDeadline));
  if (output.exit_status == 0) return {};
  return failure(failed(argv, output));
}

/// False if there is no such profile or device, or NetworkManager does not run.
Result<bool> tell_if_there(const std::vector<std::string>& argv, Node& node) {
  SPARK_TRY(const auto output, if_there(node.run(argv, kDeadline)));
  if (!output) return false;
  if (output->exit_status == 0) return true;
  if (output->exit_status == kNotThere || output->exit_status == kNotRunning) return false;
  return failure(failed(argv, *output));
}

/// Begins to activate a profile. Whether it becomes active is not up to this node: a profile may wait for a carrier,
/// for a DHCP server, or for an address that no neighbour uses.
Result<void> begin_to_activate(const std::string& uuid, const std::string& interface, const std::string& seconds,
                               Node& node) {
  const std::vector<std::string> argv{"nmcli", "--wait", seconds,  "connection", "up",
                                      "uuid",  uuid,     "ifname", interface};
  SPARK_TRY(const auto output, if_there(node.run(argv, kDeadline)));
  if (!output) return {};
  constexpr std::array<int, 5> kNoFailure{0, kTimedOut, kNotActivated, kNotThere, kNotRunning};
  return std::ranges::find(kNoFailure, output->exit_status) != kNoFailure.end() ? Result<void>()
                                                                                : failure(failed(argv, *output));
}

/// One line per profile, as words. Empty if NetworkManager is missing or does not run.
Result<std::vector<std::vector<std::string>>> profiles(const std::string& fields, bool active, const NodeReader& node) {
  std::vector<std::string> argv{"nmcli", "-t", "-f", fields, "connection", "show"};
  if (active) argv.emplace_back("--active");
  std::vector<std::vector<std::string>> lines;
  SPARK_TRY(const auto output, if_there(node.query(argv, kQueryDeadline)));
  if (!output || output->exit_status == kNotRunning) return lines;
  if (output->exit_status != 0) return failure(failed(argv, *output));
  for (const std::string_view line : split_lines(output->standard_output)) {
    if (!trim(line).empty()) lines.push_back(terse_words(line));
  }
  return lines;
}

/// NetworkManager also shows a profile for settings made past it.
bool is_read_from_the_kernel(const std::string& file, const NodeReader& node) {
  const auto text = file.empty() ? Result<std::string>(std::string()) : node.read_file(file);
  if (!text) return false;
  const auto lines = split_lines(*text);
  return std::ranges::find(lines, "external=true") != lines.end();
}

/// The UUID of the profile that netplan has generated for the interface, which may start by itself from now on.
/// Errors: kNotFound if NetworkManager does not know it or the interface.
Result<std::string> prepare_generated(const std::string& interface, Node& node) {
  SPARK_TRY(const auto lines, profiles("UUID,FILENAME", false, node));
  const std::string file = generated_for_network_manager(interface);
  const auto ours =
      std::ranges::find_if(lines, [&](const auto& words) { return words.size() == 2 && words[1] == file; });
  if (ours == lines.end()) {
    return failure(ErrorCode::kNotFound, "NetworkManager has not loaded the profile in " + file,
                   "journalctl -u NetworkManager shows why");
  }
  // leave_alone() may still apply: without this, the profile would not start again after the cable was out.
  SPARK_TRY(const bool there, tell_if_there({"nmcli", "device", "set", interface, "autoconnect", "yes"}, node));
  if (!there) return failure(ErrorCode::kNotFound, "NetworkManager does not know the interface " + interface);
  return ours->front();
}

}  // namespace

std::vector<std::string> terse_words(std::string_view line) {
  std::vector<std::string> words(1);
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == ':') {
      words.emplace_back();
    } else {
      if (line[at] == '\\' && at + 1 < line.size()) ++at;
      words.back() += line[at];
    }
  }
  return words;
}

Result<std::optional<Profile>> other_profile_on(const std::string& interface, const NodeReader& node) {
  SPARK_TRY(const auto lines, profiles("UUID,DEVICE,STATE,FILENAME,NAME", true, node));
  for (const auto& words : lines) {
    // A profile that still waits for an address starts and stops automatically.
    if (words.size() < 5 || words[1] != interface || words[2] != "activated") continue;
    if (words[3] == generated_for_network_manager(interface) || is_read_from_the_kernel(words[3], node)) continue;
    return std::optional(Profile{words[0], words[4], words[3]});
  }
  return std::optional<Profile>();
}

std::optional<Error> why_no_network_manager(const std::string& interface, const NodeReader& node) {
  const std::string handed = "netplan gives " + interface + " to NetworkManager, ";
  const std::vector<std::string> argv{"nmcli", "-t", "-f", "RUNNING", "general"};
  const auto output = node.query(argv, kQueryDeadline);
  if (!output && output.error().code == ErrorCode::kNotFound) {
    return make_error(ErrorCode::kUnsupported, handed + "but this node has no nmcli",
                      "install network-manager, or remove `renderer: NetworkManager` from the netplan files");
  }
  if (!output) return output.error();
  if (output->exit_status == 0 && trim(output->standard_output) == "running") return std::nullopt;
  return make_error(ErrorCode::kUnsupported, handed + "which is not running",
                    "start it with `systemctl enable --now NetworkManager`; nothing was written");
}

Result<void> load_profiles(const std::vector<std::string>& files, Node& node) {
  std::vector<std::string> argv{"nmcli", "connection", "load"};
  argv.insert(argv.end(), files.begin(), files.end());
  const auto told = tell_if_there(argv, node);
  return told ? Result<void>() : failure(told.error());
}

Result<void> bring_up_generated(const std::string& interface, Node& node) {
  // By its UUID: a foreign profile may have the same name.
  SPARK_TRY(const std::string uuid, prepare_generated(interface, node));
  return nmcli({"nmcli", "--wait", kActivationSeconds, "connection", "up", "uuid", uuid, "ifname", interface}, node);
}

Result<void> begin_generated(const std::string& interface, Node& node) {
  SPARK_TRY(const std::string uuid, prepare_generated(interface, node));
  return begin_to_activate(uuid, interface, kSecondsForOwnAddresses, node);
}

Result<void> take_down_generated(const std::string& interface, Node& node) {
  SPARK_TRY(const auto lines, profiles("UUID,DEVICE,FILENAME", true, node));
  const std::string file = generated_for_network_manager(interface);
  const auto ours = std::ranges::find_if(
      lines, [&](const auto& words) { return words.size() == 3 && words[1] == interface && words[2] == file; });
  if (ours == lines.end()) return {};
  return nmcli({"nmcli", "--wait", kActivationSeconds, "connection", "down", "uuid", ours->front()}, node);
}

Result<void> bring_up_again(const std::string& uuid, const std::string& interface, Node& node) {
  return begin_to_activate(uuid, interface, "0", node);
}

Result<void> leave_alone(const std::string& interface, Node& node) {
  const std::vector<std::string> argv{"nmcli", "device", "set", interface, "autoconnect", "no"};
  SPARK_TRY(const bool there, tell_if_there(argv, node));
  if (!there) return {};
  SPARK_TRY(const auto lines, profiles("DEVICE,FILENAME", true, node));
  const bool taken = std::ranges::any_of(lines, [&](const auto& words) {
    return words.size() == 2 && words[0] == interface && !is_read_from_the_kernel(words[1], node);
  });
  return taken ? nmcli({"nmcli", "--wait", kActivationSeconds, "device", "disconnect", interface}, node)
               : Result<void>();
}

std::string generated_for_network_manager(const std::string& interface) {
  return "/run/NetworkManager/system-connections/netplan-" + interface + ".nmconnection";
}

}  // namespace sparkplan::netplan
