#pragma once

#include <string>

#include "engine/remote/transport/transport.h"

namespace sparkplan {

/// The command line that sshd passes to the login shell. Composed only of constants of this program.
std::string remote_command(RemoteProgram program, Elevation elevation);

/// The file of an installed program on a node.
std::string program_file(RemoteProgram program);

/// The first output of the installer, followed by a blank and uname -m.
inline constexpr std::string_view kInstallerGreeting = "SPARKPLAN-ARCHITECTURE";
/// The line that starts the transfer on the installer's standard input; the compressed program follows.
inline constexpr std::string_view kInstallerPut = "SPARKPLAN-PUT";
/// The output of the installer when the program is installed.
inline constexpr std::string_view kInstallerDone = "SPARKPLAN-INSTALLED";

}  // namespace sparkplan
