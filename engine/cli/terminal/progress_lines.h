#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "engine/cli/terminal/screen.h"
#include "engine/fleet/session/fleet_session.h"

namespace sparkplan {

/// The progress of one node while a command runs.
struct NodeProgress {
  std::string node;
  std::string doing;  ///< Safe to print.
  Activity activity = Activity::kWorking;
  std::chrono::milliseconds since{0};  ///< The time since it began.
};

/// Pure. The live lines, in the given order: each narrower than the screen, and fewer than it has rows. If not all
/// nodes fit, working nodes come before failed and waiting ones, and a last line counts the rest.
///   spark-01  applying net.core.rmem_max  3 s
std::vector<std::string> progress_lines(std::span<const NodeProgress> nodes, ScreenSize size, bool color);

/// Pure. One line for output without live lines: "still working after 20 s: spark-01 (connecting)".
std::string sign_of_life(std::span<const NodeProgress> nodes);

}  // namespace sparkplan
