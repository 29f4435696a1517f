#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::netplan {

/// Asks `netplan generate --root-dir` whether it takes all netplan files of the node together with
/// ours as `content`, on a copy of them. Nothing is activated.
/// Errors: kRefused with netplan's own words and the real path of the file it complains about;
/// kUnsupported when there is no netplan on the node, or when it hands an interface of ours to
/// NetworkManager.
Result<void> try_netplan_files(const std::string& content, Node& node);

}  // namespace sparkplan::netplan
