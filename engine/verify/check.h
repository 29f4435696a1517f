#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/doctor/check_status.h"
#include "engine/doctor/doctor_table.h"

namespace sparkplan {

/// The levels of `verify`, lowest first.
enum class Level : std::uint8_t { kLink, kMtu, kSsh, kTcp, kRdma, kGpu, kNccl, kStorage };
/// "link", "mtu", "ssh", "tcp", "rdma", "gpu", "nccl", "storage".
std::string_view to_string(Level level);
std::optional<Level> level_from(std::string_view name);
/// Lowest first.
const std::vector<Level>& all_levels();
/// `level` and the lower levels that it needs, lowest first.
std::vector<Level> levels_for(Level level);

/// Why a check cannot be made; empty if it can.
struct Blocker {
  std::string reason;
  std::string check = {};  ///< The id of the failed check that blocks it; empty for any other reason.

  explicit operator bool() const { return !reason.empty(); }
};

/// One measured size of a check.
struct SizePoint {
  std::int64_t bytes = 0;
  double time_us = 0;
  double algbw = 0;  ///< GB/s
  double busbw = 0;  ///< GB/s
  bool in_place = false;

  bool operator==(const SizePoint&) const = default;
};

/// One checked property and its outcome.
struct Check {
  std::string id;  ///< As check_id() makes it.
  Level level = Level::kLink;
  std::vector<std::string> nodes;  ///< For a check with a direction: from, to.
  std::string what;                ///< The id behind level and nodes: "A", "A/bandwidth", "all/all_reduce".
  CheckStatus status = CheckStatus::kSkip;
  /// The property, one line, without status, nodes and `value`. A report shows checks with equal text once, with
  /// all their nodes and the range of their values.
  std::string text;
  std::optional<double> value;
  std::string unit;                 ///< Of `value` and `threshold`: "Gb/s", "GB/s", "us", "bytes", "MHz".
  std::optional<double> threshold;  ///< `value` is compared with it; nothing if no threshold is known.
  std::string cause;                ///< Always set for a failure; for a skipped check, the reason.
  std::string fix;                  ///< Always set for a failure; for a skipped check, how to have it made, if known.
  std::string blocked_by;           ///< The id of the failed check that blocks this one.
  /// All measured sizes, out of place and then in place, each smallest first; empty for a single one.
  std::vector<SizePoint> series = {};
  /// Of a check whose values below the threshold can be warnings: the least such value. Below it, the check fails.
  std::optional<double> warning_from = {};
  bool one_off = false;  ///< Measured with settings of this run alone: neither stored nor compared with earlier values.
  bool reduced = false;  ///< Measured at a smaller size than was asked for: as `one_off`.
  /// `value` as the slowest of several nodes has measured it: no single one of them can make it better. Nothing: one
  /// node has measured `value`.
  std::optional<double> of_slowest = {};

  void block(const Blocker& blocker);
  /// Marks the check as passed, so far without a value.
  void pass(std::string seen);

  bool operator==(const Check&) const = default;
};

/// LEVEL/NODE[/PEER][/WHAT]: "mtu/spark-01/spark-02/A", "rdma/spark-01/spark-02/A/bandwidth", "nccl/all/all_reduce".
std::string check_id(Level level, const std::vector<std::string>& nodes, std::string_view what = {});

/// A check that was not made, the reason, and what the user can do to have it made (may be empty). Every check begins
/// as one.
Check skipped(Level level, std::vector<std::string> nodes, std::string what, std::string reason, std::string fix = {});

/// Adds `more` behind `checks`.
void append(std::vector<Check>& checks, std::vector<Check> more);

/// Fills in the cause and fix of a row of the doctor's table. `details` names the case and precedes the cause.
void diagnose(Check& check, CheckStatus status, RowId row, const std::string& details = {});

/// The longest result of number_text().
inline constexpr std::size_t kLongestNumberText = 11;
/// With as many digits as a measurement justifies: "9000", "93.4", "1.47". A number above 1e9 has three: "1.23e+12".
std::string number_text(double number);

}  // namespace sparkplan
