#pragma once

#include <functional>

namespace sparkplan::copy {

/// Listens on the loopback address for one connection of this machine, and joins it with standard input and output.
/// `tell_port` is called first. Ends when one end closes, or when none connects within a minute. Returns the exit
/// status of the process.
int run_relay(const std::function<void(int port)>& tell_port);

}  // namespace sparkplan::copy
