#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/resource/resource_type.h"
#include "resources/sysctl/sysctl.h"

/// Values that the kernel of a node will not accept.
namespace sparkplan::sysctl {

/// Pure. Why the kernel will refuse or change `wanted`, by its bounds and by the form of the `running` value; nothing
/// if that is not known. Both values are canonical.
std::optional<std::string> why_refused(const Key& key, std::string_view wanted, std::string_view running);

/// I/O, read-only. The parameters of `ahead` that cannot be set to their values.
std::vector<Ineffective> values_to_be_refused(const ChangesAhead& ahead, const NodeReader& node);

}  // namespace sparkplan::sysctl
