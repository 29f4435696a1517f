#pragma once

#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

/// The Hugging Face cache of a user.
namespace sparkplan {

/// The variable that decides where the cache is; null: none does. `variables` maps names to values; null: there are
/// none. Source: constants.py of huggingface_hub.
const MapEntry* hub_cache_variable(const Value* variables);

/// The directory of all cached repositories; "~/" begins the home of the cache's owner. Without a variable it is
/// "~/.cache/huggingface/hub".
/// Errors: kInvalidInput (the variable is a secret, relative, or has a part that only a shell expands).
Result<std::string> hub_cache(const Value* variables);

/// "models--ORG--NAME" for "ORG/NAME".
std::string hub_folder(std::string_view model);

/// Whether the text can be the name of a model on the hub. Source: validate_repo_id() of huggingface_hub.
bool is_hub_name(std::string_view model);

}  // namespace sparkplan
