// A transfer in which connections break again and again. The first node is the source.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "tests/support/catch.h"
#include "tests/unit/sync/transfer_bench.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using test::CopyNode;
using test::honest;
using test::kOfSecond;
using test::kOfSource;
using test::Peer;
using test::say;
using test::say_now_and_then;
using test::senders_of;
using test::TransferBench;

constexpr std::int64_t kLargeTree = std::int64_t{1} << 40;
constexpr std::int64_t kManyBytes = std::int64_t{64} << 20;
constexpr std::ptrdiff_t kHalves = 2;  // Each has a link.

void lose(Peer& self, const CopyFetch& fetch) {
  say(self, CopyLinkLost{fetch.link, make_error(ErrorCode::kUnreachable, "the cable is out")});
}

/// Has more bytes with each link, and loses it. The link after the last of `flaps` brings all.
struct FlappingReceiver {
  void take(const CopyFetch& fetch, Peer& self) {
    if (!fetch.address.starts_with("192.168.100.")) return lose(self, fetch);
    if (links == flaps) return say(self, CopyComplete{0});
    CopyProgress progress;
    progress.done_bytes = ++links * kManyBytes;
    say(self, progress);
    lose(self, fetch);
  }

  std::int64_t flaps = std::numeric_limits<std::int64_t>::max();
  std::int64_t links = 0;
};

std::ptrdiff_t fetches_from(const CopyNode& node, const std::string& address) {
  const auto senders = senders_of(node);
  return std::count(senders.begin(), senders.end(), address);
}

}  // namespace

TEST_CASE("transfer: the relay of a link that is lost ends at once") {
  constexpr int kRelays = 4;  // Two at a time. After so many losses the only sender is unfit.
  TransferBench bench(2);
  bench.from_controller = true;
  std::atomic<int> opened = 0;
  std::atomic<int> stopped = 0;
  std::atomic<int> lost = 0;
  bench.options.relay = [&](std::size_t, const std::string&, const std::stop_token& stop) -> Result<CopyRelay> {
    ++opened;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (stop.stop_requested()) ++stopped;
    return failure(ErrorCode::kInterrupted, "stopped");
  };
  bench.nodes[1].reaction = [&](const CopyCommand& command, Peer& self) {
    honest(command, self);
    if (!std::holds_alternative<CopyBegin>(command)) return;
    // Loses each link, and the second one only once the first relay has ended.
    self.on_read = [&](Peer& peer) {
      if (lost >= opened || lost > stopped) return;
      say(peer, CopyLinkLost{++lost, make_error(ErrorCode::kUnreachable, "lost")});
    };
  };
  const auto outcomes = bench.run();
  CHECK(outcomes[1].error);
  CHECK(lost == kRelays);
  CHECK(stopped == kRelays);
}

TEST_CASE("transfer: a receiver whose senders fail one after the other does not fail with them") {
  constexpr int kDeaths = 6;
  TransferBench bench(kDeaths + 2);
  bench.has_digests = true;
  int fatal_serve = 1;
  bool loses_first = false;
  SECTION("the controller knows it first") {}
  SECTION("the receiver has lost the connections before") {
    fatal_serve = 1 + static_cast<int>(kHalves);
    loses_first = true;
  }
  std::atomic<int> deaths = 0;
  for (std::size_t i = 0; i + 1 < bench.nodes.size(); ++i) {
    if (i > 0) bench.holders.insert(i);
    bench.nodes[i].reaction = [&, serves = std::make_shared<int>(0)](const CopyCommand& command, Peer& self) {
      honest(command, self);
      if (!std::holds_alternative<CopyServe>(command) || ++*serves != fatal_serve) return;
      if (++deaths <= kDeaths) self.on_read = [](Peer& peer) { peer.cut = peer.output.empty(); };
    };
  }
  std::map<std::string, int> fetched;  // By address.
  bench.nodes.back().reaction = [&](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    if (++fetched[fetch->address] == 1 && loses_first) return lose(self, *fetch);
    if (deaths > kDeaths) honest(command, self);
  };
  const auto outcomes = bench.run();
  CHECK(deaths > kDeaths);
  CHECK_FALSE(outcomes.back().error);
}

TEST_CASE("transfer: a receiver that gets many bytes between two losses keeps its only sender") {
  constexpr std::int64_t kFlaps = 10;
  TransferBench bench(2);
  bench.size = kLargeTree;
  FlappingReceiver receiver{kFlaps};
  bench.nodes[1].reaction = [&](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    receiver.take(*fetch, self);
  };
  CHECK_FALSE(bench.run()[1].error);
  CHECK(fetches_from(bench.nodes[1], kOfSource) == kFlaps + 1);
}

TEST_CASE("transfer: a sender has to end the links that its receiver has lost or left") {
  constexpr std::int64_t kFlaps = 3;
  TransferBench bench(2);
  bench.size = kLargeTree;
  FlappingReceiver receiver{kFlaps};
  bench.nodes[1].reaction = [&](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    receiver.take(*fetch, self);
  };
  CHECK_FALSE(bench.run()[1].error);
  std::set<std::int64_t> dropped;
  for (const CopyDrop& drop : bench.nodes[0].all<CopyDrop>()) dropped.insert(drop.link);
  const auto served = bench.nodes[0].all<CopyServe>();
  REQUIRE(static_cast<std::ptrdiff_t>(served.size()) == kHalves * (kFlaps + 1));
  for (std::size_t i = 0; i < static_cast<std::size_t>(kHalves * kFlaps); ++i) CHECK(dropped.contains(served[i].link));
}

TEST_CASE("transfer: bytes that do not fit the digests of a source are not the fault of their sender alone") {
  TransferBench bench(3);
  bench.holders = {1};
  bench.has_digests = true;
  bench.nodes[2].reaction = [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    if (fetch->address.ends_with(".11")) return lose(self, *fetch);
    say(self, CopyLinkLost{fetch->link, make_error(ErrorCode::kVerifyFailed, "chunk 0 has another digest")});
  };
  const auto outcomes = bench.run();
  REQUIRE(outcomes[2].error);
  const std::string text = outcomes[2].error->describe();
  INFO(text);
  CHECK(text.find("receive from n2, with the digests of the source n1") != std::string::npos);
  CHECK(text.find("chunk 0 has another digest") != std::string::npos);
}

TEST_CASE("transfer: a receiver that loses each link without a byte more fails, and the error says so") {
  constexpr std::ptrdiff_t kMostLinks = 5;
  TransferBench bench(6);
  bench.holders = {1, 2, 3, 4};
  bench.has_digests = true;
  bench.nodes[5].reaction = [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    lose(self, *fetch);
  };
  const auto outcomes = bench.run();
  REQUIRE(outcomes[5].error);
  CHECK(outcomes[5].error->describe().find("break again and again") != std::string::npos);
  CHECK(outcomes[5].error->describe().find("the cable is out") != std::string::npos);
  CHECK(static_cast<std::ptrdiff_t>(senders_of(bench.nodes[5]).size()) == kHalves * kMostLinks);
}

TEST_CASE("transfer: a receiver that claims many bytes between losses without end fails") {
  constexpr std::size_t kMostFetches = 60;
  TransferBench bench(2);
  bench.size = kLargeTree;
  FlappingReceiver receiver;
  bench.nodes[1].reaction = [&](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    receiver.take(*fetch, self);
  };
  CHECK(bench.run()[1].error);
  CHECK(senders_of(bench.nodes[1]).size() < kMostFetches);
}

TEST_CASE("transfer: a sender that ends its connections again and again is left, whatever it sends between") {
  constexpr std::ptrdiff_t kMostLinks = 5;
  TransferBench bench(3);
  bench.size = kLargeTree;
  std::atomic<bool> is_left = false;
  bench.nodes[1].reaction = [&](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyFetch>(command)) return honest(command, self);
    // While it is not complete, it keeps its place in the chain.
    self.on_read = [&, told = std::make_shared<bool>(false)](Peer& peer) {
      if (is_left && !std::exchange(*told, true)) say(peer, CopyComplete{0});
    };
  };
  FlappingReceiver receiver;
  bench.nodes[2].reaction = [&](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr || fetch->address.ends_with(".11")) {
      is_left = is_left || fetch != nullptr;
      return honest(command, self);
    }
    receiver.take(*fetch, self);
  };
  const auto outcomes = bench.run();
  CHECK_FALSE(outcomes[1].error);
  CHECK_FALSE(outcomes[2].error);
  CHECK(fetches_from(bench.nodes[2], kOfSecond) == kMostLinks);
  CHECK(senders_of(bench.nodes[2]).back().ends_with(".11"));
}

TEST_CASE("transfer: a node that loses its links again and again does not hold the nodes behind it") {
  TransferBench bench(3);
  bench.size = kLargeTree;
  bench.options.patience.stall = milliseconds(500);
  std::atomic<bool> is_left = false;
  FlappingReceiver receiver;
  bench.nodes[1].reaction = [&](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    if (!fetch->address.starts_with("192.168.100.")) return lose(self, *fetch);
    if (is_left) return say(self, CopyComplete{0});
    // It waits before each loss: with all of them, for longer than a receiver waits for a byte.
    const auto due = std::chrono::steady_clock::now() + milliseconds(100);
    self.on_read = [&, due, fetch = *fetch](Peer& peer) {
      if (std::chrono::steady_clock::now() < due) return;
      receiver.take(fetch, peer);
      peer.on_read = [](Peer&) {};
    };
  };
  bench.nodes[2].reaction = [&](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    if (fetch->address.ends_with(".12")) return say_now_and_then(self, CopyProgress{});
    is_left = true;
    honest(command, self);
  };
  const auto outcomes = bench.run();
  // Else its losses would have become too many first.
  CHECK_FALSE(outcomes[1].error);
  CHECK_FALSE(outcomes[2].error);
}

}  // namespace sparkplan
