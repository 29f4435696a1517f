#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "engine/cli/terminal/screen.h"
#include "engine/core/result.h"
#include "engine/remote/keys/secret.h"

namespace sparkplan {

/// Waits until a read of the terminal does not block. False at a stop, also one of before.
bool wait_for_typing(int terminal, const std::stop_token& stop);

/// The line that the user types, without its end; at most its first 80 bytes. Nothing at a stop.
std::optional<std::string> typed_line(int terminal, const std::stop_token& stop);

/// Asks for a password on the controlling terminal, without echo and without live lines of `screen`. A stop ends the
/// question at once and restores the terminal; after a stop, nothing is asked.
/// Errors: kFailed when there is no terminal, or the process is in the background there; kInterrupted at a stop; those
/// of Secret::read_line().
Result<Secret> ask_password(const std::string& prompt, Screen& screen, const std::stop_token& stop);

/// Like ask_password(), for the passphrase of a key.
Result<Secret> ask_passphrase(const std::string& prompt, Screen& screen, const std::stop_token& stop);

}  // namespace sparkplan
