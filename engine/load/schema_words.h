#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/load/findings.h"

namespace sparkplan {

/// Pure. Says in a reader's words where `root` breaks `schema` (draft 7; of its keywords those that
/// the schemas of this project use) and returns JSON pointers of the values that do. "title" and
/// "description" of the schema become part of the messages; patterns are never shown.
std::vector<std::string> describe_schema_errors(const nlohmann::json& schema, const Value& root, Findings& findings);

/// Text that a pattern is run on: a regular expression of the standard library recurses once for
/// each character, so that long text would overflow the stack.
std::string_view cut_for_patterns(std::string_view text);

}  // namespace sparkplan
