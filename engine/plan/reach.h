#pragma once

#include <string>
#include <vector>

#include "engine/model/cluster.h"

namespace sparkplan {

/// A node's address in reports: the host, or the directory of a local node.
std::string shown_address(const NodeSpec& node);

/// The ways to reach a node, in parts for one line each: "nvidia@10.0.0.11:2222", "through ops@bastion:2222", "with the
/// key ~/.ssh/lab", "accepts an unknown host key". All SSH settings of the node in cluster.yaml, safe for a terminal.
/// Where cluster.yaml leaves a setting open, the ~/.ssh/config of the user who connects decides.
std::vector<std::string> ways_to(const NodeSpec& node);

}  // namespace sparkplan
