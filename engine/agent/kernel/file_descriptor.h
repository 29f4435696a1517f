#pragma once

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "engine/core/file_descriptor.h"
#include "engine/core/result.h"

namespace sparkplan {

/// For the locks of open file descriptions. `type`: F_RDLCK, F_WRLCK. Source: fcntl(2).
inline struct flock lock_of_whole_file(short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return range;
}

/// The errno of the last system call, as "verb path".
inline Error file_error(const std::string& verb, const std::filesystem::path& path) {
  return system_error(verb + " " + path.string(), errno);
}

}  // namespace sparkplan
