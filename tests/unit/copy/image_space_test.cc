// The space for an image in the storage of its engine.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "engine/copy/images/image_store.h"
#include "engine/copy/tree.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/programs.h"

namespace sparkplan {

using namespace test;

TEST_CASE("copy image: an engine's storage is an absolute path in plain text, to a directory that exists") {
  const ScratchDirectory folder;
  const auto stage = copy::Tree::open(folder.path().string(), CopyTreeKind::kImage);
  REQUIRE(stage);
  const auto found = copy::storage_at(folder.path().string(), *stage);
  CHECK(found.store == folder.path().string());
  CHECK(found.store_free_bytes > 0);
  CHECK(found.id.empty());

  const std::string path = (folder.path() / "file").string();
  write_file(path, "text");
  const std::string hostile = (folder.path() / "a\x1b[2Jb").string();
  fs::create_directories(hostile);
  for (const std::string& wrong :
       {std::string(), std::string("relative"), std::string("<no value>"), std::string("/no/such/folder"), path,
        hostile, folder.path().string() + "\n/tmp", std::string("/") + std::string(5000, 'a')}) {
    INFO(wrong);
    const auto unknown = copy::storage_at(wrong, *stage);
    CHECK(unknown.store.empty());
    CHECK(unknown.store_free_bytes == 0);
    CHECK_FALSE(unknown.store_shared);
  }
}

TEST_CASE("copy image: a storage beside the stage shares its space, and the archive that is there counts as free") {
  const ScratchDirectory folder;
  const auto stage = copy::Tree::open(folder.path().string(), CopyTreeKind::kImage);
  REQUIRE(stage);
  CHECK(copy::storage_at(folder.path().string(), *stage).store_shared);
  // The file has no blocks, so that the free space stays what it is; other programs may write meanwhile.
  constexpr std::int64_t kLarge = std::int64_t{1} << 40U;
  const auto before = copy::storage_at(folder.path().string(), *stage).store_free_bytes;
  write_file(folder.path() / kImageArchive, "");
  fs::resize_file(folder.path() / kImageArchive, kLarge);
  CHECK(copy::storage_at(folder.path().string(), *stage).store_free_bytes > before + kLarge / 2);

  // /proc is another file system in every container and machine.
  struct stat of_stage {};
  struct stat of_proc {};
  REQUIRE((::stat(folder.path().c_str(), &of_stage) == 0 && ::stat("/proc", &of_proc) == 0));
  REQUIRE(of_stage.st_dev != of_proc.st_dev);
  const auto other = copy::storage_at("/proc", *stage);
  CHECK(other.store == "/proc");
  CHECK_FALSE(other.store_shared);
  CHECK(other.store_free_bytes == 0);
}

TEST_CASE("copy image: the directory of a storage is an absolute path without control characters, or no answer") {
  CopyImageState state;
  state.store = "/var/lib/containers/storage";
  state.store_free_bytes = 1;
  state.store_shared = true;
  const auto read = decode<CopyAnswer>(encode(CopyAnswer(state)));
  REQUIRE(read);
  CHECK(std::get<CopyImageState>(*read).store == state.store);
  CHECK(std::get<CopyImageState>(*read).store_shared);
  for (const char* wrong : {"relative", "/a\nb", "/a\x1b[31m"}) {
    state.store = wrong;
    CHECK_FALSE(decode<CopyAnswer>(encode(CopyAnswer(state))));
  }
}

}  // namespace sparkplan
