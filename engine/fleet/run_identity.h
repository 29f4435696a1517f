#pragma once

#include <string>

#include "engine/wire/messages.h"

namespace sparkplan {

/// "20260301T120000Z-4f9a1c07": sorts by time, to a quarter of a millisecond, unique without anybody being asked.
std::string new_run_id();

/// A random version 4 UUID. Source: RFC 9562.
std::string new_uuid();

/// True for the /etc/machine-id of the machine that we run on.
bool is_this_machine(const std::string& machine_id);

/// This process, as others will read of it: user and machine names come from the system.
LockHolder this_controller(const std::string& operation);

}  // namespace sparkplan
