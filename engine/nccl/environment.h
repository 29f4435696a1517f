#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan::nccl {

/// Replaces the environment of the process. Of the login's variables, only those that name the user and their folders
/// remain (HOME, USER, LOGNAME, PATH, TMPDIR). NCCL does not read its file in the home directory, and its log goes to
/// `log_file`. Must be called before NCCL or the driver is loaded.
void take_environment(const std::map<std::string, std::string>& environment, const std::string& log_file);

/// Pure. The variables in NCCL's file `conf` that `environment` does not set; `environment` has priority.
std::vector<std::string> other_variables(std::string_view conf, const std::map<std::string, std::string>& environment);

/// Pure. MemAvailable of /proc/meminfo in bytes. Errors: kUnsupported without that line.
Result<std::int64_t> available_memory(std::string_view meminfo);

/// The content of a small text file. Errors: kNotFound, kFailed.
Result<std::string> read_text(const std::string& path);

}  // namespace sparkplan::nccl
