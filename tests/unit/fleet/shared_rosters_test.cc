// Equal rosters travel once: the controller offers the digests of those that it has.
#include "engine/fleet/session/shared_rosters.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "engine/core/json.h"
#include "engine/fleet/session/node_reply.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/wire/facts_messages.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::FleetBench;
using test::kManifestFile;
using test::standing;

Roster roster_number(std::int64_t number) {
  Roster roster{"lab", "uuid", number, {}};
  roster.members.emplace_back().name = "n1";
  return roster;
}

/// One facts request and its reply, as they crossed the connection.
struct Exchange {
  std::string node;
  std::vector<std::string> offered;
  FactsReply reply;
};

/// Runs against real agents, records their facts and may change them on the way.
struct Wiretap {
  std::mutex mutex;
  std::vector<Exchange> exchanges;
  std::function<void(Exchange&)> change = [](Exchange&) {};
  std::vector<std::int64_t> patiences;         // Of all facts requests.
  std::map<std::string, std::int64_t> minors;  // What a node claims in place of kProtocolMinor.

  std::vector<Exchange> of(const std::string& node) {
    const std::lock_guard lock(mutex);
    std::vector<Exchange> own;
    std::copy_if(exchanges.begin(), exchanges.end(), std::back_inserter(own),
                 [&](const Exchange& one) { return one.node == node; });
    return own;
  }
};

class TappedChannel final : public Channel {
 public:
  TappedChannel(std::unique_ptr<Channel> agent, std::string node, Wiretap& tap)
      : agent_(std::move(agent)), node_(std::move(node)), tap_(tap) {}

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) override {
    std::string bytes;
    SPARK_CHECK(agent_->read_some(bytes, patience));
    if (bytes.empty()) return std::size_t{0};
    from_agent_.feed(bytes);
    const auto before = into.size();
    if (!std::exchange(greeted_, true)) into += kPreamble;
    while (true) {
      auto message = from_agent_.next();
      if (!message || !*message) break;
      SPARK_TRY(const auto frame, encode_frame(passed_on(std::move(**message))));
      into += frame;
    }
    return into.size() - before;
  }
  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) override {
    from_controller_.feed(bytes);
    while (true) {
      const auto message = from_controller_.next();
      if (!message || !*message) break;
      const auto request = decode_request(**message);
      if (!request) continue;
      const auto* facts = std::get_if<FactsRequest>(&request->request);
      if (facts == nullptr) continue;
      asked_[request->id] = facts->known_rosters;
      const std::lock_guard lock(tap_.mutex);
      tap_.patiences.push_back(facts->patience_ms);
    }
    return agent_->write_all(bytes, deadline);
  }
  void close_input() override { agent_->close_input(); }
  std::optional<int> exit_status() override { return agent_->exit_status(); }
  const std::string& standard_error() const override { return agent_->standard_error(); }

 private:
  Value passed_on(Value message) {
    if (message.find("hello") != nullptr) {
      auto hello = decode<Hello>(message);
      if (!hello) return message;
      if (const auto claimed = tap_.minors.find(node_); claimed != tap_.minors.end()) {
        hello->protocol_minor = claimed->second;
      }
      return encode(*hello);
    }
    const auto asked = asked_.find(message.integer_or("id", 0));
    if (asked == asked_.end()) return message;
    auto reply = decode_reply(message);
    if (!reply || !reply->body) return message;
    auto facts = decode<FactsReply>(*reply->body);
    if (!facts) return message;
    const std::lock_guard lock(tap_.mutex);
    Exchange exchange{node_, asked->second, *std::move(facts)};
    tap_.change(exchange);
    tap_.exchanges.push_back(exchange);
    return encode(NumberedReply{asked->first, encode(exchange.reply)});
  }

  std::unique_ptr<Channel> agent_;
  std::string node_;
  Wiretap& tap_;
  FrameReader from_agent_;
  FrameReader from_controller_;
  std::map<std::int64_t, std::vector<std::string>> asked_;
  bool greeted_ = false;
};

class TappedConnection final : public Connection {
 public:
  TappedConnection(std::unique_ptr<Connection> connection, std::string node, Wiretap& tap)
      : connection_(std::move(connection)), node_(std::move(node)), tap_(tap) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    SPARK_TRY(auto channel, connection_->start(program, elevation));
    return std::make_unique<TappedChannel>(std::move(channel), node_, tap_);
  }
  std::string host_key() const override { return connection_->host_key(); }

 private:
  std::unique_ptr<Connection> connection_;
  std::string node_;
  Wiretap& tap_;
};

/// Members in sync. From then on the tap sees their facts, one node after the other.
FleetBench tapped_members(std::size_t nodes, Wiretap& tap) {
  FleetBench bench(nodes);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  bench.run.workers = 1;
  bench.run.agent.connector = [&tap](const NodeSpec& node,
                                     const ConnectOptions& options) -> Result<std::unique_ptr<Connection>> {
    SPARK_TRY(auto connection, connect(node, options));
    return std::make_unique<TappedConnection>(std::move(connection), node.name.str(), tap);
  };
  return bench;
}

Roster roster_on(const FleetBench& bench, std::size_t number) {
  auto manifest = decode_manifest(*decode_json(bench.root(number).read(kManifestFile)));
  REQUIRE(manifest);
  return std::move(manifest->roster);
}

}  // namespace

TEST_CASE("shared rosters: equal ones are one object, with the digest that a node computes") {
  SharedRosters rosters;
  const auto first = rosters.share(roster_number(1));
  const auto second = rosters.share(roster_number(1));
  CHECK(first.roster == second.roster);
  CHECK(first.digest == digest_of(roster_number(1)));
  CHECK(rosters.find(first.digest) == first.roster);
  CHECK(rosters.find(digest_of(roster_number(2))) == nullptr);
}

TEST_CASE("shared rosters: the offers are those that most nodes have, at most four") {
  SharedRosters rosters;
  CHECK(rosters.offers().empty());
  rosters.share(Roster{});  // Of a node that was never applied.
  CHECK(rosters.offers().empty());
  for (std::int64_t number = 1; number <= 6; ++number) rosters.share(roster_number(number));
  rosters.share(roster_number(6));
  const auto offers = rosters.offers();
  REQUIRE(offers.size() == kMostOfferedRosters);
  CHECK(offers.front() == digest_of(roster_number(6)));
}

TEST_CASE("shared rosters: a node that sends a new roster with every reply fills a bounded list") {
  SharedRosters rosters;
  const auto honest = rosters.share(roster_number(1));
  for (std::int64_t number = 2; number <= 1000; ++number) rosters.share(roster_number(number));
  CHECK(rosters.share(roster_number(1)).roster == honest.roster);
  CHECK(rosters.share(roster_number(1000)).digest.empty());
  CHECK(rosters.find(digest_of(roster_number(1000))) == nullptr);
  CHECK(rosters.offers().front() == honest.digest);
}

TEST_CASE("agent patience: the first facts request has it, only if the run asks for it") {
  Wiretap tap;
  FleetBench bench = tapped_members(2, tap);
  CHECK(standing(bench.plan()) == "n1 in_sync, n2 in_sync");
  CHECK(tap.patiences == std::vector<std::int64_t>{0, 0});
  bench.run.agent_patience = std::chrono::seconds(20);
  CHECK(standing(bench.plan()) == "n1 in_sync, n2 in_sync");
  CHECK(tap.patiences == std::vector<std::int64_t>{0, 0, 20'000, 20'000});
}

TEST_CASE("known roster: only the first of many equal nodes sends its roster") {
  Wiretap tap;
  const FleetBench bench = tapped_members(3, tap);
  CHECK(standing(bench.plan()) == "n1 in_sync, n2 in_sync, n3 in_sync");
  const auto digest = digest_of(roster_on(bench, 1));
  REQUIRE(tap.of("n1").size() == 1);
  CHECK(tap.of("n1")[0].offered.empty());
  CHECK(tap.of("n1")[0].reply.manifest->roster == roster_on(bench, 1));
  for (const auto* name : {"n2", "n3"}) {
    REQUIRE(tap.of(name).size() == 1);
    CHECK(tap.of(name)[0].offered == std::vector<std::string>{digest});
    CHECK(tap.of(name)[0].reply.known_roster == digest);
    CHECK(tap.of(name)[0].reply.manifest->roster == Roster{});
  }
}

TEST_CASE("known roster: a node with another roster sends it, and its vote counts") {
  Wiretap tap;
  const FleetBench bench = tapped_members(3, tap);
  auto manifest = decode_manifest(*decode_json(bench.root(3).read(kManifestFile)));
  REQUIRE(manifest);
  manifest->roster.members.emplace_back(manifest->roster.members.front()).name = "ghost";
  bench.root(3).write(kManifestFile, encode_json(encode(*manifest), 1) + "\n");
  const auto report = bench.plan();
  REQUIRE(tap.of("n3").size() == 1);
  CHECK(tap.of("n3")[0].reply.known_roster.empty());
  CHECK(tap.of("n3")[0].reply.manifest->roster.members.size() == 4);
  CHECK(std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                    [](const Diagnostic& one) { return one.code == "roster.unsupported-member"; }));
}

TEST_CASE("known roster: an apply writes the same rosters whether nodes name or send them") {
  Wiretap tap;
  FleetBench bench = tapped_members(3, tap);
  const Roster before = roster_on(bench, 1);
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  CHECK(standing(bench.apply()) == "n1 applied, n2 applied, n3 applied");
  for (const std::size_t number : {1U, 2U, 3U}) CHECK(roster_on(bench, number) == before);
  const auto own = tap.of("n1");
  REQUIRE(own.size() >= 2);
  CHECK(own.back().reply.known_roster == digest_of(before));
}

TEST_CASE("known roster: a node that names a roster which was not offered to it fails alone") {
  Wiretap tap;
  const FleetBench bench = tapped_members(3, tap);
  const auto lie = GENERATE(as<std::string>(), std::string(64, '0'), "x", "\x1b[2J");
  tap.change = [&](Exchange& exchange) {
    if (exchange.node == "n2") exchange.reply.known_roster = lie;
  };
  const auto report = bench.plan();
  CHECK(standing(report) == "n1 in_sync, n2 failed, n3 in_sync");
  REQUIRE(report.nodes[1].error);
  CHECK(report.nodes[1].error->message ==
        "the node's agent sent an invalid reply: a roster that was not offered to it");
}

TEST_CASE("known roster: a digest without an offer is refused even if another node has sent that roster") {
  Wiretap tap;
  const FleetBench bench = tapped_members(2, tap);
  tap.change = [&](Exchange& exchange) {
    if (exchange.node != "n1") return;
    exchange.reply.known_roster = digest_of(exchange.reply.manifest->roster);
    exchange.reply.manifest->roster = Roster{};
  };
  CHECK(standing(bench.plan()) == "n1 failed, n2 in_sync");
}

TEST_CASE("known roster: a digest beside a roster or without a manifest is refused") {
  const Roster other = roster_number(1);
  FactsRequest request;
  request.known_rosters = {digest_of(other)};
  FactsReply reply;
  reply.known_roster = digest_of(other);
  CHECK_FALSE(checked(reply, request, builtin_registry()));
  reply.manifest = Manifest{};
  CHECK(checked(reply, request, builtin_registry()));
  CHECK_FALSE(checked(reply, FactsRequest{}, builtin_registry()));
  reply.manifest->roster = other;
  CHECK_FALSE(checked(reply, request, builtin_registry()));
}

TEST_CASE("known roster: a node that claims an older version receives no further offer, and the others do") {
  Wiretap tap;
  FleetBench bench = tapped_members(3, tap);
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  tap.minors["n1"] = kMinorOfKnownRosters - 1;
  CHECK(standing(bench.apply()) == "n1 applied, n2 applied, n3 applied");
  REQUIRE(tap.of("n1").size() >= 2);
  for (const Exchange& one : tap.of("n1")) CHECK(one.offered.empty());
  for (const auto* name : {"n2", "n3"}) {
    REQUIRE(tap.of(name).size() >= 2);
    for (const Exchange& one : tap.of(name)) CHECK(one.offered.size() == 1);
  }
}

TEST_CASE("known roster: a departed member receives no offer and sends its own roster") {
  Wiretap tap;
  FleetBench bench = tapped_members(3, tap);
  bench.left_out[2] = true;
  bench.run.contact_departing = true;
  bench.plan();
  REQUIRE(tap.of("n3").size() == 1);
  CHECK(tap.of("n3")[0].offered.empty());
  CHECK(tap.of("n3")[0].reply.manifest->roster == roster_on(bench, 3));
}

}  // namespace sparkplan
