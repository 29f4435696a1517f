#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/model/host_facts.h"

namespace sparkplan {

/// Takes any number of routes and gives back a few. Where there are too many, neighbours that go through one interface
/// become one entry (RouteFacts::stands_for): what such entries leave free is free for certain. Addresses of private
/// ranges, where fabrics are, are merged last and never with others, so that a router of the Internet's million routes
/// can have one. Of IPv6 one entry of each interface is kept then, and the default routes.
class RouteMerger {
 public:
  explicit RouteMerger(std::size_t most) : most_(most) {}

  void add(RouteFacts route);
  /// As they were added, where that is no more than `most`. Nothing where even what they are merged to is.
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
