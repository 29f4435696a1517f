#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/model/host_facts.h"

namespace sparkplan {

/// Reduces any number of routes to a few. If there are too many, neighbouring routes through one interface are merged
/// into one entry (RouteFacts::stands_for). Addresses outside all entries are certainly free. Private ranges, which
/// fabrics use, are merged last and never with other ranges. So the million routes of an Internet router do not hide a
/// free fabric subnet. For IPv6, only the default routes and one entry per interface are then kept.
class RouteMerger {
 public:
  explicit RouteMerger(std::size_t most) : most_(most) {}

  void add(RouteFacts route);
  /// The routes as added, if there are at most `most`; else the merged routes. Nothing if even the merged routes are
  /// more than `most`.
  std::optional<std::vector<RouteFacts>> take() &&;

 private:
  void fit();
  void merge();

  std::size_t most_;
  std::size_t level_ = 0;  ///< How far they are merged already.
  bool too_many_ = false;
  std::vector<RouteFacts> routes_;
};

}  // namespace sparkplan
