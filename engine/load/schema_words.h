#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/load/findings.h"

namespace sparkplan {

/// Pure. Describes in plain words where `root` violates `schema` (draft 7, only the keywords that this project's
/// schemas use). Returns JSON pointers of the invalid values, and of absent keys that a misspelt one probably means.
/// "title" and "description" of the schema become part of the messages; patterns are never shown.
std::vector<std::string> describe_schema_errors(const nlohmann::json& schema, const Value& root, Findings& findings);

/// The text that patterns are matched against: at most 1024 bytes, cut between characters. std::regex recurses once per
/// character, so long text would overflow the stack. describe_schema_errors() refuses a longer text with a pattern.
std::string_view cut_for_patterns(std::string_view text);

}  // namespace sparkplan
