// A transfer in which several nodes have the whole tree. The first node is the source.
#include <atomic>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/sync/transfer_bench.h"

namespace sparkplan {
namespace {

using test::CopyNode;
using test::honest;
using test::kOfSecond;
using test::kOfSource;
using test::Peer;
using test::say;
using test::senders_of;
using test::TransferBench;

/// Is gone as soon as it is to serve.
void dies_as_sender(const CopyCommand& command, Peer& self) {
  if (!std::holds_alternative<CopyServe>(command)) return honest(command, self);
  self.on_read = [](Peer& peer) { peer.cut = true; };
}

test::CopyReaction with_processors(std::int64_t processors) {
  return [processors](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyBegin>(command)) return honest(command, self);
    say(self, CopyBegun{0, 0, std::int64_t{1} << 40U, processors});
  };
}

/// Ends with this error as soon as it is to begin.
test::CopyReaction that_fails(const Error& error) {
  return [error](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyBegin>(command)) return honest(command, self);
    say(self, CopyFailure{error});
    self.ended = true;
  };
}

}  // namespace

TEST_CASE(
    "transfer: what a receiver cannot do with the source's list names the source, and a lost connection does not") {
  TransferBench bench(3);
  bench.nodes[1].reaction = that_fails(make_error(ErrorCode::kNotFound, "there is no user mallory in /etc/passwd"));
  bench.nodes[2].reaction = that_fails(make_error(ErrorCode::kUnreachable, "the connection ended"));
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->describe() == "receive the content of n1: there is no user mallory in /etc/passwd");
  CHECK(outcomes[1].error->code == ErrorCode::kNotFound);
  REQUIRE(outcomes[2].error);
  CHECK(outcomes[2].error->describe() == "the connection ended");
}

TEST_CASE("transfer: a node with the whole tree serves half of the receivers, and receives nothing") {
  TransferBench bench(6);
  bench.holders = {1};
  bench.has_digests = true;
  const auto outcomes = bench.run();
  for (const auto& outcome : outcomes) CHECK_FALSE(outcome.error);
  CHECK(senders_of(bench.nodes[2]).front() == kOfSource);
  CHECK(senders_of(bench.nodes[3]).front() == kOfSecond);
  CHECK(senders_of(bench.nodes[4]).front() == "192.168.100.13");
  CHECK(senders_of(bench.nodes[5]).front() == "192.168.100.14");
  CHECK(bench.nodes[1].all<CopyFetch>().empty());
  // It serves its own files, which were modified at another time, and changes nothing.
  CHECK(bench.nodes[1].all<CopyBegin>().front().source);
  const CopyEntry told = bench.nodes[1].all<CopyExpect>().front().entries.front();
  CHECK(told.mtime_ns == test::kTimeOfHolder);
  CHECK(told.digests.empty());
  CHECK_FALSE(bench.nodes[2].all<CopyExpect>().front().entries.front().digests.empty());
}

TEST_CASE("transfer: of nodes with the whole tree, only the source says which digests are right") {
  TransferBench bench(4);
  bench.holders = {1};
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    honest(command, self);
    if (!std::holds_alternative<CopyBegin>(command)) return;
    say(self, CopyDigests{std::string(8, '\0') + std::string(kCopyDigestBytes, 'x')});
  };
  const auto outcomes = bench.run();
  for (const auto& outcome : outcomes) CHECK_FALSE(outcome.error);
  for (const CopyNode& node : bench.nodes) CHECK(node.all<CopyDigests>().empty());
}

TEST_CASE("transfer: a node with the whole tree that fails leaves its receivers to others") {
  TransferBench bench(4);
  bench.holders = {1};
  bench.nodes[1].reaction = dies_as_sender;
  const auto outcomes = bench.run();
  CHECK(outcomes[1].error);
  CHECK_FALSE(outcomes[2].error);
  CHECK_FALSE(outcomes[3].error);
  CHECK(senders_of(bench.nodes[3]).front() != kOfSecond);
}

TEST_CASE("transfer: without its source it goes on if another node has the whole tree and all digests are known") {
  TransferBench bench(3);
  bench.holders = {1};
  bench.nodes[0].reaction = dies_as_sender;
  SECTION("known") {
    bench.has_digests = true;
    const auto outcomes = bench.run();
    CHECK(outcomes[0].error);
    CHECK_FALSE(outcomes[2].error);
    CHECK(senders_of(bench.nodes[2]).front() == kOfSecond);
  }
  SECTION("not known") {
    const auto outcomes = bench.run();
    CHECK(outcomes[0].error);
    CHECK(outcomes[2].error);
  }
}

TEST_CASE("transfer: a node with the whole tree that never begins keeps no one waiting at the end") {
  TransferBench bench(3);
  bench.holders = {1};
  bench.options.patience.late_begin = std::chrono::milliseconds(20);
  bench.nodes[1].reaction = [](const CopyCommand&, Peer&) {};
  // Its deadline is minutes away.
  const auto outcomes = bench.run();
  CHECK_FALSE(outcomes[2].error);
  CHECK(senders_of(bench.nodes[2]).front() == kOfSource);
}

TEST_CASE("transfer: from the controller nothing travels over SSH if a node has the whole tree") {
  TransferBench bench(4);
  bench.from_controller = true;
  bench.holders = {1};
  std::atomic<int> relays = 0;
  bench.options.relay = [&](std::size_t, const std::string&, const std::stop_token&) -> Result<CopyRelay> {
    ++relays;
    return failure(ErrorCode::kUnreachable, "no way");
  };
  const auto outcomes = bench.run();
  CHECK_FALSE(outcomes[2].error);
  CHECK_FALSE(outcomes[3].error);
  CHECK(relays == 0);
}

TEST_CASE("transfer: the slower end decides how many connections there are") {
  TransferBench bench(2);
  bench.nodes[0].reaction = with_processors(20);
  std::size_t wanted = 0;  // On each of two paths.
  SECTION("both are large") {
    bench.nodes[1].reaction = with_processors(20);
    wanted = 8;
  }
  SECTION("one is small") {
    bench.nodes[1].reaction = with_processors(2);
    wanted = 4;
  }
  SECTION("one is not known") { wanted = 4; }
  SECTION("a number is given") {
    bench.options.streams = 2;
    wanted = 1;
  }
  CHECK_FALSE(bench.run()[1].error);
  for (const CopyServe& serve : bench.nodes[0].all<CopyServe>()) CHECK(serve.tokens.size() == wanted * kCopyTokenBytes);
}

}  // namespace sparkplan
