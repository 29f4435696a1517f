#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/model/facts.h"
#include "engine/resource/resource_type.h"

/// The fabric's interfaces through one netplan file, and as the kernel has them: `fabric: {...}`.
namespace sparkplan::netplan {

/// Pure. Why the interface must not be touched: it carries the connection that we speak through
/// (`connection` is the node's end of it; empty: none), or something that is built on it does, or that
/// cannot be told. Empty when it may be touched.
std::string why_untouchable(const std::string& interface, const std::string& connection,
                            const std::vector<LinkFacts>& links);

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::netplan
