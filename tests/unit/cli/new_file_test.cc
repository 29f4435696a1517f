// The file that `init` writes.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/cli/output/new_file.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("a replaced file keeps its restrictive mode") {
  std::string directory = (std::filesystem::temp_directory_path() / "new-file-XXXXXX").string();
  REQUIRE(::mkdtemp(directory.data()) != nullptr);
  const std::string path = directory + "/cluster.yaml";
  std::ofstream(path) << "old";
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  REQUIRE(write_new_file(path, "new", true));
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(status.st_size == 3);
  std::filesystem::remove_all(directory);
}

TEST_CASE("a replaced file of another user is not writable for all, and one of your own keeps its mode") {
  std::string directory = (std::filesystem::temp_directory_path() / "new-file-XXXXXX").string();
  REQUIRE(::mkdtemp(directory.data()) != nullptr);
  const std::string path = directory + "/page.html";
  const mode_t before = ::umask(022);
  const auto mode_behind = [&](uid_t owner) {
    std::ofstream(path) << "old";
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    const bool is_owned = ::chown(path.c_str(), owner, static_cast<gid_t>(-1)) == 0;
    REQUIRE(write_new_file(path, "new", true));
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return is_owned ? status.st_mode & 0777 : 0;
  };
  CHECK(mode_behind(::geteuid()) == 0666);
  constexpr uid_t kNobody = 65534;
  // Only root can give a file to another user.
  if (::geteuid() == 0) CHECK(mode_behind(kNobody) == 0644);
  ::umask(before);
  std::filesystem::remove_all(directory);
}

}  // namespace sparkplan
