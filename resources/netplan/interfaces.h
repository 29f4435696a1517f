#pragma once

#include <optional>
#include <string>

#include "engine/core/value.h"
#include "engine/model/facts.h"
#include "engine/resource/resource_type.h"

namespace sparkplan::netplan {

/// Pure. A node's own `fabric` that declares the `applied` values (interface to value), half A of each port first:
/// {interfaces: [{name, address?, mtu, link_local?}]}. Those beside the fabric are below kOtherInterfaces, as records
/// of the node's `interfaces`. `adopt` is added if foreign definitions were taken over. An MTU that is not managed is
/// null. Nothing if a value cannot be declared, such as one with several addresses.
std::optional<Value> interfaces_from(const ValuesByName& applied, const Facts& own);

/// The shapes of values that a node may report of fabric interfaces and links, and export of other netplan files.
ReportedShapes reported_interfaces();

}  // namespace sparkplan::netplan
