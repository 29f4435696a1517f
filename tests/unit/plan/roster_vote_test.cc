// The vote of the manifests on the roster.
#include <algorithm>
#include <functional>

#include "engine/plan/disputed_ids.h"
#include "engine/plan/roster.h"
#include "tests/support/catch.h"
#include "tests/unit/plan/roster_samples.h"

namespace sparkplan {
namespace {

using test::keys;
using test::lab;
using test::member;
using test::node;
using test::roster_of;
using test::two_sparks;
using test::with_members;

TEST_CASE("roster: without a manifest the roster is empty") {
  CHECK(agree_on_roster({}).roster == Roster{});
  CHECK(agree_on_roster({{"spark-01", nullptr}}).roster == Roster{});
}

TEST_CASE("roster: the generation is the highest one reached by more than half of the manifests") {
  const Roster old = roster_of("u", 3);
  const Roster recent = roster_of("u", 5);
  const Roster liar = roster_of("u", kLargestGeneration);
  const Roster empty = roster_of("", 0);
  CHECK(agree_on_roster({{"spark-01", &old}, {"spark-02", &recent}, {"spark-03", &liar}, {"spark-04", &empty}})
            .roster.generation == 5);
  CHECK(agree_on_roster({{"spark-03", &liar}, {"spark-01", &old}}).roster.generation == 3);
  CHECK(agree_on_roster({{"spark-02", &recent}}).roster.generation == 5);
}

TEST_CASE("roster: a node of a minority cluster is refused alone") {
  const Roster first = roster_of("u", 3);
  const Roster second = roster_of("u", 3);
  const Roster stranger = roster_of("v", 9);
  const AgreedRoster agreed = agree_on_roster({{"spark-01", &first}, {"spark-02", &second}, {"spark-03", &stranger}});
  CHECK(agreed.roster.uuid == "u");
  REQUIRE(agreed.refused.size() == 1);
  CHECK(agreed.refused.at("spark-03").code == ErrorCode::kRefused);
}

TEST_CASE("roster: without a majority cluster all nodes are refused, and all clusters are named") {
  const Roster ours = roster_of("u", 3);
  const Roster theirs = roster_of("v", 9);
  const AgreedRoster agreed = agree_on_roster({{"spark-01", &ours}, {"spark-02", &theirs}});
  CHECK(agreed.roster.uuid.empty());
  REQUIRE(agreed.refused.size() == 2);
  for (const auto& [name, error] : agreed.refused) {
    CHECK(error.code == ErrorCode::kRefused);
    CHECK(error.message.find("spark-01 (lab, u)") != std::string::npos);
    CHECK(error.message.find("spark-02 (lab, v)") != std::string::npos);
  }
}

TEST_CASE("roster: manifests of one cluster that an apply without its members has begun again count together") {
  const RosterEntry first = member("spark-01", 1, "10.0.0.11");
  const RosterEntry second = member("spark-02", 2, "10.0.0.12");
  const RosterEntry third = member("spark-03", 3, "10.0.0.13");
  RosterEntry unseen = first;  // An apply that does not reach a member records its place only.
  unseen.host_key.clear();
  unseen.machine_id.clear();
  const Roster old = with_members(roster_of("u", 3), {first, second});
  const Roster again = with_members(roster_of("v", 1), {unseen, second, third});
  const auto ours = [](const Rosters& rosters) {
    const AgreedRoster agreed = agree_on_roster(rosters);
    return agreed.refused.empty() ? agreed.roster.uuid : "refused " + std::to_string(agreed.refused.size());
  };
  CHECK(ours({{"spark-01", &old}, {"spark-02", &old}, {"spark-03", &again}}) == "u");
  CHECK(ours({{"spark-02", &old}, {"spark-03", &again}, {"spark-04", &again}}) == "v");
  CHECK(ours({{"spark-02", &old}, {"spark-03", &again}}) == "u");

  const auto with_first = [&](const std::function<void(RosterEntry&)>& edit) {
    Roster other = again;
    edit(other.members.front());
    return ours({{"spark-01", &old}, {"spark-02", &old}, {"spark-03", &other}});
  };
  CHECK(with_first([](RosterEntry& entry) { entry.address = "10.9.9.9"; }) == "refused 1");
  CHECK(with_first([](RosterEntry& entry) { entry.host_key = "SHA256:other"; }) == "refused 1");
  CHECK(with_first([](RosterEntry& entry) { entry.name = "other"; }) == "refused 1");
  Roster named = again;
  named.cluster = "rack";
  CHECK(ours({{"spark-01", &old}, {"spark-02", &old}, {"spark-03", &named}}) == "refused 1");
}

TEST_CASE("roster: what a single manifest says of the machine of another node is written into no other one") {
  RosterEntry false_entry = member("spark-02", 2, "10.0.0.12");
  false_entry.host_key = "SHA256:of-spark-03";
  RosterEntry ghost = member("ghost", 9, "10.0.0.14");  // At the place of spark-04.
  RosterEntry own = member("spark-01", 1, "10.0.0.11");
  own.host_key = "SHA256:of-spark-03";
  const Roster only = with_members(roster_of("u", 4), {own, false_entry, ghost});
  const Cluster cluster = lab({node("spark-01", 1, "10.0.0.11"), node("spark-02", 2, "10.0.0.12"),
                               node("spark-03", 3, "10.0.0.13"), node("spark-04", 4, "10.0.0.14")});
  const Machines seen = keys({{"spark-01", "SHA256:spark-01"}, {"spark-03", "SHA256:of-spark-03"}});
  Roster known = only;
  keep_marks_of_many(known, {{"spark-01", &only}, {"spark-03", nullptr}}, cluster, seen);
  const Roster next = next_roster(known, cluster, {}, {}, {}, "");  // No machine is there any more at the end.
  REQUIRE(next.members.size() == 4);
  CHECK(next.members[0].host_key == "SHA256:spark-01");
  for (const std::size_t other : {1U, 2U, 3U}) {
    CHECK(next.members[other].host_key.empty());
    CHECK(next.members[other].machine_id.empty());
  }
  // The manifest of spark-01 keeps its record.
  CHECK(roster_of_node(next, only, cluster, {}).members[1].host_key == "SHA256:of-spark-03");
  // Two manifests with the same record decide, also if an apply without members has begun the cluster again.
  Roster second = only;
  second.uuid = "v";
  Roster agreed = only;
  keep_marks_of_many(agreed, {{"spark-01", &only}, {"spark-03", &second}}, cluster, seen);
  CHECK(agreed == only);
}

TEST_CASE("roster: one manifest does not keep apart two others whose cluster was begun twice") {
  const RosterEntry first = member("spark-01", 1, "10.0.0.11");
  const RosterEntry second = member("spark-02", 2, "10.0.0.12");
  const RosterEntry third = member("spark-03", 3, "10.0.0.13");
  RosterEntry denied = second;
  denied.host_key = "SHA256:other";
  // The first manifest belongs to each of the others alone, and would refuse the second one.
  const Roster liar = with_members(roster_of("0", 1), {first, denied, third});
  const Roster old = with_members(roster_of("u", 3), {first, second});
  const Roster again = with_members(roster_of("v", 1), {first, second, third});
  const AgreedRoster three = agree_on_roster({{"spark-01", &liar}, {"spark-02", &old}, {"spark-03", &again}});
  CHECK_FALSE(three.refused.contains("spark-02"));
  CHECK_FALSE(three.refused.contains("spark-03"));
  // Nor does one of two with the same uuid.
  RosterEntry moved = first;
  moved.address = "10.9.9.9";
  const Roster false_one = with_members(roster_of("u", 3), {moved});
  const AgreedRoster two = agree_on_roster({{"spark-01", &false_one}, {"spark-02", &old}, {"spark-03", &again}});
  CHECK(two.refused.empty());
}

TEST_CASE("roster: a member listed by more than half of the manifests counts, and any other is a claim") {
  const auto honest = {member("spark-01", 1, "10.0.0.11"), member("spark-02", 2, "10.0.0.12")};
  const Roster first = with_members(roster_of("u", 3), honest);
  const Roster second = with_members(roster_of("u", 3), honest);
  Roster liar = with_members(roster_of("u", 99), honest);
  liar.members.push_back(member("ghost", 66, "10.0.0.66"));
  const AgreedRoster agreed = agree_on_roster({{"spark-01", &first}, {"spark-02", &second}, {"spark-03", &liar}});
  CHECK(agreed.roster.members == std::vector<RosterEntry>(honest));
  REQUIRE(agreed.unsupported.size() == 1);
  CHECK(agreed.unsupported[0].name == "ghost");
  CHECK(agreed.unsupported[0].listed_by == std::vector<std::string>{"spark-03"});
  // Half is not a majority.
  const AgreedRoster two = agree_on_roster({{"spark-01", &first}, {"spark-03", &liar}});
  CHECK(two.roster.members.size() == 2);
  CHECK(two.unsupported.size() == 1);
  // A single readable manifest is the whole vote.
  CHECK(agree_on_roster({{"spark-03", &liar}}).roster.members.size() == 3);
}

TEST_CASE("roster: nodes that share one roster object have a vote each") {
  Roster shared = with_members(roster_of("u", 3), {member("spark-01", 1, "10.0.0.11"), member("gone", 9, "10.0.0.99")});
  Roster other = with_members(roster_of("u", 3), {member("spark-01", 1, "10.0.0.1")});
  Roster third = with_members(roster_of("u", 3), {member("spark-01", 1, "10.0.0.11"), member("extra", 8, "10.0.0.8")});
  // No list has a majority as a whole, so each member and each field is decided alone.
  const AgreedRoster agreed =
      agree_on_roster({{"spark-01", &shared}, {"spark-02", &shared}, {"spark-03", &other}, {"spark-04", &third}});
  REQUIRE(agreed.roster.members.size() == 1);
  CHECK(agreed.roster.members[0].name == "spark-01");
  CHECK(agreed.roster.members[0].address == "10.0.0.11");  // Three of four.
  REQUIRE(agreed.unsupported.size() == 2);
  CHECK(agreed.unsupported[0].name == "extra");
  CHECK(agreed.unsupported[0].listed_by == std::vector<std::string>{"spark-04"});
  CHECK(agreed.unsupported[1].name == "gone");
  CHECK(agreed.unsupported[1].listed_by == std::vector<std::string>{"spark-01", "spark-02"});
}

TEST_CASE("roster: a manifest that lists a member twice has one vote") {
  Roster liar = roster_of("u", 3);
  liar.members = {member("ghost", 66, "10.0.0.66"), member("ghost", 66, "10.0.0.66")};
  const Roster honest = roster_of("u", 3);
  const Roster other = roster_of("u", 4);
  CHECK(agree_on_roster({{"spark-01", &liar}, {"spark-02", &honest}, {"spark-03", &other}}).roster.members.empty());
}

TEST_CASE("roster: a departed member in an outdated manifest is no claim") {
  const Roster first = roster_of("u", 5);
  const Roster second = roster_of("u", 5);
  const Roster behind = with_members(roster_of("u", 4), {member("spark-04", 4, "10.0.0.14")});
  const AgreedRoster agreed = agree_on_roster({{"spark-01", &first}, {"spark-02", &second}, {"spark-03", &behind}});
  CHECK(agreed.roster.members.empty());
  CHECK(agreed.unsupported.empty());
}

TEST_CASE("roster: each field of a member has the value of more than half of the manifests") {
  const RosterEntry honest = member("spark-04", 4, "10.0.0.14");
  RosterEntry lie = honest;
  lie.address = "10.6.6.6";
  lie.user = "root";
  lie.jump = "evil";
  lie.root = "/";
  lie.host_key = "SHA256:evil";
  lie.machine_id = "evil";
  lie.port = 666;
  lie.leaving = true;
  // Different generations of a third member prevent two identical lists.
  const Roster first = with_members(roster_of("u", 5), {honest, member("a", 1, "10.0.0.1")});
  const Roster second = with_members(roster_of("u", 5), {honest, member("a", 2, "10.0.0.1")});
  const Roster liar = with_members(roster_of("u", 5), {lie, member("a", 3, "10.0.0.1")});
  const AgreedRoster agreed = agree_on_roster({{"spark-01", &first}, {"spark-02", &second}, {"spark-03", &liar}});
  REQUIRE(agreed.roster.members.size() == 2);
  CHECK(agreed.roster.members[1] == honest);
  CHECK(agreed.roster.members[0].id == 0);  // None of the three ids has a majority.
  // Fields on which two manifests disagree are empty: the run contacts nothing there.
  const AgreedRoster two = agree_on_roster({{"spark-01", &first}, {"spark-03", &liar}});
  REQUIRE(two.roster.members.size() == 2);
  CHECK(two.roster.members[1].address.empty());
  CHECK(two.roster.members[1].host_key.empty());
  CHECK(two.roster.members[1].port == 0);
  CHECK_FALSE(two.roster.members[1].leaving);
}

TEST_CASE("roster: identical lists and reordered lists give the same roster") {
  const auto honest = std::vector<RosterEntry>{member("spark-01", 1, "10.0.0.11"), member("spark-02", 2, "10.0.0.12")};
  auto turned = honest;
  std::swap(turned[0], turned[1]);
  const Roster first = with_members(roster_of("u", 3), honest);
  const Roster second = with_members(roster_of("u", 3), turned);
  CHECK(agree_on_roster({{"spark-01", &first}, {"spark-02", &second}}).roster.members == honest);
  CHECK(agree_on_roster({{"spark-01", &first}}).roster.members == honest);
}

TEST_CASE("roster: a departed member in a single manifest is a claim if the file has two or more nodes") {
  const Roster only =
      with_members(roster_of("u", 4), {member("spark-01", 1, "10.0.0.11"), member("gone", 9, "10.0.0.19")});
  const Rosters one{{"spark-01", &only}, {"spark-02", nullptr}};
  auto agreed = agree_on_roster(one);
  const auto kept = require_two_witnesses(agreed, one, two_sparks(), {});
  REQUIRE(kept.size() == 1);
  CHECK(kept.front().name == "gone");
  REQUIRE(agreed.roster.members.size() == 1);
  REQUIRE(agreed.unsupported.size() == 1);
  CHECK(agreed.unsupported.front().listed_by == std::vector<std::string>{"spark-01"});
  // A one-node file has no second witness.
  auto alone = agree_on_roster(one);
  CHECK(require_two_witnesses(alone, one, lab({node("spark-01", 1, "10.0.0.11")}), {}).empty());
  CHECK(alone.roster.members.size() == 2);
  // Two agreeing manifests are enough.
  const Rosters two{{"spark-01", &only}, {"spark-02", &only}};
  auto both = agree_on_roster(two);
  CHECK(require_two_witnesses(both, two, two_sparks(), {}).empty());
}

TEST_CASE("roster: a manifest keeps its own records of departed members when the agreed ones are blank") {
  Roster own;
  own.members = {member("gone", 9, "10.0.0.19"), member("alone", 8, "10.0.0.18")};
  Roster next;
  RosterEntry blank;
  blank.name = "gone";
  blank.leaving = true;
  next.members = {member("spark-01", 1, "10.0.0.11"), blank};
  const auto kept = roster_of_node(next, own, two_sparks(), {member("alone", 8, "1.2.3.4")});
  REQUIRE(kept.members.size() == 3);
  const auto entry = [&](const std::string& name) {
    return *std::find_if(kept.members.begin(), kept.members.end(), [&](const auto& one) { return one.name == name; });
  };
  CHECK(entry("gone").address == "10.0.0.19");
  CHECK(entry("gone").leaving);
  CHECK(entry("alone").address == "10.0.0.18");
  const auto fresh = roster_of_node(next, {}, two_sparks(), {member("alone", 8, "1.2.3.4")});
  REQUIRE(fresh.members.size() == 1);
  CHECK(fresh.members.front().name == "spark-01");
}

TEST_CASE("roster: a manifest keeps its own marks of a member on which the manifests do not agree") {
  Roster own;
  own.members = {member("spark-01", 1, "10.0.0.11"), member("spark-02", 2, "10.0.0.12")};
  Roster next = own;
  next.members[0].machine_id.clear();
  next.members[1].host_key.clear();
  next.members[1].machine_id = "new";
  const auto kept = roster_of_node(next, own, two_sparks(), {});
  REQUIRE(kept.members.size() == 2);
  CHECK(kept.members[0] == own.members[0]);
  CHECK(kept.members[1].host_key == own.members[1].host_key);
  CHECK(kept.members[1].machine_id == "new");
}

TEST_CASE("roster: a machine-id that another manifest records for another member is recorded for no member") {
  const Roster honest =
      with_members(roster_of("u", 3), {member("spark-01", 1, "10.0.0.11"), member("spark-02", 2, "10.0.0.12")});
  Roster liar = honest;
  liar.members[1].machine_id = "";
  const Machines claimed{{"spark-01", {"SHA256:spark-01", "id-spark-02", "spark-01"}},
                         {"spark-03", {"SHA256:spark-03", "id-spark-03", ""}}};
  auto machines = claimed;
  const DisputedIds expected{{std::vector<std::string>{"spark-03"}, {{"spark-01", "spark-02"}}}};
  CHECK(forget_disputed_ids(machines, {{"spark-01", &liar}, {"spark-03", &honest}}) == expected);
  CHECK(machines.at("spark-01").machine_id.empty());
  CHECK(machines.at("spark-03").machine_id == "id-spark-03");
  // A node's own manifest disputes nothing. The record of the same machine under its old name does not either.
  machines = claimed;
  CHECK(forget_disputed_ids(machines, {{"spark-01", &honest}, {"spark-03", nullptr}}).empty());
  CHECK(machines.at("spark-01").machine_id == "id-spark-02");
  Machines renamed{{"head", {"SHA256:spark-02", "id-spark-02", "spark-02"}}};
  forget_disputed_ids(renamed, {{"spark-01", &honest}});
  CHECK(renamed.at("head").machine_id == "id-spark-02");
}

TEST_CASE("roster: a manifest that disputes machine-ids is named in one warning, with five of the nodes concerned") {
  std::map<std::string, std::string> many;
  for (int number = 1; number <= 7; ++number) many.emplace("n" + std::to_string(number), "n9");
  const DisputedIds disputed{{std::vector<std::string>{"a1", "a2"}, {{"n2", "n3"}}},
                             {std::vector<std::string>{"b"}, many}};
  const auto warnings = warnings_of(disputed);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].severity == Severity::kWarning);
  CHECK(warnings[0].code == "roster.disputed-id");
  CHECK(warnings[0].node == "a1");
  CHECK(warnings[0].message ==
        "the manifest of a[1-2] records machine-ids for other members: the id of n2 for n3; no new machine-id is "
        "recorded for n2");
  CHECK(warnings[1].node == "b");
  CHECK(warnings[1].message.find("the id of n5 for n9 and 2 more; ") != std::string::npos);
  CHECK(warnings[1].message.find("n6") == std::string::npos);
}

}  // namespace
}  // namespace sparkplan
