#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/manifest.h"

namespace sparkplan {

/// The roster of the highest generation among the manifests; an empty one when there is none.
/// Errors: kRefused when two manifests name clusters of different uuid.
Result<Roster> newest_roster(const std::vector<const Manifest*>& manifests);

/// What is known of the machines behind the file's nodes, by the node's name in the file.
struct Machine {
  std::string host_key;    ///< Empty: not seen in this run.
  std::string machine_id;  ///< Likewise.
  std::string known_as;    ///< The name in the machine's own manifest; empty without one.
};
using Machines = std::map<std::string, Machine>;

/// Members of `roster` that have left the file, marked leaving or not. A member has not left when its
/// name stands in the file, or its machine under another name: at the same address, or because that
/// machine's manifest knows it by the old one.
std::vector<RosterEntry> leavers(const Roster& roster, const Cluster& cluster, const Machines& machines);

/// The roster after a successful apply: the file's nodes, plus the leavers marked `leaving` but for those in
/// `released`. The generation grows only when something differs. What is not seen of a machine stays
/// as `previous` knew it. `new_uuid` is used when `previous` has none.
Roster next_roster(const Roster& previous, const Cluster& cluster, const Machines& machines,
                   const std::set<std::string>& released, const std::string& new_uuid);

/// Errors: kRefused when the manifest belongs to another cluster than `cluster`.
Result<void> check_membership(const Manifest& manifest, const Cluster& cluster);

}  // namespace sparkplan
