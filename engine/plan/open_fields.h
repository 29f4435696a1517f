#pragma once

#include <map>
#include <string>

#include "engine/core/value.h"
#include "engine/model/resource.h"

namespace sparkplan {

/// Pure. The fields of `resource` that follow from another node's report, have no value without it and so stay as this
/// node has them, although they are not as they were applied last. By path, with the reason for the missing value.
/// Empty for a resource without any known field: another finding says why that resource stays as it is.
std::map<std::string, std::string> edited_open_fields(const Resource& resource, const Value& observed,
                                                      const Value& last_applied);

}  // namespace sparkplan
