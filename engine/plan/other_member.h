#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/manifest.h"
#include "engine/plan/roster.h"

namespace sparkplan {

/// Pure. Contacted nodes whose machine is another member, by the node's name in the file, with kRefused. An address may
/// lead anywhere at the first contact, also to a member that is not in this run. A machine is another member if it has
/// that member's recorded or pinned host key, or if its manifest has that member's name. So is a machine that reports a
/// machine-id which is recorded for that member and not for the node. A renamed machine is no other member: its name in
/// the file has the other one's place; or the file no longer names the other member, and the host key is pinned, or
/// recorded and known to the user before the run.
/// `members`: all members that the manifests list. `file`: all nodes of the file. `contacted` by the name in the file.
std::map<std::string, Error> mistaken_for_members(const std::vector<RosterEntry>& members,
                                                  const std::vector<const NodeSpec*>& file, const Machines& contacted);

}  // namespace sparkplan
