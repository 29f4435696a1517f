#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/core/value.h"
#include "engine/model/facts.h"

namespace sparkplan::netplan {

/// Pure. A node's own `fabric` that asks for what was applied there (interface to value), half A of each port first:
/// {interfaces: [{name, address?, mtu, link_local?}]}, and `adopt` where definitions of somebody else's were taken
/// over. An MTU that is left alone is null.
std::optional<Value> interfaces_from(const std::map<std::string, Value>& applied, const Facts& own);

}  // namespace sparkplan::netplan
