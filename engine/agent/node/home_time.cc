#include "engine/agent/node/home_time.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostNamed = 3;

std::string in_tenths(milliseconds time) {
  const auto tenths = time.count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

milliseconds HomeTime::taken_by(const std::filesystem::path& home) const {
  const auto found = taken_.find(home);
  return found == taken_.end() ? milliseconds(0) : found->second.time;
}

milliseconds HomeTime::left_for(const std::filesystem::path& home) const {
  const milliseconds taken = taken_by(home);
  const milliseconds left_by_others = whole_ - (taken_by_all_ - taken);
  return std::max(left_by_others / 8, whole_ / 100) - taken;
}

void HomeTime::add(const UserPath& path, milliseconds took) {
  taken_by_all_ += took;
  Taken& taken = taken_[path.home];
  taken.time += took;
  taken.served_by = path.served_by;
}

Error HomeTime::used_up(const UserPath& path) const {
  std::vector<std::pair<milliseconds, std::string>> others;
  for (const auto& [home, taken] : taken_) {
    if (home == path.home || taken.time < whole_ / 20) continue;
    others.emplace_back(taken.time, home.string() + " (" + in_tenths(taken.time) + ", on " + taken.served_by + ")");
  }
  std::ranges::sort(others, std::ranges::greater());
  if (others.size() > kMostNamed) others.resize(kMostNamed);
  std::vector<std::string> names;
  for (const auto& [time, name] : others) names.push_back(name);
  return make_error(ErrorCode::kUnreachable,
                    path.home.string() + " is on " + path.served_by + ", and accesses to it have taken " +
                        in_tenths(taken_by(path.home)) + ", its share of the time for homes" +
                        (names.empty() ? "" : "; the longest of the others: " + join(names, ", ")),
                    names.empty() ? "check its server" : "check the servers of the homes that took longest");
}

}  // namespace sparkplan
