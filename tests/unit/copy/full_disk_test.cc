// A sync on a full disk: its records, for which a limit of the size of files stands, and its files.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/journal.h"
#include "engine/copy/tree.h"
#include "engine/core/digest.h"
#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"
#include "tests/support/largest_file.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

constexpr FileStamp kStampOfTwo{kCopyChunk + 1, 10, 20, 5};

Digest text_digest(const std::string& text) { return digest_of(text.data(), text.size()); }

fs::path file_of_index(const std::string& path) {
  return fs::path(state_directory()) / (sha256(path).substr(0, 32) + ".index");
}

/// Writes an index with so many lines of former files that it is to be replaced. Returns its size.
std::uintmax_t grow_index(const std::string& path) {
  auto index = DigestIndex::open(path, true);
  REQUIRE(index);
  index->add("late", kStampOfTwo, 2, 0, text_digest("late"));
  constexpr int kTimes = 1000;
  for (int i = 0; i < kTimes; ++i) {
    index->add("brought", kStampOfTwo, {text_digest("a"), text_digest("b")}, DigestIndex::Came::kReceived);
  }
  index->add_link("link", "brought");
  index->add_directory("folder");
  return fs::file_size(file_of_index(path));
}

bool has_all_records(const DigestIndex& index) {
  return index.is_brought("brought", kStampOfTwo) && index.find("brought", kStampOfTwo, 2)[1] == text_digest("b") &&
         index.find("late", kStampOfTwo, 2)[0] == text_digest("late") && index.links().contains("link") &&
         index.directories().contains("folder");
}

}  // namespace

TEST_CASE("copy: behind a line that a full disk has cut off, no file gets the digest of another") {
  const test::ScratchDirectory folder;
  const std::string path = (folder.path() / "tree").string();
  const fs::path file = fs::path(state_directory()) / (sha256(path).substr(0, 32) + ".index");
  const FileStamp stamp{kCopyChunk + 1, 10, 20, 5};
  auto opened = DigestIndex::open(path, true);
  REQUIRE(opened);
  std::optional<DigestIndex> index(*std::move(opened));
  {
    const test::LargestFile full(fs::file_size(file) + 10);
    index->add("lost", stamp, 2, 0, text_digest("lost"));
  }
  for (const std::string name : {"one", "two", "three"}) index->add(name, stamp, 2, 0, text_digest(name));
  for (const std::string name : {"one", "two", "three"}) index->add(name, stamp, 2, 1, text_digest(name + " end"));
  index.reset();
  const auto again = DigestIndex::open(path, false);
  CHECK(forget_tree(path));
  REQUIRE(again);
  for (const std::string name : {"lost", "one", "two", "three"}) {
    const auto digests = again->find(name, stamp, 2);
    CHECK((!is_known(digests[0]) || digests[0] == text_digest(name)));
    CHECK((!is_known(digests[1]) || digests[1] == text_digest(name + " end")));
  }
}

TEST_CASE(
    "copy: an index that grew is replaced by a shorter one with all records, which is locked as the old one was") {
  const test::ScratchDirectory folder;
  const std::string path = (folder.path() / "tree").string();
  const fs::path file = file_of_index(path);
  const auto grown = grow_index(path);
  auto opened = DigestIndex::open(path, true);
  REQUIRE(opened);
  std::optional<DigestIndex> index(*std::move(opened));
  CHECK(fs::file_size(file) < grown);
  CHECK_FALSE(fs::exists(file.string() + ".new"));
  {
    const FileDescriptor another(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(another.valid());
    CHECK(::flock(another.get(), LOCK_EX | LOCK_NB) != 0);
  }
  // A line behind the new ones names a file by its number there.
  index->add("late", kStampOfTwo, 2, 1, text_digest("late end"));
  index.reset();
  const auto again = DigestIndex::open(path, false);
  CHECK(forget_tree(path));
  REQUIRE(again);
  CHECK(has_all_records(*again));
  CHECK(again->find("late", kStampOfTwo, 2)[1] == text_digest("late end"));
}

TEST_CASE("copy: an index that a full disk keeps from being replaced keeps its records") {
  const test::ScratchDirectory folder;
  const std::string path = (folder.path() / "tree").string();
  const fs::path file = file_of_index(path);
  const auto grown = grow_index(path);
  {
    const test::LargestFile full(10);
    const auto index = DigestIndex::open(path, true);
    REQUIRE(index);
    CHECK(has_all_records(*index));
  }
  CHECK(fs::file_size(file) == grown);
  CHECK_FALSE(fs::exists(file.string() + ".new"));
  // As a process that was killed in the middle leaves it.
  std::ofstream(file.string() + ".new") << "F half";
  {
    auto index = DigestIndex::open(path, true);
    REQUIRE(index);
    CHECK(has_all_records(*index));
  }
  CHECK(fs::file_size(file) < grown);
  const auto again = DigestIndex::open(path, false);
  CHECK(forget_tree(path));
  REQUIRE(again);
  CHECK(has_all_records(*again));
}

TEST_CASE("copy: a journal that a full disk cuts off says why, and its last whole lines count") {
  const test::ScratchDirectory folder;
  const FileDescriptor directory(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto digest = text_digest("abc");
  {
    Journal journal;
    REQUIRE(journal.open(directory.get()));
    REQUIRE(journal.add("file", 0, digest));
    const test::LargestFile full(fs::file_size(folder.path() / "journal") + 20);
    errno = 0;
    const auto added = journal.add("file", 1, digest);
    REQUIRE_FALSE(added);
    CHECK(added.error().sys_errno == EFBIG);
  }
  Journal journal;
  REQUIRE(journal.open(directory.get()));
  CHECK(journal.chunks_of_file("file") == Journal::Chunks{{0, digest}});
}

namespace {

constexpr std::int64_t kSecondChunk = 64 << 10;

/// A file of one whole chunk and a small one, without zeros, that belongs to this user.
CopyEntry file_of_two_chunks() {
  const std::string first(static_cast<std::size_t>(kCopyChunk), 'x');
  const std::string second(static_cast<std::size_t>(kSecondChunk), 'x');
  CopyEntry entry;
  entry.path = "weights";
  entry.size = kCopyChunk + kSecondChunk;
  test::give_to_this_user(entry);
  entry.digests = packed({text_digest(first), text_digest(second)});
  return entry;
}

/// A receiver of the file, on a disk that has this space beside the least that is to stay free.
struct SmallDisk {
  SmallDisk(const CopyEntry& entry, std::int64_t space)
      : tree(*Tree::open(folder.path().string())),
        index(*DigestIndex::open(folder.path().string(), false)),
        unfinished(folder.path() / kPartialFolder /
                   sha256(entry.path + '\0' + std::to_string(entry.size)).substr(0, 32)),
        left(space) {
    content.emplace(tree, index, std::nullopt, [this] { return Content::kLeastFree + left; });
    REQUIRE(content->expect({entry}));
    REQUIRE(content->begin(CopyBegin{false, false}));
  }

  /// Delivers the next chunk, which takes its bytes of the disk.
  Result<void> deliver_next() {
    const auto wanted = content->take_now();
    REQUIRE(wanted);
    SPARK_CHECK(content->deliver(*wanted, std::make_shared<std::vector<char>>(wanted->bytes, 'x')));
    left -= static_cast<std::int64_t>(wanted->bytes);
    return {};
  }
  /// Bytes that the next sync has to receive, once there is room.
  std::int64_t missing_for_next_sync(const CopyEntry& entry) {
    content.emplace(tree, index);
    REQUIRE(content->expect({entry}));
    const auto begun = content->begin(CopyBegin{false, false});
    REQUIRE(begun);
    return begun->missing_bytes;
  }

  const test::ScratchDirectory folder;
  Tree tree;
  DigestIndex index;
  const fs::path unfinished;
  std::int64_t left = 0;
  std::optional<Content> content;
};

}  // namespace

TEST_CASE("copy: a receiver stops before it writes into the last free space, and the next sync continues") {
  const CopyEntry entry = file_of_two_chunks();
  for (const std::int64_t lacking : {0, 1}) {
    INFO(lacking);
    SmallDisk disk(entry, entry.size - lacking);
    REQUIRE(disk.deliver_next());
    const auto last = disk.deliver_next();
    CHECK(last.has_value() == (lacking == 0));
    if (last) continue;
    CHECK(last.error().sys_errno == ENOSPC);
    CHECK(last.error().message.find("weights") != std::string::npos);
    CHECK(last.error().message.find("holes") == std::string::npos);
    REQUIRE(disk.content->error());
    CHECK(disk.content->error()->sys_errno == ENOSPC);
    CHECK(fs::exists(disk.unfinished));
    CHECK(disk.missing_for_next_sync(entry) == kSecondChunk);
  }
}

TEST_CASE("copy: holes that a file does not have fill no disk: its receiver stops, says so, and removes the file") {
  CopyEntry entry = file_of_two_chunks();
  entry.sparse = true;
  entry.holes = entry.size;
  SmallDisk disk(entry, entry.size - 1);
  REQUIRE(disk.deliver_next());
  REQUIRE(fs::exists(disk.unfinished));
  const auto last = disk.deliver_next();
  REQUIRE_FALSE(last);
  REQUIRE(disk.content->error());
  CHECK(disk.content->error()->sys_errno == ENOSPC);
  CHECK(disk.content->error()->message.find("the source lists holes that weights does not have") != std::string::npos);
  CHECK_FALSE(fs::exists(disk.unfinished));
}

TEST_CASE("copy: a file whose source saves bytes by compression arrives where there is space for all of them") {
  CopyEntry entry = file_of_two_chunks();
  entry.sparse = true;
  entry.holes = entry.size / 2;
  SmallDisk disk(entry, entry.size);
  CHECK(disk.deliver_next());
  CHECK(disk.deliver_next());
  CHECK_FALSE(disk.content->error());
}

}  // namespace sparkplan::copy
