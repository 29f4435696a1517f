#include "engine/domain/storage/block_device.h"

#include <chrono>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kQueryDeadline{20};
constexpr std::chrono::milliseconds kPause{100};
constexpr int kPauses = 10;

/// Opens a block device as nobody can who shares it. Source: open(2), O_EXCL without O_CREAT.
constexpr const char* kOpenAlone =
    "use Errno; use Fcntl; exit(0) if sysopen(my $device, $ARGV[0], O_RDONLY | O_EXCL); "
    "exit(16) if $!{EBUSY}; print STDERR \"$!\"; exit(1)";

}  // namespace

Result<bool> is_held(const std::string& path, const NodeReader& node) {
  const auto there = node.status(path);
  if (!there && there.error().code == ErrorCode::kNotFound) return false;
  if (!there) return failure(there.error());
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
                 "nobody can tell whether " + path + " is in use: " + std::string(trim(output.standard_error)),
                 "nothing that may be in use is taken away");
}

}  // namespace sparkplan
