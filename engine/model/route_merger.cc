#include "engine/model/route_merger.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

/// RFC 1918, RFC 3927 and RFC 6598.
constexpr std::array<Ipv4Network, 5> kPrivate{
    {{{0x0A000000}, 8}, {{0xAC100000}, 12}, {{0xC0A80000}, 16}, {{0xA9FE0000}, 16}, {{0x64400000}, 10}}};

/// The length of the networks within which routes are merged.
struct Level {
  int others;
  int of_private;
};
constexpr std::array<Level, 9> kLevels{
    {{32, 32}, {24, 32}, {16, 32}, {8, 32}, {8, 24}, {8, 20}, {8, 16}, {8, 12}, {8, 8}}};

Ipv4Network widened(const Ipv4Network& network, int length) {
  return Ipv4Interface{network.base, std::min(length, network.prefix_length)}.network();
}

/// The network within which this one may be merged.
Ipv4Network cell_of(const Ipv4Network& network, const Level& level) {
  for (const Ipv4Network& range : kPrivate) {
    if (range.contains(network)) return widened(network, std::max(level.of_private, range.prefix_length));
  }
  const auto touches_private = [](const Ipv4Network& cell) {
    return std::any_of(kPrivate.begin(), kPrivate.end(), [&](const auto& range) { return range.overlaps(cell); });
  };
  int length = level.others;
  while (length < network.prefix_length && touches_private(widened(network, length))) ++length;
  return widened(network, length);
}

/// The smallest network that contains both.
Ipv4Network common_network(const Ipv4Network& one, const Ipv4Network& other) {
  Ipv4Network common = one;
  while (!common.contains(other)) common = widened(common, common.prefix_length - 1);
  return common;
}

/// Merges the second entry into the first.
void absorb(RouteFacts& one, const RouteFacts& other) {
  const auto a = parse_ipv4_network(one.destination);
  const auto b = parse_ipv4_network(other.destination);
  const bool both_known = a && b;
  // A route occupies all of its network.
  if (both_known && one.stands_for == 1 && a->contains(*b)) return;
  if (both_known && other.stands_for == 1 && b->contains(*a)) {
    one = other;
    return;
  }
  if (one.stands_for == 1) {
    RouteFacts several;
    several.interface = one.interface;
    several.destination = one.destination;
    several.link_down = one.link_down;
    one = std::move(several);
  }
  one.stands_for += other.stands_for;
  if (both_known && !a->contains(*b)) one.destination = common_network(*a, *b).str();
}

}  // namespace

void RouteMerger::add(RouteFacts route) {
  if (too_many_) return;
  routes_.push_back(std::move(route));
  // Merging on every call would be too slow for a million routes.
  if (routes_.size() > 2 * most_) fit();
}

std::optional<std::vector<RouteFacts>> RouteMerger::take() && {
  if (routes_.size() > most_) fit();
  if (too_many_) return std::nullopt;
  return std::move(routes_);
}

/// Reduces the routes to at most `most_`, by merging as few as needed.
void RouteMerger::fit() {
  merge();
  while (routes_.size() > most_ && level_ + 1 < kLevels.size()) {
    ++level_;
    merge();
  }
  too_many_ = routes_.size() > most_;
}

void RouteMerger::merge() {
  std::map<std::string, RouteFacts> by_cell;
  for (const RouteFacts& route : routes_) {
    std::string cell = route.interface + (route.link_down ? " down " : " up ");
    if (const auto network = parse_ipv4_network(route.destination)) {
      cell += cell_of(*network, kLevels[level_]).str();
    } else if (route.destination == "::/0") {
      cell += route.destination;
    }
    const auto [place, first] = by_cell.try_emplace(std::move(cell), route);
    if (!first) absorb(place->second, route);
  }
  routes_.clear();
  for (auto& [cell, route] : by_cell) routes_.push_back(std::move(route));
}

}  // namespace sparkplan
