// A receiver before a transfer: its free space, and names of another kind.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/tree.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kGigabyte = std::int64_t{1} << 30;

using test::read_file;
using test::write_file;

/// The directory "tree" in a scratch directory, and its record, which no other process sees.
struct NodeTree {
  NodeTree() {
    fs::create_directory(path());
    tree.emplace(*Tree::open(path().string()));
    index.emplace(*DigestIndex::open(path().string(), false));
  }

  fs::path path() const { return folder.path() / "tree"; }

  const test::ScratchDirectory folder;
  std::optional<Tree> tree;
  std::optional<DigestIndex> index;
};

/// A name that belongs to this user; a file contains "new".
CopyEntry to_receive(const std::string& path, CopyKind kind) {
  CopyEntry entry;
  entry.path = path;
  entry.kind = kind;
  test::give_to_this_user(entry);
  if (kind == CopyKind::kDirectory) entry.mode = 0700;
  if (kind == CopyKind::kLink) entry.target = "other";
  if (kind != CopyKind::kFile) return entry;
  entry.size = 3;
  entry.digests = packed({digest_of("new", 3)});
  return entry;
}

/// A sparse file of 1 GB without data, with these holes.
CopyEntry sparse_gigabyte(std::int64_t holes) {
  CopyEntry entry;
  entry.path = "sparse";
  test::give_to_this_user(entry);
  entry.size = kGigabyte;
  entry.sparse = true;
  entry.holes = holes;
  return entry;
}

std::int64_t needed_for(const CopyEntry& entry) {
  NodeTree node;
  Content content(*node.tree, *node.index);
  REQUIRE(content.expect({entry}));
  const auto begun = content.begin(CopyBegin{false, false});
  REQUIRE(begun);
  return begun->needed_bytes;
}

/// Receives the entry to its end. Errors: of the beginning.
Result<void> receive(NodeTree& node, const CopyEntry& entry, bool replace) {
  Content content(*node.tree, *node.index);
  REQUIRE(content.expect({entry}));
  SPARK_CHECK(content.begin(CopyBegin{false, replace}));
  for (auto wanted = content.take_now(); wanted; wanted = content.take_now()) {
    REQUIRE(content.deliver(*wanted, std::make_shared<std::vector<char>>(std::vector<char>{'n', 'e', 'w'})));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!content.ended() && std::chrono::steady_clock::now() < end) content.wait(std::chrono::milliseconds(100));
  CHECK(content.complete());
  return {};
}

}  // namespace

TEST_CASE("copy: a file with holes is listed with what they save, and needs space for its other bytes alone") {
  NodeTree source;
  write_file(source.path() / "sparse", "data");
  fs::resize_file(source.path() / "sparse", kGigabyte);
  const auto listed = source.tree->list();
  REQUIRE(listed);
  REQUIRE(listed->size() == 1);
  const CopyEntry& sparse = listed->front().entry;
  constexpr std::int64_t kMostData = std::int64_t{1} << 20;
  CHECK(sparse.size == kGigabyte);
  CHECK(sparse.sparse);
  CHECK(sparse.holes > kGigabyte - kMostData);
  CHECK(sparse.holes < kGigabyte);
  const auto needed = needed_for(sparse);
  CHECK(needed > 0);
  CHECK(needed < kMostData);
}

TEST_CASE("copy: no claim about holes makes the needed space negative or larger than the file") {
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  CHECK(needed_for(sparse_gigabyte(0)) == kGigabyte);
  CHECK(needed_for(sparse_gigabyte(kGigabyte)) == 0);
  CHECK(needed_for(sparse_gigabyte(kHuge)) == 0);
  CHECK(needed_for(sparse_gigabyte(-kHuge)) == kGigabyte);
  auto without_holes = sparse_gigabyte(kHuge);
  without_holes.sparse = false;
  CHECK(needed_for(without_holes) == kGigabyte);
}

TEST_CASE("copy: a link, a FIFO or a socket in the place of a file is replaced with consent, and no link is followed") {
  NodeTree node;
  const fs::path outside = node.folder.path() / "outside";
  const fs::path name = node.path() / "file";
  write_file(outside, "old");
  SECTION("a link to a file") { fs::create_symlink(outside, name); }
  SECTION("a link to a directory") { fs::create_directory_symlink(node.folder.path(), name); }
  SECTION("a link to nothing") { fs::create_symlink("absent", name); }
  SECTION("a FIFO") { REQUIRE(::mkfifo(name.c_str(), 0600) == 0); }
  SECTION("a socket") { REQUIRE(::mknod(name.c_str(), S_IFSOCK | 0600, 0) == 0); }
  const auto before = fs::symlink_status(name).type();
  const auto refused = receive(node, to_receive("file", CopyKind::kFile), false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kRefused);
  CHECK(refused.error().hint.find("--yes") != std::string::npos);
  CHECK(fs::symlink_status(name).type() == before);
  REQUIRE(receive(node, to_receive("file", CopyKind::kFile), true));
  CHECK(fs::symlink_status(name).type() == fs::file_type::regular);
  CHECK(read_file(name) == "new");
  CHECK(read_file(outside) == "old");
  CHECK_FALSE(fs::exists(node.path() / "absent"));
}

TEST_CASE("copy: a directory takes the place of no other kind, nor the reverse, and the error says what to do") {
  NodeTree node;
  const fs::path name = node.path() / "name";
  CopyKind kind = CopyKind::kFile;
  SECTION("a directory for a file") { fs::create_directory(name); }
  SECTION("a directory for a link") {
    fs::create_directory(name);
    kind = CopyKind::kLink;
  }
  SECTION("a file for a directory") {
    write_file(name, "old");
    kind = CopyKind::kDirectory;
  }
  SECTION("a link for a directory") {
    fs::create_directory_symlink(node.folder.path(), name);
    kind = CopyKind::kDirectory;
  }
  const auto before = fs::symlink_status(name).type();
  const auto refused = receive(node, to_receive("name", kind), true);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kRefused);
  CHECK(refused.error().message.find("name") != std::string::npos);
  CHECK_FALSE(refused.error().hint.empty());
  CHECK(fs::symlink_status(name).type() == before);
}

TEST_CASE("copy: of a link that a file replaces, or the reverse, only the later one is recorded") {
  NodeTree node;
  REQUIRE(receive(node, to_receive("name", CopyKind::kLink), false));
  CHECK(node.index->links().size() == 1);
  REQUIRE(receive(node, to_receive("name", CopyKind::kFile), true));
  CHECK(node.index->links().empty());
  CHECK(node.index->records().size() == 1);
  REQUIRE(receive(node, to_receive("name", CopyKind::kLink), true));
  CHECK(node.index->links().size() == 1);
  CHECK(node.index->records().empty());
}

}  // namespace sparkplan::copy
