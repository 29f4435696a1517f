// A sync after a restart of the node, and the checks before anything is sent.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "engine/copy/accounts.h"
#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/journal.h"
#include "engine/copy/tree.h"
#include "engine/core/digest.h"
#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

/// The node restarts: the journal's last line of a boot is of another one.
void restart_node(const fs::path& journal) {
  std::ifstream file(journal, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::ofstream(journal, std::ios::binary) << std::regex_replace(text, std::regex("B [^\n]*"), "B x");
}

CopyEntry entry_of_this_user(const std::string& path) {
  CopyEntry entry;
  entry.path = path;
  test::give_to_this_user(entry);
  return entry;
}

constexpr std::uint32_t kChunksOfResumed = 4;

/// A receiver of one file with equal chunks. Each transfer ends when it goes out of scope, as by a kill.
struct ResumedFile {
  ResumedFile() {
    REQUIRE((tree && index));
    entries[0].size = kChunksOfResumed * kCopyChunk;
    entries[0].digests = packed(std::vector<Digest>(kChunksOfResumed, digest));
  }

  std::unique_ptr<Content> begin() {
    auto content = std::make_unique<Content>(*tree, *index);
    REQUIRE(content->expect(entries));
    REQUIRE(content->begin(CopyBegin{false, false}));
    return content;
  }
  /// Receives all chunks but the last one, so that the file stays unfinished.
  void receive_most() {
    const auto content = begin();
    for (std::uint32_t i = 0; i + 1 < kChunksOfResumed; ++i) {
      const auto wanted = content->take_now();
      REQUIRE(wanted);
      REQUIRE(content->deliver(*wanted, std::make_shared<std::vector<char>>(bytes)));
    }
  }
  std::vector<std::uint32_t> wanted_now() {
    const auto content = begin();
    std::vector<std::uint32_t> chunks;
    for (auto next = content->take_now(); next; next = content->take_now()) chunks.push_back(next->id.chunk);
    return chunks;
  }
  void lose(std::int64_t chunk) const {
    const auto name = sha256(entries[0].path + '\0' + std::to_string(entries[0].size)).substr(0, 32);
    const FileDescriptor file(::open((partial / name).c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(file.get(), "x", 1, chunk * kCopyChunk + 7) == 1);
  }

  const test::ScratchDirectory folder;
  const fs::path partial = folder.path() / kPartialFolder;
  Result<Tree> tree = Tree::open(folder.path().string());
  Result<DigestIndex> index = DigestIndex::open(folder.path().string(), false);
  const std::vector<char> bytes = std::vector<char>(static_cast<std::size_t>(kCopyChunk), 'c');
  const Digest digest = digest_of(bytes.data(), bytes.size());
  std::vector<CopyEntry> entries{entry_of_this_user("file")};
};

}  // namespace

TEST_CASE("copy: a chunk that the disk lost at a restart is wanted also after a sync that was killed before it came") {
  ResumedFile one;
  one.receive_most();
  restart_node(one.partial / "journal");
  one.lose(1);
  const std::vector<std::uint32_t> lost_and_last{1, kChunksOfResumed - 1};
  CHECK(one.wanted_now() == lost_and_last);
  CHECK(one.wanted_now() == lost_and_last);
}

TEST_CASE("copy: a sync that is killed while it reads again leaves the next one to read all of it") {
  const test::ScratchDirectory folder;
  const FileDescriptor directory(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Digest digest = digest_of("abc", 3);
  {
    Journal journal;
    REQUIRE(journal.open(directory.get()));
    for (const char* name : {"read", "other"}) REQUIRE(journal.add(name, 0, digest));
    REQUIRE(journal.add("read", 1, digest));
  }
  restart_node(folder.path() / "journal");
  {
    Journal killed;
    REQUIRE(killed.open(directory.get()));
    CHECK(killed.of_earlier_boot());
  }
  {
    Journal journal;
    REQUIRE(journal.open(directory.get()));
    CHECK(journal.of_earlier_boot());
    REQUIRE(journal.keep_only("read", {{1, digest}}));
    REQUIRE(journal.confirm());
  }
  Journal journal;
  REQUIRE(journal.open(directory.get()));
  CHECK_FALSE(journal.of_earlier_boot());
  CHECK(journal.chunks_of_file("read") == Journal::Chunks{{1, digest}});
  // No process has read it again.
  CHECK(journal.chunks_of_file("other").empty());
}

TEST_CASE("copy: a user or group that the node lacks is an error before anything is received") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root gives files away");
    return;
  }
  ResumedFile one;
  SECTION("user") { one.entries[0].user = "no-such-user"; }
  SECTION("group") { one.entries[0].group = "no-such-group"; }
  Content content(*one.tree, *one.index);
  REQUIRE(content.expect(one.entries));
  const auto begun = content.begin(CopyBegin{false, false});
  REQUIRE_FALSE(begun);
  CHECK(begun.error().code == ErrorCode::kNotFound);
  CHECK(begun.error().message.find("no-such-") != std::string::npos);
  CHECK_FALSE(fs::exists(one.partial));
  // With a declared owner, the names on the source do not count.
  Account own;
  own.user = ::geteuid();
  own.group = ::getegid();
  Content owned(*one.tree, *one.index, own);
  REQUIRE(owned.expect(one.entries));
  CHECK(owned.begin(CopyBegin{false, false}));
}

}  // namespace sparkplan::copy
