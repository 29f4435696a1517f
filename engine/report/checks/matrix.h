#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/report/text/text_style.h"
#include "engine/verify/check.h"

namespace sparkplan {

/// One measurement between two nodes.
struct PairCell {
  std::optional<double> value;
  std::optional<double> threshold;
  CheckStatus status = CheckStatus::kSkip;
  std::size_t reporter = 0;       ///< The first node of the check: it has measured the value, and could claim any.
  std::optional<double> assured;  ///< The value of the slowest rank of NCCL; else `value`. Nodes are compared by it.
};

/// The number of shades of cells: 0 is as good as expected, the last one is less than half of that.
inline constexpr int kShades = 5;

/// Measurements between pairs of nodes of one level, kind and unit. Rows send, columns receive. A measurement without a
/// direction is in both of its cells.
class PairMatrix {
 public:
  PairMatrix(Level level, std::string what, std::string unit);

  void put(const Check& check);

  Level level() const { return level_; }
  const std::string& what() const { return what_; }
  const std::string& unit() const { return unit_; }
  std::string title() const;  ///< "tcp A, Gb/s"; printable.
  /// In the order of their first appearance.
  const std::vector<std::string>& nodes() const { return nodes_; }
  /// Null: not measured.
  const PairCell* at(std::size_t from, std::size_t to) const;

  /// From 0 to kShades - 1: how far the cell is from its threshold, else from the best cell. `cell` has a value.
  int shade(const PairCell& cell) const;
  /// True if even the best value that the node sends (or `as_receiver`: receives) is more than a tenth worse than the
  /// median of what the other nodes report about each other. Two of them have to report a value, and the node needs two
  /// neighbours: no single other node can make it slow by a claim. Of NCCL, the value of the slowest rank counts, so
  /// there one node that reports is enough. False for fewer than three nodes.
  bool is_slow(std::size_t node, bool as_receiver) const;
  /// True if less is better.
  bool is_time() const { return unit_ == "us"; }

 private:
  std::size_t place_of(const std::string& name);
  void set(std::size_t from, std::size_t to, const PairCell& cell, bool only_if_empty);
  bool is_better(double a, double b) const { return is_time() ? a < b : a > b; }
  double median_of(std::vector<double> values) const;

  Level level_;
  std::string what_;
  std::string unit_;
  std::vector<std::string> nodes_;
  std::vector<std::vector<std::optional<PairCell>>> rows_;  ///< By `from`, then `to`; rows may be short.
  std::optional<double> best_;
};

/// Pure. In the order of the checks. Kinds of checks without a single value have no matrix.
std::vector<PairMatrix> pair_matrices(const std::vector<Check>& checks);

/// Measurements between pairs of nodes as tables. Empty without measurements. With a colour, cells are shaded. A cell
/// is "21.9", "5!" if it failed, "50~" for a warning, "x" for a failure without a value, else "-".
std::string matrices(const std::vector<Check>& checks, const TextStyle& style = {});

}  // namespace sparkplan
