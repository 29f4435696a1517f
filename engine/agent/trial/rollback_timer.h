#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"

namespace sparkplan {

/// Rolls a change back without a controller: a timer of systemd for the end of the
/// window, and a unit for a boot within it. Implementations: SystemdRollbackTimer, a test's own.
class RollbackTimer {
 public:
  virtual ~RollbackTimer() = default;

  /// Starts `program --rollback run` after `window`, also after our end. Called again for the same run
  /// it gives it a new end. Errors: kUnsupported where nothing could be started; kFailed when it cannot be
  /// seen to wait.
  virtual Result<void> start(const std::string& run, const std::filesystem::path& program, std::chrono::seconds window,
                             LocalNode& node) = 0;
  /// `program --recover run` at the next boot, before there is a network.
  virtual Result<void> guard_boot(const std::string& run, const std::filesystem::path& program, LocalNode& node) = 0;
  /// No timer and no unit is left; there being none is no failure.
  virtual Result<void> stop(const std::string& run, LocalNode& node) = 0;
};

/// Source: systemd-run(1), systemd.timer(5); tried with systemd 252 and 255.
class SystemdRollbackTimer final : public RollbackTimer {
 public:
  Result<void> start(const std::string& run, const std::filesystem::path& program, std::chrono::seconds window,
                     LocalNode& node) override;
  Result<void> guard_boot(const std::string& run, const std::filesystem::path& program, LocalNode& node) override;
  Result<void> stop(const std::string& run, LocalNode& node) override;
};

}  // namespace sparkplan
