// The roster that an apply writes, and who has left it.
#include <algorithm>

#include "engine/plan/roster.h"
#include "tests/support/catch.h"
#include "tests/unit/plan/roster_samples.h"

namespace sparkplan {
namespace {

using test::keys;
using test::lab;
using test::node;
using test::roster_of;
using test::two_sparks;

TEST_CASE("the first apply makes a roster of generation 1 with a new uuid") {
  const Roster roster =
      next_roster({}, two_sparks(), keys({{"spark-01", "SHA256:a"}, {"spark-02", "SHA256:b"}}), {}, {}, "uuid-1");
  CHECK(roster.cluster == "lab");
  CHECK(roster.uuid == "uuid-1");
  CHECK(roster.generation == 1);
  REQUIRE(roster.members.size() == 2);
  CHECK(roster.members[0] ==
        RosterEntry{"spark-01", 1, "10.0.0.11", "nvidia", 22, "SHA256:a", "", "", "sudo", "", false});
}

TEST_CASE("applying the same file again keeps the generation, whatever the order of the list") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-01", "SHA256:a"}}), {}, {}, "uuid-1");
  CHECK(next_roster(first, two_sparks(), {}, {}, {}, "uuid-2") == first);
  const Cluster turned = lab({node("spark-02", 2, "10.0.0.12"), node("spark-01", 1, "10.0.0.11")});
  CHECK(next_roster(first, turned, {}, {}, {}, "uuid-2") == first);
}

TEST_CASE("a missing host key keeps the recorded one, and a new key replaces it") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-01", "SHA256:a"}}), {}, {}, "uuid-1");
  const Roster second = next_roster(first, two_sparks(), keys({{"spark-02", "SHA256:b"}}), {}, {}, "");
  CHECK(second.generation == 2);
  CHECK(second.members[0].host_key == "SHA256:a");
  CHECK(second.members[1].host_key == "SHA256:b");
}

TEST_CASE("the roster contains each node's connection and machine-id") {
  Cluster cluster = lab({node("spark-01", 1, "")});
  cluster.nodes[0].root = "/srv/image";
  cluster.nodes[0].ssh.jump = "bastion";
  cluster.nodes[0].ssh.become = Become::kNone;
  Roster previous;
  previous.members.push_back({"spark-01", 1, "", "", 22, "", "f00d", "", "", "", false});
  const Roster roster = next_roster(previous, cluster, {}, {}, {}, "uuid-1");
  CHECK(roster.members[0].root == "/srv/image");
  CHECK(roster.members[0].jump == "bastion");
  CHECK(roster.members[0].become == "none");
  CHECK(roster.members[0].machine_id == "f00d");
}

TEST_CASE("a departed node stays in the roster, marked as leaving once the user consents") {
  const Roster first = next_roster({}, two_sparks(), {}, {}, {}, "uuid-1");
  const Cluster smaller = lab({node("spark-01", 1, "10.0.0.11")});
  REQUIRE(departed_members(first, smaller, {}).size() == 1);
  CHECK(departed_members(first, smaller, {})[0].name == "spark-02");
  CHECK(next_roster(first, smaller, {}, {}, {}, "") == first);
  const Roster second = next_roster(first, smaller, {}, {}, {"spark-02"}, "");
  CHECK(second.generation == 2);
  REQUIRE(second.members.size() == 2);
  CHECK(second.members[1].leaving);
  CHECK(departed_members(second, smaller, {}).size() == 1);
  CHECK(next_roster(second, smaller, {}, {}, {}, "") == second);
}

TEST_CASE("a departed node that returns is a member again") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-02", "SHA256:b"}}), {}, {}, "uuid-1");
  const Roster second = next_roster(first, lab({node("spark-01", 1, "10.0.0.11")}), {}, {}, {"spark-02"}, "");
  const Roster third = next_roster(second, two_sparks(), {}, {}, {}, "");
  CHECK_FALSE(third.members[1].leaving);
  CHECK(third.members[1].host_key == "SHA256:b");
  CHECK(third.generation == 3);
}

TEST_CASE("a renamed machine with its recorded host key has not departed") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-02", "SHA256:b"}}), {}, {}, "uuid-1");
  const Cluster moved = lab({node("spark-01", 1, "10.0.0.11"), node("head", 9, "10.9.0.2")});
  CHECK(departed_members(first, moved, {{"head", {"SHA256:b", "", ""}}}).empty());
  // The node's claim alone does not prove that it is that machine, and neither does a missing record.
  CHECK(departed_members(first, moved, {{"head", {"SHA256:c", "", "spark-02"}}}).size() == 1);
  // Another machine took its id.
  CHECK(departed_members(first, lab({node("spark-01", 1, "10.0.0.11"), node("head", 2, "10.9.0.2")}), {}).size() == 1);
}

TEST_CASE("a released node is forgotten, and the generation grows") {
  const Roster first = next_roster({}, two_sparks(), {}, {}, {}, "uuid-1");
  const Cluster smaller = lab({node("spark-01", 1, "10.0.0.11")});
  const Roster second = next_roster(first, smaller, {}, {"spark-02"}, {}, "");
  CHECK(second.members.size() == 1);
  CHECK(second.generation == 2);
}

TEST_CASE("a node's machine-id is recorded once it was read") {
  const Machines seen{{"spark-01", {"SHA256:a", "f00d", ""}}};
  const Roster first = next_roster({}, two_sparks(), seen, {}, {}, "uuid-1");
  CHECK(first.members[0].machine_id == "f00d");
  CHECK(next_roster(first, two_sparks(), {}, {}, {}, "").members[0].machine_id == "f00d");
}

TEST_CASE("a node renamed under its id, or renumbered under its name, has not departed") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-02", "SHA256:b"}}), {}, {}, "uuid-1");
  const Cluster renamed = lab({node("spark-01", 1, "10.0.0.11"), node("head", 2, "10.0.0.12")});
  CHECK(departed_members(first, renamed, {}).empty());
  CHECK(next_roster(first, renamed, {}, {}, {}, "").members[1].host_key == "SHA256:b");
  CHECK(departed_members(first, lab({node("spark-01", 7, "10.0.0.11"), node("spark-02", 8, "10.0.0.12")}), {}).empty());
}

TEST_CASE("a node of another cluster is refused, and a node of this or of no cluster is accepted") {
  Roster roster = roster_of("u", 1);
  CHECK(check_membership(roster, two_sparks()));
  roster = {};
  CHECK(check_membership(roster, two_sparks()));
  roster.cluster = "office";
  const Result<void> refused = check_membership(roster, two_sparks());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kRefused);
  CHECK(refused.error().message == "the node belongs to cluster office, not to lab");
  roster = roster_of("u", 1);
  roster.cluster.clear();
  CHECK_FALSE(check_membership(roster, two_sparks()));
}

}  // namespace
}  // namespace sparkplan
