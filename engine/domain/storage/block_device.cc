#include "engine/domain/storage/block_device.h"

#include <chrono>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kQueryDeadline{20};
constexpr std::chrono::milliseconds kPause{100};
constexpr int kPauses = 10;

/// Opens a block device exclusively. Source: open(2), O_EXCL without O_CREAT.
constexpr const char* kOpenAlone =
    "use Errno; use Fcntl; exit(0) if sysopen(my $device, $ARGV[0], O_RDONLY | O_EXCL); "
    "exit(16) if $!{EBUSY}; print STDERR \"$!\"; exit(1)";

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
