#include "engine/verify/pairs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/fleet/session/fan_out.h"

namespace sparkplan {

// The circle method: one item stays, and the others move on by one place per round.
std::vector<std::vector<NodePair>> rounds_of_pairs(std::size_t count) {
  if (count < 2) return {};
  const std::size_t places = count + count % 2;  // With an odd number, the partner of the last place rests.
  std::vector<std::size_t> circle(places);
  std::iota(circle.begin(), circle.end(), std::size_t{0});
  std::vector<std::vector<NodePair>> rounds;
  for (std::size_t round = 0; round + 1 < places; ++round) {
    std::vector<NodePair> pairs;
    for (std::size_t i = 0; i < places / 2; ++i) {
      const auto [one, other] = std::minmax(circle[i], circle[places - 1 - i]);
      if (other < count) pairs.emplace_back(one, other);
    }
    std::sort(pairs.begin(), pairs.end());
    rounds.push_back(std::move(pairs));
    std::rotate(circle.begin() + 1, circle.end() - 1, circle.end());
  }
  return rounds;
}

void in_rounds(std::size_t count, std::size_t at_once, const std::function<void(std::size_t, std::size_t)>& work,
               const std::function<bool()>& stopped, const std::function<void()>& between) {
  bool first = true;
  for (auto& round : rounds_of_pairs(count)) {
    if (stopped()) return;
    if (!std::exchange(first, false)) between();
    const auto one = [&](const NodePair& pair) {
      if (!stopped()) work(pair.first, pair.second);
    };
    fan_out(round, at_once, one);
  }
}

}  // namespace sparkplan
