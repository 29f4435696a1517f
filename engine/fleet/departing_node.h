#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/manifest.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// How to reach a member that the file no longer names, as far as the file allows it: its user, its jump host and the
/// folder of a local node's directory must be those of a node in the file. No host key is taken from the roster:
/// known_hosts decides.
/// Errors: kRefused where the roster asks for anything else, or where the manifests do not agree on the address.
Result<NodeSpec> spec_of_departing(const RosterEntry& entry, const Cluster& cluster);

/// What a departing node must prove before it is given an agent, a password or a step: the host key of the connection,
/// its machine-id and the name in its manifest are those that the roster has. `known.manifest` is there.
/// Errors: kRefused, with the mark that differs.
Result<void> check_departing_machine(const RosterEntry& entry, const std::string& host_key, const FactsReply& known);

}  // namespace sparkplan
