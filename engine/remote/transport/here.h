#pragma once

#include <memory>

#include "engine/remote/transport/transport.h"

namespace sparkplan {

/// A connection to the machine itself. It starts RemoteProgram::kCopy only, as the user who runs this program, from
/// this build's image.
std::unique_ptr<Connection> connect_here();

}  // namespace sparkplan
