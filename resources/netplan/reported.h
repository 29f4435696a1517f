#pragma once

#include "engine/resource/resource_type.h"

namespace sparkplan::netplan {

/// What a node may say of fabric interfaces and their links, and export of other netplan files.
ReportedShapes reported_interfaces();

}  // namespace sparkplan::netplan
