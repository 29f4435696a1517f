#pragma once

#include <string>

namespace sparkplan {

/// The node's own address on this process's SSH connection, from SSH_CONNECTION. sudo removes that variable, so the
/// nearest ancestor with it counts. Empty without an SSH connection.
std::string ssh_server_address();

/// "/proc/1234": the process that sshd started for this run. Its limits and environment are those of a command run over
/// ssh. Empty if the run was not started over ssh.
std::string ssh_session_process();

}  // namespace sparkplan
