#pragma once

#include <functional>
#include <string>

namespace sparkplan::copy {

/// Listens on the loopback address for one connection of this machine that begins with `token`, and joins it with
/// standard input and output. Other connections are closed; of too many the oldest ends. `tell_port` is called first.
/// Ends when one end closes, or when none shows the token within a minute. Returns the exit status of the process.
int run_relay(const std::string& token, const std::function<void(int port)>& tell_port);

}  // namespace sparkplan::copy
