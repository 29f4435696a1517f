#pragma once

#include <memory>
#include <string>

#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/resource/resource_type.h"

/// The fabric's interfaces through one netplan file, and as the kernel has them: `fabric: {...}`.
namespace sparkplan::netplan {

/// Pure. Why the interface must not be touched: it carries the connection that we speak through, or
/// something that sits on it does. Empty when it may be.
std::string why_untouchable(const std::string& interface, const Facts& facts);

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::netplan
