#pragma once

#include <string>
#include <vector>

#include "engine/model/cluster.h"

namespace sparkplan {

/// What reports call a node's address: the host, or the directory that stands for a local node.
std::string shown_address(const NodeSpec& node);

/// How a node is reached, in parts for one line each: "nvidia@10.0.0.11:22", "through ops@bastion:2222", "with the
/// key ~/.ssh/lab", "accepts an unknown host key". Everything that cluster.yaml says of it, safe for a terminal.
std::vector<std::string> ways_to(const NodeSpec& node);

}  // namespace sparkplan
