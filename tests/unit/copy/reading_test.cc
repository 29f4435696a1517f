// The chunks that a source reads while its files change, and the chunks that many connections of a receiver take.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/tree.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

using test::status_of_path;

/// Writes one byte, in place. The file keeps its size and its time of modification.
void edit_unseen(const fs::path& path, std::int64_t offset, char byte) {
  const struct stat before = status_of_path(path);
  const timespec times[2] = {before.st_atim, before.st_mtim};  // NOLINT: the call takes an array.
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  struct stat after = before;
  // The kernel's clock for files advances in steps of some milliseconds.
  while (after.st_ctim.tv_sec == before.st_ctim.tv_sec && after.st_ctim.tv_nsec == before.st_ctim.tv_nsec) {
    REQUIRE(::pwrite(file, &byte, 1, offset) == 1);
    REQUIRE(::futimens(file, times) == 0);
    after = status_of_path(path);
  }
  ::close(file);
  CHECK(after.st_mtim.tv_sec == before.st_mtim.tv_sec);
  CHECK(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
}

/// Puts another file of the same size and time of modification in its place.
void replace_unseen(const fs::path& path) {
  const struct stat before = status_of_path(path);
  const fs::path other = path.string() + ".new";
  std::ofstream(other, std::ios::binary) << "other";
  fs::resize_file(other, static_cast<std::uintmax_t>(before.st_size));
  const timespec times[2] = {before.st_atim, before.st_mtim};  // NOLINT: the call takes an array.
  REQUIRE(::utimensat(AT_FDCWD, other.c_str(), times, 0) == 0);
  fs::rename(other, path);
  CHECK(status_of_path(path).st_ino != before.st_ino);
}

}  // namespace

TEST_CASE("copy: a source's file that changes between two chunks is refused, also with the same size and time") {
  const test::ScratchDirectory folder;
  const fs::path path = folder.path() / "file";
  std::ofstream(path, std::ios::binary) << "content";
  fs::resize_file(path, static_cast<std::uintmax_t>(2 * kCopyChunk));
  auto tree = Tree::open(folder.path().string());
  auto index = DigestIndex::open(folder.path().string(), false);
  REQUIRE((tree && index));
  const auto listed = tree->list();
  REQUIRE(listed);
  REQUIRE(listed->size() == 1);
  Content source(*tree, *index);
  REQUIRE(source.expect({listed->front().entry}));
  REQUIRE(source.begin(CopyBegin{true, false}));
  REQUIRE(source.read({0, 0}));
  SECTION("edited in place") { edit_unseen(path, kCopyChunk, 'x'); }
  SECTION("replaced by another file") { replace_unseen(path); }
  const auto second = source.read({0, 1});
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::kStalePlan);
  CHECK(second.error().message == "file changes while it is read");
  REQUIRE(source.error());
  CHECK(source.error()->code == ErrorCode::kStalePlan);
}

TEST_CASE("copy: a connection that waits for a chunk waits on if another one takes it, until the transfer ends") {
  constexpr std::size_t kConnections = 8;
  constexpr int kRounds = 20'000;
  const test::ScratchDirectory folder;
  auto tree = Tree::open(folder.path().string());
  auto index = DigestIndex::open(folder.path().string(), false);
  REQUIRE((tree && index));
  std::vector<CopyEntry> entries(2);
  entries[0].path = "circulates";
  entries[1].path = "held";
  for (CopyEntry& entry : entries) {
    entry.size = 3;
    test::give_to_this_user(entry);
  }
  Content receiver(*tree, *index);
  REQUIRE(receiver.expect(entries));
  REQUIRE(receiver.begin(CopyBegin{false, false}));
  const auto first = receiver.take_now();
  REQUIRE(first);
  REQUIRE(receiver.take_now());  // It may be given back, so the connections have a reason to wait.
  std::atomic<int> rounds{0};
  std::atomic<int> left{0};
  std::atomic<bool> ends{false};
  {
    std::vector<std::jthread> connections;
    for (std::size_t i = 0; i < kConnections; ++i) {
      connections.emplace_back([&] {
        while (const auto wanted = receiver.take()) {
          ++rounds;
          receiver.give_back(*wanted);
        }
        if (!ends) ++left;
      });
    }
    receiver.give_back(*first);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (rounds < kRounds && left == 0 && std::chrono::steady_clock::now() < deadline) {
      receiver.wait(std::chrono::milliseconds(5));
    }
    ends = true;
    receiver.stop();
  }
  CHECK(rounds > 0);
  CHECK(left == 0);
}

}  // namespace sparkplan::copy
