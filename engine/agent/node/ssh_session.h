#pragma once

#include <cstdint>
#include <string>

namespace sparkplan {

/// The node's own address on this process's SSH connection, from SSH_CONNECTION. sudo removes that variable, so the
/// nearest ancestor with it counts. Empty without an SSH connection.
std::string ssh_server_address();

/// The user who logged in: the one who runs this process, or who started it as root through sudo. Source: sudo(8),
/// SUDO_UID.
std::uint32_t login_user_id();

/// "/proc/1234": the process that sshd started for this run. Its limits and environment are those of a command run over
/// ssh. Empty if the run was not started over ssh.
std::string ssh_session_process();

}  // namespace sparkplan
