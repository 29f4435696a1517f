// Probes received through the cables, compared with the declared cables.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "engine/core/digest.h"
#include "engine/core/ids.h"
#include "engine/verify/levels/cable_level.h"
#include "engine/verify/levels/levels.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"
#include "tests/unit/verify/sample_context.h"

namespace sparkplan {
namespace {

using testing::SampleContext;

const std::string kA = "enp1s0f1np1";
const std::string kB = "enP2p1s0f1np1";

/// All nodes are on one switch, each half connected to the same half of the others.
HeardCables as_declared(std::size_t nodes) {
  HeardCables heard;
  for (std::size_t at = 0; at < nodes; ++at) {
    heard.calls[at];
    for (std::size_t other = 0; other < nodes; ++other) {
      if (other == at) continue;
      const std::string name = "spark-0" + std::to_string(other + 1);
      for (const std::string& half : {kA, kB}) heard.calls[at].push_back({half, name, half});
    }
  }
  return heard;
}

void forget(HeardCables& heard, std::size_t at, const std::string& half) {
  std::erase_if(heard.calls.at(at), [&](const ReceivedProbe& call) { return call.at == half; });
}

Check check_in(SampleContext& sample, const HeardCables& heard, const std::string& id) {
  auto context = sample.context();
  context.checks = verify_links(context);
  const auto checks = judge_cables(context, heard);
  const auto found = std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.id == id; });
  REQUIRE(found != checks.end());
  return *found;
}

/// A node whose agent records the requests about link probes.
struct ProbedNode {
  sparkplan::test::Remote remote;
  std::string sent_as;
  std::vector<std::string> senders;
  bool was_read = false;
  Result<AgentClient> client = failure(ErrorCode::kNotFound, "not opened");

  void start(std::int64_t minor) {
    Hello hello = sparkplan::test::own_hello();
    hello.protocol_minor = minor;
    remote.add(sparkplan::test::agent(hello, [this](const Request& request) -> Result<Value> {
      if (const auto* send = std::get_if<SendLinkProbesRequest>(&request)) sent_as = send->node;
      const auto* read = std::get_if<ReadLinkProbesRequest>(&request);
      if (read == nullptr) return sparkplan::test::answer_usually(request);
      was_read = true;
      senders = read->senders;
      return encode(ReadLinkProbesReply{{}, {}, {kA}});
    }));
    client = AgentClient::open(sparkplan::test::node(), remote.options(), {});
    REQUIRE(client);
  }
};

}  // namespace

TEST_CASE("cables: with all declared probes received, every cable passes") {
  SampleContext sample(3);
  auto context = sample.context();
  context.checks = verify_links(context);
  const auto checks = judge_cables(context, as_declared(3));
  REQUIRE(checks.size() == 6);
  CHECK(checks[0].id == "link/spark-01/A/cable");
  CHECK(checks[0].text == "enp1s0f1np1 cabled as declared");
  for (const Check& check : checks) CHECK(check.status == CheckStatus::kPass);
}

TEST_CASE("cables: probes received on the other half of a port are no finding") {
  SampleContext sample(2);
  auto heard = as_declared(2);
  heard.calls[0].push_back({kA, "spark-02", kB});
  heard.calls[0].push_back({kB, "spark-02", kA});
  CHECK(check_in(sample, heard, "link/spark-01/A/cable").status == CheckStatus::kPass);
}

TEST_CASE("cables: a cable in a wrong port is named with both its ends") {
  SampleContext sample(2);
  auto heard = as_declared(2);
  forget(heard, 0, kA);
  heard.calls[0].push_back({kA, "spark-02", "enp1s0f0np0"});
  const auto check = check_in(sample, heard, "link/spark-01/A/cable");
  CHECK(check.status == CheckStatus::kFail);
  CHECK(check.text == "enp1s0f1np1 cabled elsewhere");
  CHECK(check.cause.starts_with("enp1s0f1np1 reaches spark-02 enp1s0f0np0 instead of spark-02 enp1s0f1np1"));
  CHECK_FALSE(check.fix.empty());
  CHECK(check_in(sample, heard, "link/spark-01/B/cable").status == CheckStatus::kPass);
}

TEST_CASE("cables: a half without any probe fails, and so do the halves that it should reach") {
  SampleContext sample(3);
  auto heard = as_declared(3);
  forget(heard, 2, kB);
  for (const std::size_t at : {0U, 1U}) {
    std::erase_if(heard.calls[at],
                  [](const ReceivedProbe& call) { return call.node == "spark-03" && call.interface == kB; });
  }
  const auto alone = check_in(sample, heard, "link/spark-03/B/cable");
  CHECK(alone.status == CheckStatus::kFail);
  CHECK(alone.cause.starts_with("enP2p1s0f1np1 receives nothing from spark-01 enP2p1s0f1np1, spark-02 enP2p1s0f1np1"));
  const auto other = check_in(sample, heard, "link/spark-01/B/cable");
  CHECK(other.status == CheckStatus::kFail);
  CHECK(other.cause.starts_with("enP2p1s0f1np1 does not reach spark-03 enP2p1s0f1np1"));
  CHECK(check_in(sample, heard, "link/spark-01/A/cable").status == CheckStatus::kPass);
}

TEST_CASE("cables: a half that is down and an unreachable node give no finding") {
  SampleContext sample(2);
  sample.link(0, 0).up = false;
  auto heard = as_declared(2);
  const auto down = check_in(sample, heard, "link/spark-01/A/cable");
  CHECK(down.status == CheckStatus::kSkip);
  CHECK(down.cause == "link/spark-01/A failed");
  CHECK(check_in(sample, heard, "link/spark-02/A/cable").cause == "link/spark-01/A failed");
  heard.calls.erase(0);
  heard.silent[0] = "Operation not permitted";
  CHECK(check_in(sample, heard, "link/spark-01/B/cable").cause == "Operation not permitted");
  CHECK(check_in(sample, heard, "link/spark-02/B/cable").cause == "spark-01 is not connected");
}

TEST_CASE("cables: the reason names a peer that is off, and not a missing declaration") {
  SampleContext sample(2);
  auto context = sample.context();
  // As verify makes it for a node that does not answer: without facts, no interface is known.
  context.nodes[1].client = nullptr;
  context.nodes[1].facts = nullptr;
  context.nodes[1].halves.clear();
  auto heard = as_declared(1);
  const auto checks = judge_cables(context, heard);
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].cause == "spark-02 is not connected");
  // Without the peer in this run.
  context.nodes.pop_back();
  CHECK(judge_cables(context, heard)[0].cause == "spark-02 is not part of this run");
}

TEST_CASE("cables: an interface that could not send does not fail its cable, at either end") {
  SampleContext sample(3);
  auto heard = as_declared(3);
  for (const std::size_t at : {0U, 1U}) {
    std::erase_if(heard.calls[at],
                  [](const ReceivedProbe& call) { return call.node == "spark-03" && call.interface == kA; });
  }
  CHECK(check_in(sample, heard, "link/spark-01/A/cable").status == CheckStatus::kFail);
  heard.mute[2][kA] = "No buffer space available";
  // The remaining senders reveal the cabling, and the mute half still receives.
  CHECK(check_in(sample, heard, "link/spark-01/A/cable").status == CheckStatus::kPass);
  CHECK(check_in(sample, heard, "link/spark-03/A/cable").status == CheckStatus::kPass);
  heard.mute[1][kA] = "No buffer space available";
  forget(heard, 0, kA);
  const auto check = check_in(sample, heard, "link/spark-01/A/cable");
  CHECK(check.status == CheckStatus::kSkip);
  CHECK(check.cause == "spark-03 enp1s0f1np1 could not send: No buffer space available");
}

TEST_CASE("cables: an interface that could not receive does not fail its cable") {
  SampleContext sample(2);
  auto heard = as_declared(2);
  forget(heard, 0, kA);
  CHECK(check_in(sample, heard, "link/spark-01/A/cable").status == CheckStatus::kFail);
  heard.mute[0][kA] = "it went away";
  const auto check = check_in(sample, heard, "link/spark-01/A/cable");
  CHECK(check.status == CheckStatus::kSkip);
  CHECK(check.cause == "enp1s0f1np1 could not receive: it went away");
}

TEST_CASE("cables: an interface that received too many frames does not fail its cable for missing probes") {
  SampleContext sample(3);
  auto heard = as_declared(3);
  heard.overrun[0] = {kA};
  CHECK(check_in(sample, heard, "link/spark-01/A/cable").status == CheckStatus::kPass);
  std::erase_if(heard.calls.at(0), [](const ReceivedProbe& call) { return call.node == "spark-03"; });
  const auto check = check_in(sample, heard, "link/spark-01/A/cable");
  CHECK(check.status == CheckStatus::kSkip);
  CHECK(check.cause == "enp1s0f1np1 received too many frames, so that probes of other nodes may be missing");
  CHECK(check_in(sample, heard, "link/spark-01/B/cable").status == CheckStatus::kFail);
  forget(heard, 0, kA);
  CHECK(check_in(sample, heard, "link/spark-01/A/cable").status == CheckStatus::kSkip);
}

TEST_CASE("cables: the agents get digests of the names of all senders, and an older agent gets none") {
  SampleContext sample(3);
  auto context = sample.context();
  std::array<ProbedNode, 3> nodes;
  std::set<std::string> digests;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    nodes[at].start(at == 2 ? kMinorOfProbeSenders - 1 : kProtocolMinor);
    context.nodes[at].client = &*nodes[at].client;
  }
  const auto checks = verify_cables(context);
  for (const ProbedNode& node : nodes) {
    CHECK(node.was_read);
    digests.insert(sha256(node.sent_as));
  }
  CHECK(digests.size() == 3);
  for (const std::size_t at : {0U, 1U}) {
    CHECK(std::set<std::string>(nodes[at].senders.begin(), nodes[at].senders.end()) == digests);
  }
  CHECK(nodes[2].senders.empty());
  // The agents' reports of lost frames reach the checks.
  REQUIRE(checks.size() == 6);
  CHECK(checks[0].cause.find("received too many frames") != std::string::npos);
  CHECK(checks[1].status == CheckStatus::kFail);
}

TEST_CASE("cables: only physical fabric interfaces that are up are probed") {
  SampleContext sample(1);
  auto context = sample.context();
  LinkFacts other = sample.link(0, 0);
  other.name = "enp1s0f0np0";
  LinkFacts management = sample.link(0, 0);
  management.name = "enP7s7";
  LinkFacts bond = sample.link(0, 0);
  bond.name = "bond0np1";
  bond.kind = "bond";
  LinkFacts down = sample.link(0, 0);
  down.name = "enP2p1s0f0np0";
  down.up = false;
  for (const LinkFacts& link : {other, management, bond, down}) sample.facts[0].links.push_back(link);
  CHECK(interfaces_to_listen_at(context.nodes[0]) == std::vector<std::string>{kA, kB, "enp1s0f0np0"});
}

TEST_CASE("cables: a probe in the name of another node does not count without that node's random name") {
  SampleContext sample(3);
  const auto context = sample.context();
  const ProbeNames names{{0, new_token()}, {1, new_token()}};
  CHECK(names.at(0) != names.at(1));
  CHECK(NodeName::parse(names.at(0)));  // The agents drop other names.
  const auto known = with_node_names(context, names,
                                     {{kA, names.at(1), kA}, {kA, "spark-03", kA}, {kB, "spark-02", kB}, {kB, "", kB}});
  CHECK(known == std::vector<ReceivedProbe>{{kA, "spark-02", kA}});
}

}  // namespace sparkplan
