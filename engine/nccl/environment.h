#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan::nccl {

/// Makes this the environment of the process: what the login gave is gone but for who and where it is
/// (HOME, USER, LOGNAME, PATH, TMPDIR). NCCL's own file in the home is not read, and its log goes to
/// `log_file`. Before anything of NCCL's or the driver's is loaded.
void take_environment(const std::map<std::string, std::string>& environment, const std::string& log_file);

/// Pure. The variables that NCCL's file `conf` sets besides those of `environment`, which win over it.
std::vector<std::string> other_variables(std::string_view conf, const std::map<std::string, std::string>& environment);

/// Pure. MemAvailable of /proc/meminfo in bytes. Errors: kUnsupported when it is not there.
Result<std::int64_t> available_memory(std::string_view meminfo);

/// A small text file. Errors: kNotFound, kFailed.
Result<std::string> read_text(const std::string& path);

}  // namespace sparkplan::nccl
