#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/model/resource.h"
#include "resources/ssh_trust/peers.h"
#include "resources/ssh_trust/trust_text.h"

// Several nodes may have the same key: they were made from one image, or a node claims another node's key. The two
// cases look the same. No claim removes another node's access: each key is accepted under its own node's name and
// addresses. But removing one node from the file does not revoke a key that another node has, so it is reported.

namespace sparkplan::ssh_trust {

/// Warnings about keys of the user that more than one node exports.
std::vector<Diagnostic> same_user_keys(const std::vector<Peer>& peers_of_user, const Value& user);

/// Warnings about host keys that more than one node exports.
std::vector<Diagnostic> same_host_keys(const std::vector<Peer>& peers, SourceRange where);

/// Remarks on lines in a user's block that accept one key for several nodes, including departed nodes.
std::vector<ForeignClaim> same_key_remarks(const std::string& user, const AuthorizedLines& lines);

}  // namespace sparkplan::ssh_trust
