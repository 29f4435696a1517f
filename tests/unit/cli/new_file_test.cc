// The file that `init` writes.
#include <stdlib.h>
#include <sys/stat.h>

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

}  // namespace sparkplan
