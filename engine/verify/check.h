#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

/// The rungs of the ladder, lowest first.
enum class Level : std::uint8_t { kLink, kMtu, kSsh, kTcp, kRdma, kNccl, kStorage };
/// "link", "mtu", "ssh", "tcp", "rdma", "nccl", "storage".
std::string_view to_string(Level level);
std::optional<Level> level_from(std::string_view name);
/// In their order.
const std::vector<Level>& all_levels();
/// `level` and those below that it cannot do without, in their order.
std::vector<Level> levels_for(Level level);

enum class CheckStatus : std::uint8_t {
  kPass,
  kWarn,
  kFail,
  kSkip,  ///< Not looked at.
};
/// "pass", "warn", "fail", "skip".
std::string_view to_string(CheckStatus status);

/// One thing that was looked at, and what was seen.
struct Check {
  /// LEVEL/NODE[/PEER][/WHAT]: "mtu/spark-01/spark-02/A", "rdma/spark-01/spark-02/A/bandwidth",
  /// "nccl/all/all_reduce".
  std::string id;
  Level level = Level::kLink;
  std::vector<std::string> nodes;  ///< Of a check with a direction: from, to.
  CheckStatus status = CheckStatus::kSkip;
  /// What was looked at and seen, one line, without status, nodes and `value`: what is equal of several
  /// checks is shown once, with all their nodes and the range of their values.
  std::string text;
  std::optional<double> value;
  std::string unit;                 ///< Of `value` and `threshold`: "Gb/s", "GB/s", "us", "bytes".
  std::optional<double> threshold;  ///< What `value` is held against, where there is such a thing.
  std::string cause;                ///< Of a failure always; of a skipped check the reason.
  std::string fix;                  ///< Of a failure always.

  bool operator==(const Check&) const = default;
};

/// Gives a check the words of a row of the doctor's table. `details` says which one it is, here: put in
/// front of the cause.
void diagnose(Check& check, CheckStatus status, std::string_view row, const std::string& details = {});
/// A check that was not made.
Check skipped(std::string id, Level level, std::vector<std::string> nodes, std::string reason);

}  // namespace sparkplan
