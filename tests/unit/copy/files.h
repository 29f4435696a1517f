#pragma once

// Files of the tests of sparkplan-copy, and entries of them.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/copy/accounts.h"
#include "engine/wire/copy_messages.h"
#include "tests/support/catch.h"

namespace sparkplan::test {

/// Also makes its directory.
inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Of a link: of its target.
inline struct stat status_of_path(const std::filesystem::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}

/// The entry belongs to the user of this process. A receiver refuses a user that it lacks.
inline void give_to_this_user(CopyEntry& entry) {
  entry.mode = 0600;
  entry.user = copy::user_name(::geteuid());
  entry.group = copy::group_name(::getegid());
}

}  // namespace sparkplan::test
