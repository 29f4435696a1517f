#include "engine/cli/discovery/host_key_rounds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/fleet/session/fan_out.h"

namespace sparkplan {
namespace {

using Standing = OfferedHostKey::Standing;

struct Walk {
  const SshWay* way = nullptr;
  std::size_t at = 0;                     ///< The station that shows its key next.
  std::optional<OfferedHostKey> unknown;  ///< Of the station before `at`.
};

/// Passes the stations with known keys, and ends behind the first one with an unknown key.
void advance(Walk& walk, const HostKeySteps& steps) {
  walk.unknown.reset();
  while (walk.at < walk.way->stations.size() && !walk.unknown) {
    auto key = steps.offered(*walk.way, walk.at);
    const bool is_unknown = key && key->standing == Standing::kUnknown;
    if (is_unknown || (key && (key->standing == Standing::kKnown || key->standing == Standing::kPinned))) {
      ++walk.at;
      if (is_unknown) walk.unknown = *std::move(key);
    } else {
      walk.at = walk.way->stations.size();
    }
  }
}

/// Each key once: a jump host can be a machine of its own, and the jump host of several machines.
std::vector<UnknownHostKey> in_sight(const std::vector<Walk>& walks) {
  std::vector<UnknownHostKey> keys;
  for (const Walk& walk : walks) {
    if (!walk.unknown) continue;
    const SshStation& station = walk.way->stations[walk.at - 1];
    const auto twin = std::find_if(keys.begin(), keys.end(), [&](const UnknownHostKey& one) {
      return one.key.known_hosts_line == walk.unknown->known_hosts_line && one.key.file == walk.unknown->file;
    });
    if (twin == keys.end()) {
      keys.push_back({station, *walk.unknown});
    } else if (!station.is_jump_host) {
      twin->station = station;
    }
  }
  return keys;
}

}  // namespace

std::string UnknownHostKey::subject() const { return station.is_jump_host ? station.context() : station.name; }

Result<bool> settle_in_rounds(const std::vector<SshWay>& ways, std::size_t workers, const HostKeySteps& steps) {
  std::vector<Walk> walks;
  for (const SshWay& way : ways) walks.push_back({&way, 0, std::nullopt});
  for (;;) {
    fan_out(walks, workers, [&](Walk& walk) { advance(walk, steps); });
    const auto keys = in_sight(walks);
    // Each walk that has an unknown key went on, so the rounds end with the longest way.
    if (keys.empty()) return true;
    if (!steps.confirm(keys)) return false;
    for (const UnknownHostKey& one : keys) SPARK_CHECK(steps.record(one.key));
  }
}

}  // namespace sparkplan
