#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/manifest.h"

namespace sparkplan {

/// The roster of the highest generation among the manifests; an empty one when there is none.
/// Errors: kRefused when two manifests name clusters of different uuid.
Result<Roster> newest_roster(const std::vector<const Manifest*>& manifests);

/// Members of `roster` that the file no longer names (by name and by id), marked leaving or not.
std::vector<RosterEntry> leavers(const Roster& roster, const Cluster& cluster);

/// The roster after a successful apply: the file's nodes, plus the leavers marked `leaving`. The
/// generation grows only when something differs. `host_keys` by node name; a missing one keeps
/// what `previous` knew. `new_uuid` is used when `previous` has none.
Roster next_roster(const Roster& previous, const Cluster& cluster, const std::map<std::string, std::string>& host_keys,
                   const std::string& new_uuid);

/// Errors: kRefused when the manifest belongs to another cluster than `cluster`.
Result<void> check_membership(const Manifest& manifest, const Cluster& cluster);

}  // namespace sparkplan
