// Probes received through the cables, compared with the declared cables.
#include <algorithm>

#include "engine/verify/levels/cable_level.h"
#include "engine/verify/levels/levels.h"
#include "tests/support/catch.h"
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

}  // namespace

TEST_CASE("cables: where everybody hears whom the file joins them with, all pass") {
  SampleContext sample(3);
  auto context = sample.context();
  context.checks = verify_links(context);
  const auto checks = judge_cables(context, as_declared(3));
  REQUIRE(checks.size() == 6);
  CHECK(checks[0].id == "link/spark-01/A/cable");
  CHECK(checks[0].text == "enp1s0f1np1 cabled as declared");
  for (const Check& check : checks) CHECK(check.status == CheckStatus::kPass);
}

TEST_CASE("cables: the halves of a port hear the same wire, which is no finding") {
  SampleContext sample(2);
  auto heard = as_declared(2);
  heard.calls[0].push_back({kA, "spark-02", kB});
  heard.calls[0].push_back({kB, "spark-02", kA});
  CHECK(check_in(sample, heard, "link/spark-01/A/cable").status == CheckStatus::kPass);
}

TEST_CASE("cables: one that goes to another port is named with both its ends") {
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

TEST_CASE("cables: one that reaches nobody, and a switch that keeps one node apart") {
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

TEST_CASE("cables: of a half that is down, and of a node that cannot be asked, nothing is said") {
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
  CHECK(check_in(sample, heard, "link/spark-02/B/cable").cause == "spark-01 cannot be asked");
}

TEST_CASE("cables: an interface that could not send is no proof against its cable, at whichever end") {
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

TEST_CASE("cables: an interface that could not receive is no proof against its cable") {
  SampleContext sample(2);
  auto heard = as_declared(2);
  forget(heard, 0, kA);
  CHECK(check_in(sample, heard, "link/spark-01/A/cable").status == CheckStatus::kFail);
  heard.mute[0][kA] = "it went away";
  const auto check = check_in(sample, heard, "link/spark-01/A/cable");
  CHECK(check.status == CheckStatus::kSkip);
  CHECK(check.cause == "enp1s0f1np1 could not receive: it went away");
}

TEST_CASE("cables: listened to are the halves and what is like them, and nothing else") {
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

}  // namespace sparkplan
