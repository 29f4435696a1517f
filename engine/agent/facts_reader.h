#pragma once

#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// What a node says of itself. What is absent is empty; only what cannot be asked at all is an error.
/// Errors: kFailed.
Result<Facts> read_facts(const NodeReader& node);

/// The node's own address on the SSH connection this process belongs to, from SSH_CONNECTION of
/// this process or of the nearest ancestor that has it (sudo takes it away). Empty when there is none.
std::string ssh_server_address();

}  // namespace sparkplan
