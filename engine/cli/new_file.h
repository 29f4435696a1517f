#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// Writes a file of the user's that was not there before, or with `replace` in the place of another: whole or not at
/// all, with `mode`, else that of the replaced file. Errors: kFailed; also when the file appears meanwhile, and
/// `replace` is false.
Result<void> write_new_file(const std::string& path, std::string_view text, bool replace,
                            std::optional<mode_t> mode = {});

/// Writes all of it to an open file, up to the disk. `path` is for messages. Errors: those of the system calls.
Result<void> write_all(int file, std::string_view text, const std::string& path);

}  // namespace sparkplan
