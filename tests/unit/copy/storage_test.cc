#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "engine/copy/chunk_digest.h"
#include "engine/copy/file_bytes.h"
#include "engine/copy/journal.h"
#include "engine/copy/tree.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

}  // namespace

TEST_CASE("copy: a digest is the SHA-256") {
  const std::string text = "abc";
  const auto digest = digest_of(text.data(), text.size());
  CHECK(hex(digest) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest_from_hex(hex(digest)) == digest);
  CHECK_FALSE(is_known(digest_from_hex("zz")));
  CHECK(sum_of({digest, Digest{}}).empty());
}

TEST_CASE("copy: no link below the tree is followed") {
  const test::ScratchDirectory folder;
  fs::create_directories(folder.path() / "tree/sub");
  write_file(folder.path() / "outside", "secret");
  fs::create_symlink(folder.path() / "outside", folder.path() / "tree/link");
  fs::create_directory_symlink(folder.path(), folder.path() / "tree/way");
  const auto tree = Tree::open((folder.path() / "tree").string());
  REQUIRE(tree);
  CHECK_FALSE(tree->open_file("link", O_RDONLY));
  CHECK_FALSE(tree->open_file("way/outside", O_RDONLY));
  CHECK_FALSE(tree->open_file("../outside", O_RDONLY));
  CHECK_FALSE(tree->make_directory("way/new"));
  CHECK_FALSE(fs::exists(folder.path() / "new"));
  const auto listed = tree->list();
  REQUIRE_FALSE(listed);
  CHECK(listed.error().code == ErrorCode::kRefused);
}

TEST_CASE("copy: a FIFO is refused, and a name with a newline is listed") {
  const test::ScratchDirectory folder;
  write_file(folder.path() / "a\nb", "text");
  const auto tree = Tree::open(folder.path().string());
  REQUIRE(tree);
  const auto listed = tree->list();
  REQUIRE(listed);
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().entry.path == "a\nb");
  REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
  CHECK_FALSE(tree->list());
}

TEST_CASE("copy: blocks of zeros stay holes") {
  const test::ScratchDirectory folder;
  const auto path = folder.path() / "sparse";
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::vector<char> bytes(1 << 20, '\0');
  bytes[500'000] = 'x';
  REQUIRE(::ftruncate(file.get(), 1 << 20) == 0);
  REQUIRE(write_without_zeros(file.get(), bytes, 0));
  std::vector<char> again(bytes.size());
  REQUIRE(read_at(file.get(), again, 0));
  CHECK(again == bytes);
  struct stat status {};
  REQUIRE(::fstat(file.get(), &status) == 0);
  CHECK(status.st_blocks * 512 < 100'000);
}

TEST_CASE("copy: the journal forgets a file that is made again, and a line that was cut off") {
  const test::ScratchDirectory folder;
  const FileDescriptor directory(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto digest = digest_of("abc", 3);
  {
    Journal journal;
    REQUIRE(journal.open(directory.get()));
    REQUIRE(journal.add("one", 3, digest));
    REQUIRE(journal.add("two", 4, digest));
    REQUIRE(journal.begin_again("two"));
  }
  std::ofstream(folder.path() / "journal", std::ios::app) << "C one 5 " << hex(digest).substr(0, 20);
  Journal journal;
  REQUIRE(journal.open(directory.get()));
  CHECK(journal.chunks_of_file("one") == Journal::Chunks{{3, digest}});
  CHECK(journal.chunks_of_file("two").empty());
  CHECK_FALSE(journal.of_earlier_boot());
}

}  // namespace sparkplan::copy
