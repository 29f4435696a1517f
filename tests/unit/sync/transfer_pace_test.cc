// A transfer in which a node is slow. The first node is the source.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/sync/transfer_bench.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using test::honest;
using test::kSize;
using test::Peer;
using test::say;
using test::say_now_and_then;
using test::senders_of;
using test::TransferBench;

/// The messages of a node so far, one every 20 ms. A fake copies its reaction before each call, so reactions share
/// this.
struct Said {
  using Clock = std::chrono::steady_clock;
  Clock::time_point next = Clock::now();
  std::int64_t count = 0;

  bool is_due() {
    if (Clock::now() < next) return false;
    next = Clock::now() + milliseconds(20);
    return true;
  }
};

/// Gets next to nothing from the sender whose addresses end so, and all from any other one.
test::CopyReaction waits_for(const std::string& sender) {
  return [sender](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr || !fetch->address.ends_with(sender)) return honest(command, self);
    CopyProgress progress;
    progress.done_bytes = 1;
    say_now_and_then(self, progress);
  };
}

/// As waits_for(), and claims to receive more and more.
test::CopyReaction claims_much_from(const std::string& sender) {
  return [sender](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr || !fetch->address.ends_with(sender)) return honest(command, self);
    self.on_read = [state = std::make_shared<Said>()](Peer& peer) {
      if (!state->is_due()) return;
      CopyProgress progress;
      progress.done_bytes = 1;
      progress.received_bytes = ++state->count * 1'000'000'000'000;
      say(peer, progress);
    };
  };
}

/// Gets a byte now and then from the sender whose addresses end so, and all from any other one.
test::CopyReaction gets_little_from(const std::string& sender) {
  return [sender](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr || !fetch->address.ends_with(sender)) return honest(command, self);
    self.on_read = [state = std::make_shared<Said>()](Peer& peer) {
      constexpr std::int64_t kEach = 5;  // 100 ms: ten seconds for all of them.
      if (!state->is_due() || ++state->count % kEach != 0) return;
      CopyProgress progress;
      progress.done_bytes = state->count / kEach;
      say(peer, progress);
    };
  };
}

/// Has a little more with each message, until it has all.
test::CopyReaction grows() {
  return [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    if (!fetch->address.starts_with("192.168.100.")) return;
    self.on_read = [state = std::make_shared<Said>()](Peer& peer) {
      if (state->count >= kSize || !state->is_due()) return;
      CopyProgress progress;
      progress.done_bytes = ++state->count;
      say(peer, progress);
      if (state->count == kSize) say(peer, CopyComplete{kSize});
    };
  };
}

/// Has next to nothing for longer than grows() takes, and then all.
test::CopyReaction late() {
  return [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    if (!fetch->address.starts_with("192.168.100.")) return;
    self.on_read = [state = std::make_shared<Said>()](Peer& peer) {
      constexpr std::int64_t kMessages = kSize + 25;
      if (state->count > kMessages || !state->is_due()) return;
      CopyProgress progress;
      progress.done_bytes = 1;
      say(peer, progress);
      if (++state->count > kMessages) say(peer, CopyComplete{kSize});
    };
  };
}

/// Each node with the next one; as many cables as nodes make a ring.
void join_by_cables(TransferBench& bench, std::size_t cables) {
  const auto& nodes = bench.cluster.nodes;
  for (std::size_t i = 0; i < cables; ++i) {
    bench.cluster.cables.emplace_back(nodes[i].name, nodes[(i + 1) % nodes.size()].name);
  }
}

}  // namespace

TEST_CASE("transfer: the last progress of a node that is complete has all bytes") {
  TransferBench bench(2);
  std::vector<TransferProgress> shown;
  bench.options.progress = [&](std::size_t member, const TransferProgress& progress) {
    CHECK(member == 1);
    shown.push_back(progress);
  };
  bench.run();
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].finished);
  CHECK(shown[0].done_bytes == kSize);
  CHECK(shown[0].total_bytes == kSize);
  CHECK(shown[0].phase == TransferPhase::kReceiving);
}

TEST_CASE("transfer: a node that falls far behind its sender goes to the end of the chain and is named") {
  TransferBench bench(4);
  bench.options.patience.lag = milliseconds(300);
  bench.options.patience.least_lag = 10;
  bench.nodes[1].reaction = grows();
  bench.nodes[2].reaction = waits_for(".12");
  bench.nodes[3].reaction = waits_for(".13");
  const auto outcomes = bench.run();
  for (const auto& outcome : outcomes) CHECK_FALSE(outcome.error);
  CHECK_FALSE(outcomes[1].slow);
  CHECK(outcomes[2].slow);
  CHECK(outcomes[2].slower_than == "n2");
  CHECK_FALSE(outcomes[3].slow);
  CHECK(senders_of(bench.nodes[3]).back().ends_with(".12"));
  CHECK(senders_of(bench.nodes[2]).back().ends_with(".14"));
}

TEST_CASE("transfer: a slow node that claims to receive much goes to the end of the chain all the same") {
  TransferBench bench(4);
  bench.options.patience.lag = milliseconds(300);
  bench.options.patience.least_lag = 10;
  bench.nodes[1].reaction = grows();
  bench.nodes[2].reaction = claims_much_from(".12");
  bench.nodes[3].reaction = waits_for(".13");
  const auto outcomes = bench.run();
  for (const auto& outcome : outcomes) CHECK_FALSE(outcome.error);
  CHECK(outcomes[2].slow);
  CHECK(senders_of(bench.nodes[3]).back().ends_with(".12"));
}

TEST_CASE("transfer: the first receiver leaves its place once, as only the next one shows who is slow") {
  TransferBench bench(3);
  bench.options.patience.lag = milliseconds(300);
  bench.options.patience.least_lag = 1;
  bench.nodes[1].reaction = waits_for(".11");
  bench.nodes[2].reaction = waits_for(".12");
  const auto outcomes = bench.run();
  for (const auto& outcome : outcomes) {
    CHECK_FALSE(outcome.error);
    CHECK_FALSE(outcome.slow);
  }
  CHECK(senders_of(bench.nodes[2]).back().ends_with(".11"));
  CHECK(senders_of(bench.nodes[1]).back().ends_with(".13"));
}

TEST_CASE("transfer: on a ring, the nodes behind a slow one receive from the other side, and it is named") {
  TransferBench bench(4);
  join_by_cables(bench, 4);
  bench.options.patience.lag = milliseconds(300);
  bench.options.patience.least_lag = 10;
  bench.nodes[1].reaction = late();
  bench.nodes[2].reaction = waits_for(".12");
  bench.nodes[3].reaction = grows();
  const auto outcomes = bench.run();
  for (const auto& outcome : outcomes) CHECK_FALSE(outcome.error);
  CHECK(outcomes[1].slow);
  // The other neighbour of the source: the report says by whose claims the node is slow.
  CHECK(outcomes[1].slower_than == "n4");
  CHECK_FALSE(outcomes[1].delays);
  CHECK_FALSE(outcomes[3].slow);
  CHECK(senders_of(bench.nodes[2]).back().ends_with(".14"));
  // It keeps its own sender: what it drops is what n3 received from it.
  const auto dropped = bench.nodes[1].all<CopyDrop>();
  const auto fetched = bench.nodes[1].all<CopyFetch>();
  CHECK(std::ranges::none_of(dropped, [&](const CopyDrop& drop) {
    return std::ranges::any_of(fetched, [&](const CopyFetch& fetch) { return fetch.link == drop.link; });
  }));
}

TEST_CASE("transfer: a slow node that is the only way is named, and those behind it keep it") {
  TransferBench bench(4);
  join_by_cables(bench, 3);
  bench.options.patience.lag = milliseconds(300);
  bench.options.patience.least_lag = 10;
  bench.nodes[1].reaction = grows();
  bench.nodes[2].reaction = late();
  bench.nodes[3].reaction = late();
  const auto outcomes = bench.run();
  for (const auto& outcome : outcomes) CHECK_FALSE(outcome.error);
  CHECK(outcomes[2].slow);
  CHECK(outcomes[2].delays);
  CHECK_FALSE(outcomes[3].slow);
  CHECK(bench.nodes[3].all<CopyDrop>().empty());
}

TEST_CASE("transfer: a sender that has everything and sends too little to end in time is left for another one") {
  TransferBench bench(4);
  bench.options.patience.stall = milliseconds(250);
  bench.options.patience.total = milliseconds(5000);
  std::size_t receiver = 0;
  SECTION("a second source") {
    bench.holders = {1};
    bench.has_digests = true;
    receiver = 3;
  }
  SECTION("a node that is soon complete") {
    bench.options.patience.lag = milliseconds(100);
    bench.options.patience.least_lag = 10;
    bench.nodes[1].reaction = grows();
    receiver = 2;
  }
  bench.nodes[receiver].reaction = gets_little_from(".12");
  const auto outcomes = bench.run();
  for (const auto& outcome : outcomes) CHECK_FALSE(outcome.error);
  // The claims of its sender do not make it a slow node.
  CHECK_FALSE(outcomes[receiver].slow);
  CHECK(outcomes[receiver].slower_than.empty());
  CHECK(senders_of(bench.nodes[receiver]).front().ends_with(".12"));
  CHECK_FALSE(senders_of(bench.nodes[receiver]).back().ends_with(".12"));
}

TEST_CASE("transfer: a node behind one that claims to be late waits for it, but only for half of the time") {
  TransferBench bench(4);
  bench.options.patience.stall = milliseconds(250);
  bench.options.patience.total = milliseconds(4000);
  bench.nodes[1].reaction = gets_little_from(".11");
  bench.nodes[2].reaction = gets_little_from(".12");
  const auto outcomes = bench.run();
  CHECK(outcomes[1].error);
  CHECK_FALSE(outcomes[2].error);
  CHECK(outcomes[2].seconds > 1.9);
  CHECK_FALSE(senders_of(bench.nodes[2]).back().ends_with(".12"));
  CHECK_FALSE(outcomes[3].error);
}

TEST_CASE("transfer: with cables in a line the node behind a slow one waits until the deadline of the transfer") {
  TransferBench bench(4);
  join_by_cables(bench, 3);
  bench.options.patience.lag = milliseconds(50);
  bench.options.patience.least_lag = 1;
  bench.options.patience.total = milliseconds(800);
  bench.nodes[1].reaction = waits_for(".11");
  bench.nodes[2].reaction = waits_for(".12");
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->code == ErrorCode::kUnreachable);
  CHECK(senders_of(bench.nodes[2]).front().ends_with(".12"));
  // At the deadline, n3 fails with n2, or gets all from n4 at once.
  CHECK((outcomes[2].error || outcomes[2].seconds > 0.5));
  CHECK_FALSE(outcomes[3].error);
}

}  // namespace sparkplan
