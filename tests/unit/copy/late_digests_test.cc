// Digests that reach a receiver late, or never. The test is the controller of real programs, and withholds them.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "engine/wire/copy_messages.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/programs.h"

namespace sparkplan {
namespace {

using namespace test;

constexpr std::int64_t kChunksOfEach = 2;  // Of each connection.

/// A source with one file, and an empty receiver.
struct OneFile {
  OneFile() {
    write_file(paths[0] / "large", random_text(static_cast<std::size_t>(kChunksOfEach * kCopyChunk) * kStreams, 3));
  }
  ~OneFile() {
    for (const fs::path& path : paths) forget_index_of(path);
  }
  OneFile(const OneFile&) = delete;
  OneFile& operator=(const OneFile&) = delete;

  ScratchDirectory folder;
  std::vector<fs::path> paths{folder.path() / "tree-0", folder.path() / "tree-1"};
};

struct Held {
  std::vector<CopyDigests> digests;
  std::int64_t received = 0;  ///< At least.
};

/// A receiver gets no digest until it can receive nothing more.
Held receive_without_digests(Chain& chain, const OneFile& trees) {
  // A connection may have asked for a third chunk, which it does not receive.
  constexpr auto kWanted = (kChunksOfEach * static_cast<std::int64_t>(kStreams) - 2) * kCopyChunk;
  REQUIRE(chain.begin(trees.paths, false));
  Held held;
  const auto end = Clock::now() + kEnough;
  while (held.received < kWanted && Clock::now() < end) {
    if (const auto answer = chain.programs[0].answer()) {
      if (const auto* digests = std::get_if<CopyDigests>(&*answer)) held.digests.push_back(*digests);
    }
    if (const auto answer = chain.programs[1].answer()) {
      if (const auto* progress = std::get_if<CopyProgress>(&*answer)) held.received = progress->received_bytes;
    }
  }
  CHECK(held.received >= kWanted);
  return held;
}

}  // namespace

TEST_CASE("copy processes: while the digest of a chunk is on its way, its connection receives the next one") {
  const OneFile trees;
  Chain chain;
  const Held held = receive_without_digests(chain, trees);
  for (const CopyDigests& digests : held.digests) chain.programs[1].send(digests);
  CHECK(chain.run(kEnough));
  const bool equal = read_file(trees.paths[1] / "large") == read_file(trees.paths[0] / "large");
  CHECK(equal);
}

TEST_CASE("copy processes: after an interruption at most one chunk per connection is sent again") {
  const OneFile trees;
  std::int64_t received = 0;
  {
    Chain chain;
    received = receive_without_digests(chain, trees).received;
    for (Program& program : chain.programs) program.kill();
  }
  Chain again;
  REQUIRE(again.begin(trees.paths, false));
  CHECK(again.run(kEnough));
  constexpr std::int64_t kHeaders = 10'000;
  constexpr auto kMost = (kChunksOfEach + 1) * static_cast<std::int64_t>(kStreams) * kCopyChunk;
  CHECK(received + again.received < kMost + kHeaders);
  const bool equal = read_file(trees.paths[1] / "large") == read_file(trees.paths[0] / "large");
  CHECK(equal);
}

TEST_CASE("copy processes: a link whose sender has gone with the digests is reported soon") {
  const OneFile trees;
  Chain chain;
  receive_without_digests(chain, trees);
  chain.programs[0].kill();
  const auto killed = Clock::now();
  const auto lost = chain.programs[1].await<CopyLinkLost>();
  REQUIRE(lost);
  CHECK(lost->error.code == ErrorCode::kUnreachable);
  CHECK(Clock::now() - killed < std::chrono::seconds(30));
}

}  // namespace sparkplan
