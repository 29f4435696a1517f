#pragma once

#include <string>

namespace sparkplan {

/// The node's own address on the SSH connection this process belongs to, from SSH_CONNECTION of
/// this process or of the nearest ancestor that has it (sudo takes it away). Empty when there is none.
std::string ssh_server_address();

/// "/proc/1234": the process that sshd has started for this run, whose limits and environment are those of a
/// command run over ssh. Empty when the run came another way.
std::string ssh_session_process();

}  // namespace sparkplan
