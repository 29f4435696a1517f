// The chunks that many connections of a receiver take.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/tree.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::copy {

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
  for (CopyEntry& entry : entries) entry.size = 3;
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
