// A transfer with nodes that lie, flood or fall silent. The first node is the source.
#include "engine/sync/transfer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "tests/support/catch.h"
#include "tests/unit/sync/transfer_bench.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using test::CopyNode;
using test::honest;
using test::kOfSecond;
using test::kOfSource;
using test::kSize;
using test::Peer;
using test::say;
using test::say_now_and_then;
using test::senders_of;
using test::TransferBench;

/// As honest(), over any network.
void honest_anywhere(const CopyCommand& command, Peer& self) {
  if (std::holds_alternative<CopyFetch>(command)) {
    say(self, CopyComplete{0});
  } else {
    honest(command, self);
  }
}

std::string record(std::uint8_t file, char digest) {
  return std::string(3, '\0') + static_cast<char>(file) + std::string(4, '\0') + std::string(kCopyDigestBytes, digest);
}

}  // namespace

TEST_CASE("transfer: a chain of honest nodes is complete") {
  TransferBench bench(3);
  const auto outcomes = bench.run();
  for (const auto& outcome : outcomes) CHECK_FALSE(outcome.error);
  CHECK(senders_of(bench.nodes[2]).front() == kOfSecond);
}

TEST_CASE("transfer: a node that is complete before it has begun fails alone") {
  TransferBench bench(3);
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyBegin>(command)) say(self, CopyComplete{kSize});
  };
  const auto outcomes = bench.run();
  CHECK(outcomes[1].error);
  CHECK_FALSE(outcomes[2].error);
}

TEST_CASE("transfer: a source that is complete fails the transfer, and does not end it as a success") {
  TransferBench bench(2);
  bench.nodes[0].reaction = [](const CopyCommand& command, Peer& self) {
    honest(command, self);
    if (std::holds_alternative<CopyBegin>(command)) say(self, CopyComplete{kSize});
  };
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyBegin>(command)) honest(command, self);
  };
  CHECK(bench.run()[1].error);
}

TEST_CASE("transfer: a node that never begins fails, silent or not, and the others do not wait for it") {
  TransferBench bench(3);
  bench.options.patience.silence = milliseconds(500);
  bench.options.patience.begin = milliseconds(2000);
  bench.options.patience.late_begin = milliseconds(20);
  for (CopyNode& node : bench.nodes) {
    node.reaction = [](const CopyCommand& command, Peer& self) {
      honest(command, self);
      if (std::holds_alternative<CopyBegin>(command)) say_now_and_then(self, CopyProgress{});
    };
  }
  SECTION("silent") {
    bench.nodes[1].reaction = [](const CopyCommand&, Peer&) {};
  }
  SECTION("with signs of life") {
    bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
      if (std::holds_alternative<CopyBegin>(command)) say_now_and_then(self, CopyProgress{});
    };
  }
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->code == ErrorCode::kUnreachable);
  CHECK_FALSE(outcomes[2].error);
  CHECK(outcomes[2].seconds < 1.5);
}

TEST_CASE("transfer: a node that takes the list of files slowly has the deadline of one that begins slowly") {
  TransferBench bench(2);
  bench.files = 10 * kMostEntriesInFrame;
  // Over before the first part of the list was taken. The source is too late then as well, and either error can be
  // first.
  bench.options.patience.begin = milliseconds(0);
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(bench.nodes[1].all<CopyExpect>().size() < 10);
  CHECK(bench.nodes[1].all<CopyBegin>().empty());
}

TEST_CASE("transfer: a node that goes away once it is complete leaves those behind it to another") {
  TransferBench bench(3);
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyServe>(command)) return;
    honest(command, self);
    if (!std::holds_alternative<CopyFetch>(command)) return;
    self.on_read = [](Peer& peer) { peer.cut = peer.output.empty(); };
  };
  const auto outcomes = bench.run();
  CHECK_FALSE(outcomes[1].error);
  CHECK_FALSE(outcomes[2].error);
  CHECK(senders_of(bench.nodes[2]).front() == kOfSource);
}

TEST_CASE("transfer: a node that sends nothing is left, and its receiver gets all from another") {
  TransferBench bench(3);
  bench.options.patience.stall = milliseconds(100);
  bench.nodes[2].reaction = [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr || fetch->address == kOfSource) return honest(command, self);
    say_now_and_then(self, CopyProgress{});
  };
  const auto outcomes = bench.run();
  CHECK_FALSE(outcomes[1].error);
  CHECK_FALSE(outcomes[2].error);
  CHECK(bench.nodes[2].all<CopyDrop>().size() == 2);
  CHECK(senders_of(bench.nodes[2]).front() == kOfSecond);
}

TEST_CASE("transfer: a receiver that never advances ends with the name of what it has received from") {
  TransferBench bench(2);
  bench.options.patience.stall = milliseconds(50);
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyFetch>(command)) return say_now_and_then(self, CopyProgress{});
    honest(command, self);
  };
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->describe().find("receive from n1") != std::string::npos);
}

TEST_CASE("transfer: a node that has all bytes and does not finish, or is slow without end, has a deadline") {
  TransferBench bench(2);
  bench.options.patience.finish = milliseconds(100);
  bench.options.patience.total = milliseconds(400);
  std::int64_t done = kSize;
  SECTION("has all") {}
  SECTION("is slow") { done = 1; }
  bench.nodes[1].reaction = [done](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyFetch>(command)) return honest(command, self);
    CopyProgress progress;
    progress.done_bytes = done;
    say_now_and_then(self, progress);
  };
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->code == ErrorCode::kUnreachable);
}

TEST_CASE("transfer: a node that serves wrong bytes is not asked again, and its receiver does not fail") {
  TransferBench bench(3);
  bench.nodes[2].reaction = [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr || fetch->address.ends_with(".11")) return honest(command, self);
    say(self, CopyLinkLost{fetch->link, make_error(ErrorCode::kVerifyFailed, "another digest")});
  };
  const auto outcomes = bench.run();
  CHECK_FALSE(outcomes[2].error);
  const auto senders = senders_of(bench.nodes[2]);
  CHECK(std::count(senders.begin(), senders.end(), kOfSecond) == 1);
}

TEST_CASE("transfer: a node that claims wrong bytes moves alone to another sender, and the accused one does not fail") {
  TransferBench bench(4);
  bench.nodes[2].reaction = [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr || !fetch->address.ends_with(".12")) return honest(command, self);
    say(self, CopyLinkLost{fetch->link, make_error(ErrorCode::kVerifyFailed, "another digest")});
  };
  for (const auto& outcome : bench.run()) CHECK_FALSE(outcome.error);
  // The source, or n4 if that has everything by then.
  CHECK_FALSE(senders_of(bench.nodes[2]).back().ends_with(".12"));
  for (const std::string& sender : senders_of(bench.nodes[1])) CHECK(sender.ends_with(".11"));
  for (const std::string& sender : senders_of(bench.nodes[3])) CHECK(sender.ends_with(".13"));
}

TEST_CASE("transfer: wrong bytes from the only sender are its fault in the error") {
  TransferBench bench(2);
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr) return honest(command, self);
    say(self, CopyLinkLost{fetch->link, make_error(ErrorCode::kVerifyFailed, "another digest")});
  };
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->describe() == "receive from n1: another digest");
}

TEST_CASE("transfer: a flood of progress fails its node, and little of it is shown") {
  TransferBench bench(3);
  std::atomic<int> shown{0};
  bench.options.progress = [&](std::size_t, const TransferProgress&) { ++shown; };
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    honest(command, self);
    if (!std::holds_alternative<CopyBegin>(command)) return;
    self.on_read = [](Peer& peer) { say(peer, CopyProgress{}); };
  };
  bench.nodes[2].reaction = [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    // Not before the flood has ended.
    if (fetch == nullptr || fetch->address == kOfSource) honest(command, self);
  };
  const auto outcomes = bench.run();
  REQUIRE((outcomes[1].error || outcomes[1].seconds > 0));
  CHECK_FALSE(outcomes[2].error);
  CHECK(shown < 10);
}

TEST_CASE("transfer: a digest that the source repeats is passed on once, and one of no chunk fails it") {
  TransferBench bench(2);
  std::string digests = record(0, 'a');
  SECTION("repeated") { digests += record(0, 'a') + record(0, 'b'); }
  SECTION("of no chunk") { digests += record(7, 'a'); }
  bench.nodes[0].reaction = [&](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyServe>(command)) {
      say(self, CopyDigests{digests});
      say(self, CopyDigests{digests});
    }
    honest(command, self);
  };
  const auto outcomes = bench.run();
  std::string received;
  for (const CopyDigests& part : bench.nodes[1].all<CopyDigests>()) received += part.records;
  if (digests.ends_with(record(7, 'a'))) {
    CHECK(outcomes[1].error);
  } else {
    CHECK(received == record(0, 'a'));
  }
}

TEST_CASE("transfer: digests that a source sends at once reach each receiver in small pieces, and each once") {
  constexpr std::size_t kFiles = 5000;
  constexpr std::size_t kMostInPiece = 80'000;
  TransferBench bench(3);
  bench.files = kFiles;
  std::string all;
  for (std::size_t file = 0; file < kFiles; ++file) {
    std::string one = record(static_cast<std::uint8_t>(file & 0xffU), 'a');
    one[2] = static_cast<char>(file >> 8U);
    all += one;
  }
  bench.nodes[0].reaction = [&](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyServe>(command)) say(self, CopyDigests{all});
    honest(command, self);
  };
  for (std::size_t i = 1; i < bench.nodes.size(); ++i) {
    bench.nodes[i].reaction = [&all, received = std::make_shared<std::string>()](const CopyCommand& command,
                                                                                 Peer& self) {
      if (const auto* part = std::get_if<CopyDigests>(&command)) {
        *received += part->records;
        if (*received == all) say(self, CopyComplete{0});
      } else if (!std::holds_alternative<CopyFetch>(command)) {
        honest(command, self);
      }
    };
  }
  const auto outcomes = bench.run();
  for (std::size_t i = 1; i < bench.nodes.size(); ++i) {
    CHECK_FALSE(outcomes[i].error);
    for (const CopyDigests& part : bench.nodes[i].all<CopyDigests>()) CHECK(part.records.size() <= kMostInPiece);
  }
}

TEST_CASE("transfer: a node with the whole tree, the source too, gets no digests") {
  TransferBench bench(3);
  bench.has_digests = true;
  bench.holders = {1};
  (void)bench.run();
  for (std::size_t i = 0; i < bench.nodes.size(); ++i) {
    for (const CopyExpect& part : bench.nodes[i].all<CopyExpect>()) {
      for (const CopyEntry& entry : part.entries) CHECK(entry.digests.empty() == (i < 2));
    }
  }
}

TEST_CASE("transfer: a link that is served twice fails its sender, and is fetched once") {
  TransferBench bench(3);
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyFetch>(command)) return;
    honest(command, self);
    const auto* serve = std::get_if<CopyServe>(&command);
    if (serve != nullptr) say(self, CopyServing{serve->link, 1234});
  };
  bench.nodes[2].reaction = [](const CopyCommand& command, Peer& self) {
    const auto* fetch = std::get_if<CopyFetch>(&command);
    if (fetch == nullptr || fetch->address.ends_with(".11")) honest(command, self);
  };
  const auto outcomes = bench.run();
  CHECK(outcomes[1].error);
  CHECK_FALSE(outcomes[2].error);
  const auto senders = senders_of(bench.nodes[2]);
  CHECK(std::count(senders.begin(), senders.end(), kOfSecond) <= 1);
}

TEST_CASE("transfer: an exception over one node's data fails that node alone") {
  TransferBench bench(3);
  bench.options.progress = [](std::size_t member, const TransferProgress&) {
    if (member == 1) throw std::runtime_error("no memory");
  };
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    honest(command, self);
    if (std::holds_alternative<CopyBegin>(command)) say(self, CopyProgress{});
  };
  const auto outcomes = bench.run();
  CHECK(outcomes[1].error);
  CHECK_FALSE(outcomes[2].error);
}

TEST_CASE("transfer: a node without a fabric address receives over the management network, encrypted") {
  TransferBench bench(3);
  bench.has_addresses = true;
  bench.cluster.nodes[1].fabric.clear();
  bench.nodes[1].reaction = honest_anywhere;
  const auto outcomes = bench.run();
  CHECK_FALSE(outcomes[1].error);
  CHECK(outcomes[1].network == Network::kManagement);
  CHECK(outcomes[2].network == Network::kFabric);
  const auto fetches = bench.nodes[1].all<CopyFetch>();
  REQUIRE(fetches.size() == 1);
  CHECK(fetches[0].address == "10.0.0.13");  // It is the last one of the chain.
  CHECK(fetches[0].own == "10.0.0.12");
  CHECK(fetches[0].keys.size() == fetches[0].tokens.size());
  for (const CopyFetch& fetch : bench.nodes[2].all<CopyFetch>()) CHECK(fetch.keys.empty());
}

TEST_CASE("transfer: without a fabric and without known addresses a node fails, and the others go on") {
  TransferBench bench(3);
  bench.cluster.nodes[1].fabric.clear();
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->code == ErrorCode::kUnreachable);
  CHECK_FALSE(outcomes[2].error);
}

TEST_CASE("transfer: from the controller one node receives over SSH, and the next one from that node") {
  TransferBench bench(3);
  bench.from_controller = true;
  std::atomic<int> of_second = 0;
  std::atomic<int> of_third = 0;
  std::atomic<int> without_token = 0;
  std::promise<void> third_fetches;
  const auto fetched = third_fetches.get_future().share();
  std::once_flag first;
  bench.nodes[2].reaction = [&](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyFetch>(command)) std::call_once(first, [&] { third_fetches.set_value(); });
    honest(command, self);
  };
  bench.options.relay = [&](std::size_t member, const std::string& token, const std::stop_token&) -> Result<CopyRelay> {
    if (token.size() != kCopyTokenBytes) ++without_token;
    ++(member == 1 ? of_second : of_third);
    // Without the second node, the third one would receive from the controller.
    (void)fetched.wait_for(std::chrono::seconds(20));
    return failure(ErrorCode::kUnreachable, "no way");
  };
  (void)bench.run();
  CHECK(of_second > 0);
  CHECK(of_third == 0);
  CHECK(without_token == 0);
  CHECK(bench.nodes[2].all<CopyFetch>().front().address == kOfSecond);
  for (const CopyServe& serve : bench.nodes[0].all<CopyServe>()) CHECK(serve.address == "127.0.0.1");
}

TEST_CASE("transfer: a way from the controller that fails is the error of the node") {
  TransferBench bench(2);
  bench.from_controller = true;
  bench.options.relay = [](std::size_t, const std::string&, const std::stop_token&) -> Result<CopyRelay> {
    return failure(ErrorCode::kUnreachable, "no way");
  };
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->describe().find("no way") != std::string::npos);
}

}  // namespace sparkplan
