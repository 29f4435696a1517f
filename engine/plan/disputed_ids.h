#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/plan/roster.h"

namespace sparkplan {

/// Reported machine-ids that a manifest records for another member. By the nodes with that manifest's roster: the node
/// that reports the id, and the member that has it there.
using DisputedIds = std::map<std::vector<std::string>, std::map<std::string, std::string>>;

/// Pure. Empties a reported machine-id that another node's manifest records for another member: it is recorded for
/// no member. A renamed machine keeps its own. Returns who disputes which ids.
DisputedIds forget_disputed_ids(Machines& machines, const Rosters& rosters);

/// A warning "roster.disputed-id" for the nodes of each roster; it names the first five ids.
std::vector<Diagnostic> warnings_of(const DisputedIds& disputed);

}  // namespace sparkplan
