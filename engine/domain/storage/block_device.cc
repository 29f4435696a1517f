#include "engine/domain/storage/block_device.h"

#include <chrono>
#include <optional>
#include <vector>

#include "engine/core/text.h"
#include "engine/domain/storage/nvme_address.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kQueryDeadline{20};
constexpr std::chrono::milliseconds kPause{100};
constexpr int kPauses = 10;

/// Opens a block device exclusively. Source: open(2), O_EXCL without O_CREAT.
constexpr const char* kOpenAlone =
    "use Errno; use Fcntl; exit(0) if sysopen(my $device, $ARGV[0], O_RDONLY | O_EXCL); "
    "exit(16) if $!{EBUSY}; print STDERR \"$!\"; exit(1)";

/// Without a subsystem: the servers of all.
Result<void> add_servers_of(const std::optional<std::string>& subsystem, const NodeReader& node,
                            std::set<std::string>& servers) {
  const std::string all = "/sys/class/nvme";
  SPARK_TRY(const auto controllers, or_empty(node.list_directory(all)));
  for (const std::string& controller : controllers) {
    if (subsystem) {
      SPARK_TRY(const std::string nqn, or_empty(node.read_file(all + "/" + controller + "/subsysnqn")));
      if (trim(nqn) != *subsystem) continue;
    }
    SPARK_TRY(const std::string address, or_empty(node.read_file(all + "/" + controller + "/address")));
    std::string server = part_of_nvme_address(address, "traddr");
    if (!server.empty()) servers.insert(std::move(server));
  }
  return {};
}

}  // namespace

Result<std::string> whole_disk_of(const std::string& name, const NodeReader& node) {
  SPARK_TRY(const bool is_partition, node.is_there("/sys/class/block/" + name + "/partition"));
  if (!is_partition) return name;
  // "nvme1n1p2": a disk whose name ends in a digit has a "p" before the number.
  return name.substr(0, name.rfind('p'));
}

Result<std::string> subsystem_behind(const std::string& device, const NodeReader& node) {
  std::string name = device.substr(device.rfind('/') + 1);
  if (!name.starts_with("nvme")) return std::string();
  SPARK_TRY(name, whole_disk_of(name, node));
  SPARK_TRY(const std::string nqn, or_empty(node.read_file("/sys/class/block/" + name + "/device/subsysnqn")));
  return std::string(trim(nqn));
}

Result<std::set<std::string>> servers_behind(const std::string& name, const NodeReader& node) {
  std::set<std::string> servers;
  std::set<std::string> seen;
  std::vector<std::string> waiting{name};
  while (!waiting.empty()) {
    const std::string device = std::move(waiting.back());
    waiting.pop_back();
    if (!seen.insert(device).second) continue;
    // "md127p1": only the whole disk lists its parts.
    SPARK_TRY(const std::string whole, whole_disk_of(device, node));
    SPARK_TRY(const auto parts, or_empty(node.list_directory("/sys/class/block/" + whole + "/slaves")));
    waiting.insert(waiting.end(), parts.begin(), parts.end());
    SPARK_TRY(const std::string subsystem, subsystem_behind(device, node));
    if (!subsystem.empty()) SPARK_CHECK(add_servers_of(subsystem, node, servers));
  }
  return servers;
}

Result<std::set<std::string>> nvme_servers(const NodeReader& node) {
  std::set<std::string> servers;
  SPARK_CHECK(add_servers_of(std::nullopt, node, servers));
  return servers;
}

Result<bool> is_held(const std::string& path, const NodeReader& node) {
  SPARK_TRY(const bool there, node.is_there(path));
  if (!there) return false;
  const std::vector<std::string> argv{"perl", "-e", kOpenAlone, "--", path};
  constexpr int kHeld = 16;
  CommandOutput output;
  for (int pause = 0; pause < kPauses; ++pause) {
    SPARK_TRY(output, node.query(argv, kQueryDeadline));
    if (output.exit_status != kHeld) break;
    node.pause(kPause);
  }
  if (output.exit_status == 0 || output.exit_status == kHeld) return output.exit_status == kHeld;
  return failure(ErrorCode::kFailed,
                 "cannot determine whether " + path + " is in use: " + std::string(trim(output.standard_error)),
                 "sparkplan does not remove a device that may be in use");
}

}  // namespace sparkplan
