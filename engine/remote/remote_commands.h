#pragma once

#include <string>

#include "engine/remote/transport.h"

namespace sparkplan {

/// The command line that sshd gives to the login shell. Made of constants of this program alone.
std::string remote_command(RemoteProgram program, Elevation elevation);

/// What the installer prints first, followed by a blank and uname -m.
inline constexpr std::string_view kInstallerGreeting = "SPARKPLAN-ARCHITECTURE";
/// What it waits for on standard input, followed by " SIZE SHA256\n" and the bytes.
inline constexpr std::string_view kInstallerPut = "SPARKPLAN-PUT";
/// What it prints when the agent is in place.
inline constexpr std::string_view kInstallerDone = "SPARKPLAN-INSTALLED";

}  // namespace sparkplan
