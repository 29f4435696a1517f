// The records of a sync on a full disk. A limit of the size of files stands for it.
#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/copy/chunk_digest.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/journal.h"
#include "engine/core/digest.h"
#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"
#include "tests/support/largest_file.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

Digest text_digest(const std::string& text) { return digest_of(text.data(), text.size()); }

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

}  // namespace sparkplan::copy
