#include "engine/fleet/session/shared_rosters.h"

#include <algorithm>
#include <utility>

#include "engine/wire/facts_messages.h"

namespace sparkplan {

SharedRoster SharedRosters::share(Roster roster) {
  const std::lock_guard lock(mutex_);
  const auto same = std::ranges::find_if(kept_, [&](const Kept& kept) { return *kept.shared.roster == roster; });
  if (same != kept_.end()) {
    ++same->nodes;
    return {same->shared.roster, same->shared.digest};
  }
  // A node that was never applied has nothing to name.
  const bool is_kept = kept_.size() < kMostKept;
  std::string digest = is_kept && !roster.uuid.empty() ? digest_of(roster) : "";
  SharedRoster shared{std::make_shared<const Roster>(std::move(roster)), std::move(digest)};
  if (is_kept) kept_.push_back({shared, 1});
  return shared;
}

std::shared_ptr<const Roster> SharedRosters::find(const std::string& digest) {
  const std::lock_guard lock(mutex_);
  const auto same = std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.shared.digest == digest; });
  if (same == kept_.end()) return nullptr;
  ++same->nodes;
  return same->shared.roster;
}

std::vector<std::string> SharedRosters::offers() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Kept*> ranked;
  for (const Kept& kept : kept_) {
    if (!kept.shared.digest.empty()) ranked.push_back(&kept);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Kept* a, const Kept* b) { return a->nodes > b->nodes; });
  if (ranked.size() > kMostOfferedRosters) ranked.resize(kMostOfferedRosters);
  std::vector<std::string> digests;
  for (const Kept* kept : ranked) digests.push_back(kept->shared.digest);
  return digests;
}

}  // namespace sparkplan
