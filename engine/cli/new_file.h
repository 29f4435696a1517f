#pragma once

#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// Writes a file of the user's that was not there before, or with `replace` in the place of another: whole or not at
/// all, with the mode of the one replaced. Errors: kFailed; also when somebody else has made one meanwhile, and
/// `replace` is false.
Result<void> write_new_file(const std::string& path, std::string_view text, bool replace);

}  // namespace sparkplan
