#pragma once

#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/manifest.h"
#include "engine/remote/config/ssh_config.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// A part of the hints about departing nodes. Without the name of the node: nodes with equal hints share a line.
inline constexpr std::string_view kForgetHint = "if its machine is gone, run `sparkplan release NODE --forget`";

/// The way that works if ~/.ssh/config leads to the machine. Without the name of the node, as kForgetHint.
inline constexpr std::string_view kAliasHint =
    "~/.ssh/config does not count for a node that only manifests name: put NODE back into the file and run `sparkplan "
    "release NODE`";

/// How to reach a member that the file no longer names. A node in the file must have the same user, the same jump host
/// and, for a local node, the same parent directory. Host keys come from known_hosts, never from the roster.
/// Errors: kRefused if the roster contains other values, or if the manifests do not agree on the address.
Result<NodeSpec> spec_of_departing(const RosterEntry& entry, const Cluster& cluster);

/// True if the user's ssh configuration says where the node's address leads or under which name its host key is known.
/// A departing node is not reached that way; only a hint depends on it.
bool is_alias(const NodeSpec& departing, const SshConfig& config);

/// The proof that a departing node owes before it receives an agent, a password or a step. The host key of the
/// connection, its machine-id and the name in its manifest must be as in the roster.
/// Errors: kRefused, with the mark that differs or is not recorded; also without a manifest.
Result<void> check_departing_machine(const RosterEntry& entry, const std::string& host_key, const FactsReply& known);

}  // namespace sparkplan
