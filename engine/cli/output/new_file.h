#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// Writes a new file of the user's, or with `replace` replaces an existing one. The file is written completely or not
/// at all. Its mode is `mode`, else the mode of the replaced file.
/// Errors: kFailed; also when the file appears meanwhile and `replace` is false.
Result<void> write_new_file(const std::string& path, std::string_view text, bool replace,
                            std::optional<mode_t> mode = {});

/// As above, with a text that `write` puts into the open file.
Result<void> write_new_file(const std::string& path, const std::function<Result<void>(int file)>& write, bool replace,
                            std::optional<mode_t> mode = {});

/// Writes all of `text` to an open file and syncs it. `path` is for messages. Errors: those of the system calls.
Result<void> write_all(int file, std::string_view text, const std::string& path);

}  // namespace sparkplan
