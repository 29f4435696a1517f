#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"

/// Kinds of values, as JSON Schema names them ("object") and as messages do ("a map").
namespace sparkplan {

/// "object" -> "a map"
std::string kind_in_words(std::string_view kind);
/// The value as a message names it: "the text \"9000\"", "a list".
std::string found_in_words(const Value& value);

/// The kinds that a schema allows; empty: all.
std::vector<std::string> allowed_kinds(const nlohmann::json& schema);
bool kind_fits(const std::vector<std::string>& kinds, const Value& value);
bool has_kind(const std::vector<std::string>& kinds, std::string_view kind);

/// The boolean that is meant by a spelling which YAML 1.1 and some editors accept, and this program refuses.
std::optional<bool> other_spelling_of_boolean(const Value& value);

/// Advice for a value that is of none of the kinds; empty without one.
std::string hint_for_kind(const std::vector<std::string>& kinds, const Value& value);

}  // namespace sparkplan
