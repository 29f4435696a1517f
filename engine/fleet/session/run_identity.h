#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>

#include "engine/core/result.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// Fills a buffer of at most 256 bytes as getrandom(2) without flags does. -1: failed, with errno.
using RandomSource = std::function<ssize_t(void* buffer, std::size_t size)>;

/// Random lower case digits, at most 64. A signal does not end it.
/// Errors: those of the source, and EIO if it does not fill the buffer. No weaker source replaces it.
Result<std::string> random_hexadecimal(std::size_t digits, const RandomSource& source);

/// "20260301T120000Z-4f9a1c07": sorts by time, to a quarter of a millisecond, unique without coordination.
/// Errors: those of random_hexadecimal().
Result<std::string> new_run_id();

/// A random version 4 UUID. Source: RFC 9562. Errors: those of random_hexadecimal().
Result<std::string> new_uuid();

/// True for the /etc/machine-id of the controller's machine.
bool is_this_machine(const std::string& machine_id);

/// This process, as a lock names it. User and machine names come from the system.
LockHolder this_controller(const std::string& operation);

}  // namespace sparkplan
