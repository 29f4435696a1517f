#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/model/resource.h"
#include "resources/ssh_trust/peers.h"
#include "resources/ssh_trust/trust_text.h"

// One key of several nodes: they were made from one image, or one of them claims another's. Nobody can tell which, and
// no claim takes away what another node has: each key serves under the name, and from the addresses, of its own node.
// But taking one of the nodes out of the file does not shut out a key that another still has, so it is told.

namespace sparkplan::ssh_trust {

/// Warnings for those of the user's keys that more than one node exports.
std::vector<Diagnostic> same_user_keys(const std::vector<Peer>& peers_of_user, const Value& user);

/// The same for host keys.
std::vector<Diagnostic> same_host_keys(const std::vector<Peer>& peers, SourceRange where);

/// Remarks on lines in a user's block that let in one key for several nodes, also of nodes that have left the file.
std::vector<ForeignClaim> same_key_remarks(const std::string& user, const AuthorizedLines& lines);

}  // namespace sparkplan::ssh_trust
