#pragma once

#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan::netplan {

/// A netplan file as netplan's own parser (libyaml) reads it: maps, lists, and every scalar as text, quoted or not,
/// each with its line in Value::where. An empty file is null.
/// Errors: kInvalidInput with "line N" as context, also for more than 100 000 nodes, anchors expanded, or 64 levels.
Result<Value> parse_yaml(std::string_view text);

}  // namespace sparkplan::netplan
