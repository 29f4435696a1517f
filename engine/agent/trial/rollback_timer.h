#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"

namespace sparkplan {

/// Rolls a change back without a controller: a systemd timer for the end of the window, and a unit for a boot within
/// it. Implementations: SystemdRollbackTimer, and one for tests.
class RollbackTimer {
 public:
  virtual ~RollbackTimer() = default;

  /// Starts `program --rollback run` after `window`, even if this process has ended. A second call for the same run
  /// sets a new end. Errors: kUnsupported if it cannot be started; kFailed if the timer does not wait as expected.
  virtual Result<void> start(const std::string& run, const std::filesystem::path& program, std::chrono::seconds window,
                             LocalNode& node) = 0;
  /// Starts `program --recover run` at the next boot, before the network.
  virtual Result<void> guard_boot(const std::string& run, const std::filesystem::path& program, LocalNode& node) = 0;
  /// Removes the timer and the unit; missing ones are no failure.
  virtual Result<void> stop(const std::string& run, LocalNode& node) = 0;
};

/// Source: systemd-run(1), systemd.timer(5); tested with systemd 252 and 255.
class SystemdRollbackTimer final : public RollbackTimer {
 public:
  Result<void> start(const std::string& run, const std::filesystem::path& program, std::chrono::seconds window,
                     LocalNode& node) override;
  Result<void> guard_boot(const std::string& run, const std::filesystem::path& program, LocalNode& node) override;
  Result<void> stop(const std::string& run, LocalNode& node) override;
};

}  // namespace sparkplan
