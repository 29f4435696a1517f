#include "engine/plan/roster.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

NodeSpec node(const std::string& name, int id, const std::string& address) {
  NodeSpec spec{*NodeName::parse(name), id, address, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  spec.ssh.user = "nvidia";
  return spec;
}

Cluster lab(std::vector<NodeSpec> nodes) {
  Cluster cluster;
  cluster.name = "lab";
  cluster.nodes = std::move(nodes);
  return cluster;
}

Machines keys(std::initializer_list<std::pair<const std::string, std::string>> host_keys) {
  Machines machines;
  for (const auto& [name, key] : host_keys) machines[name].host_key = key;
  return machines;
}

Cluster two_sparks() { return lab({node("spark-01", 1, "10.0.0.11"), node("spark-02", 2, "10.0.0.12")}); }

Manifest manifest_of(const std::string& name, const std::string& uuid, std::int64_t generation) {
  Manifest manifest;
  manifest.node = name;
  manifest.roster = {"lab", uuid, generation, {}};
  return manifest;
}

TEST_CASE("without a manifest the roster is empty") {
  const Result<Roster> roster = newest_roster({});
  REQUIRE(roster);
  CHECK(*roster == Roster{});
}

TEST_CASE("the newest roster is the one of the highest generation") {
  const Manifest old = manifest_of("spark-01", "u", 3);
  const Manifest recent = manifest_of("spark-02", "u", 5);
  const Manifest empty = manifest_of("spark-03", "", 0);
  CHECK(newest_roster({&old, &recent, &empty, nullptr})->generation == 5);
  CHECK(newest_roster({&recent, &old})->generation == 5);
}

TEST_CASE("nodes of two clusters in one file are refused, both named") {
  const Manifest ours = manifest_of("spark-01", "u", 3);
  const Manifest theirs = manifest_of("spark-02", "v", 9);
  const Result<Roster> roster = newest_roster({&ours, &theirs});
  REQUIRE_FALSE(roster);
  CHECK(roster.error().code == ErrorCode::kRefused);
  CHECK(roster.error().message.find("spark-01 and spark-02") != std::string::npos);
}

TEST_CASE("the first apply makes a roster of generation 1 with a new uuid") {
  const Roster roster =
      next_roster({}, two_sparks(), keys({{"spark-01", "SHA256:a"}, {"spark-02", "SHA256:b"}}), {}, "uuid-1");
  CHECK(roster.cluster == "lab");
  CHECK(roster.uuid == "uuid-1");
  CHECK(roster.generation == 1);
  REQUIRE(roster.members.size() == 2);
  CHECK(roster.members[0] ==
        RosterEntry{"spark-01", 1, "10.0.0.11", "nvidia", 22, "SHA256:a", "", "", "sudo", "", false});
}

TEST_CASE("a further apply of the same file leaves the generation, whatever the order of the list") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-01", "SHA256:a"}}), {}, "uuid-1");
  CHECK(next_roster(first, two_sparks(), {}, {}, "uuid-2") == first);
  const Cluster turned = lab({node("spark-02", 2, "10.0.0.12"), node("spark-01", 1, "10.0.0.11")});
  CHECK(next_roster(first, turned, {}, {}, "uuid-2") == first);
}

TEST_CASE("a missing host key keeps what the roster knew, a new one replaces it") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-01", "SHA256:a"}}), {}, "uuid-1");
  const Roster second = next_roster(first, two_sparks(), keys({{"spark-02", "SHA256:b"}}), {}, "");
  CHECK(second.generation == 2);
  CHECK(second.members[0].host_key == "SHA256:a");
  CHECK(second.members[1].host_key == "SHA256:b");
}

TEST_CASE("how a node is reached, and which machine it is, is in the roster") {
  Cluster cluster = lab({node("spark-01", 1, "")});
  cluster.nodes[0].root = "/srv/image";
  cluster.nodes[0].ssh.jump = "bastion";
  cluster.nodes[0].ssh.become = Become::kNone;
  Roster previous;
  previous.members.push_back({"spark-01", 1, "", "", 22, "", "f00d", "", "", "", false});
  const Roster roster = next_roster(previous, cluster, {}, {}, "uuid-1");
  CHECK(roster.members[0].root == "/srv/image");
  CHECK(roster.members[0].jump == "bastion");
  CHECK(roster.members[0].become == "none");
  CHECK(roster.members[0].machine_id == "f00d");
}

TEST_CASE("a node that left the file stays in the roster, marked leaving") {
  const Roster first = next_roster({}, two_sparks(), {}, {}, "uuid-1");
  const Cluster smaller = lab({node("spark-01", 1, "10.0.0.11")});
  REQUIRE(leavers(first, smaller, {}).size() == 1);
  CHECK(leavers(first, smaller, {})[0].name == "spark-02");
  const Roster second = next_roster(first, smaller, {}, {}, "");
  CHECK(second.generation == 2);
  REQUIRE(second.members.size() == 2);
  CHECK(second.members[1].leaving);
  CHECK(leavers(second, smaller, {}).size() == 1);
  CHECK(next_roster(second, smaller, {}, {}, "") == second);
}

TEST_CASE("a leaver that comes back is a member again") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-02", "SHA256:b"}}), {}, "uuid-1");
  const Roster second = next_roster(first, lab({node("spark-01", 1, "10.0.0.11")}), {}, {}, "");
  const Roster third = next_roster(second, two_sparks(), {}, {}, "");
  CHECK_FALSE(third.members[1].leaving);
  CHECK(third.members[1].host_key == "SHA256:b");
  CHECK(third.generation == 3);
}

TEST_CASE("a machine that the file calls something else has not left, whether it answers or not") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-02", "SHA256:b"}}), {}, "uuid-1");
  const Cluster moved = lab({node("spark-01", 1, "10.0.0.11"), node("head", 9, "10.9.0.2")});
  CHECK(leavers(first, moved, {{"head", {"", "", "spark-02"}}}).empty());
  // Another machine took its id.
  CHECK(leavers(first, lab({node("spark-01", 1, "10.0.0.11"), node("head", 2, "10.9.0.2")}), {}).size() == 1);
}

TEST_CASE("a leaver that was released is forgotten, and the generation grows") {
  const Roster first = next_roster({}, two_sparks(), {}, {}, "uuid-1");
  const Cluster smaller = lab({node("spark-01", 1, "10.0.0.11")});
  const Roster second = next_roster(first, smaller, {}, {"spark-02"}, "");
  CHECK(second.members.size() == 1);
  CHECK(second.generation == 2);
}

TEST_CASE("which machine a node is, is remembered when it was seen") {
  const Machines seen{{"spark-01", {"SHA256:a", "f00d", ""}}};
  const Roster first = next_roster({}, two_sparks(), seen, {}, "uuid-1");
  CHECK(first.members[0].machine_id == "f00d");
  CHECK(next_roster(first, two_sparks(), {}, {}, "").members[0].machine_id == "f00d");
}

TEST_CASE("a node renamed under its id, or given another id under its name, has not left") {
  const Roster first = next_roster({}, two_sparks(), keys({{"spark-02", "SHA256:b"}}), {}, "uuid-1");
  const Cluster renamed = lab({node("spark-01", 1, "10.0.0.11"), node("head", 2, "10.0.0.12")});
  CHECK(leavers(first, renamed, {}).empty());
  CHECK(next_roster(first, renamed, {}, {}, "").members[1].host_key == "SHA256:b");
  CHECK(leavers(first, lab({node("spark-01", 7, "10.0.0.11"), node("spark-02", 8, "10.0.0.12")}), {}).empty());
}

TEST_CASE("a node of another cluster is refused, one of ours or of none is not") {
  Manifest manifest = manifest_of("spark-01", "u", 1);
  CHECK(check_membership(manifest, two_sparks()));
  manifest.roster = {};
  CHECK(check_membership(manifest, two_sparks()));
  manifest.roster.cluster = "office";
  const Result<void> refused = check_membership(manifest, two_sparks());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kRefused);
  CHECK(refused.error().message == "the node belongs to cluster office, not to lab");
}

}  // namespace
}  // namespace sparkplan
