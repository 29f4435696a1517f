#pragma once

#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// What a node says of itself. What is absent is empty; only what cannot be asked at all is an error.
/// `everything`: Facts::survey as well. Errors: kFailed.
Result<Facts> read_facts(const NodeReader& node, bool everything = false);

/// What is installed: the operating system, the product, NCCL. Part of read_facts().
void read_installed_software(const NodeReader& node, Facts& facts);

/// The node's own address on the SSH connection this process belongs to, from SSH_CONNECTION of
/// this process or of the nearest ancestor that has it (sudo takes it away). Empty when there is none.
std::string ssh_server_address();

/// "/proc/1234": the process that sshd has started for this run, whose limits and environment are those of a
/// command run over ssh. Empty when the run came another way.
std::string ssh_session_process();

}  // namespace sparkplan
