#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {

/// The routes among `declared` that the kernel's main table has through the interface, as Route::str(). A route without
/// a declared metric may have any. Errors: as NodeReader::read_file(). Source: proc(5), /proc/net/route.
Result<std::vector<std::string>> shown_routes(const std::string& interface, const std::vector<Route>& declared,
                                              const NodeReader& node);

}  // namespace sparkplan::netplan
