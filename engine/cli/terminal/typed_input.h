#pragma once

#include <optional>
#include <stop_token>
#include <string>

namespace sparkplan {

/// Waits until a read of the terminal does not block. False at a stop, also one of before.
bool wait_for_typing(int terminal, const std::stop_token& stop);

/// The line that the user types, without its end; at most its first 80 bytes. Nothing at a stop.
std::optional<std::string> typed_line(int terminal, const std::stop_token& stop);

}  // namespace sparkplan
