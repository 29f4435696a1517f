// Groups of users, beyond the contract: where a membership counts, and which changes a node refuses.
#include "engine/resource/accounts.h"
#include "engine/resource/registry.h"
#include "tests/support/catch.h"
#include "tests/support/fake_groups.h"
#include "tests/support/fake_node.h"

namespace sparkplan {
namespace {

using test::FakeNode;

FakeNode node_with(const std::string& groups) {
  FakeNode node;
  test::install_fake_gpasswd(node);
  node.add_file("/etc/passwd", "nvidia:x:1000:1000::/home/nvidia:/bin/bash\n");
  node.add_file("/etc/group", groups);
  return node;
}

const ResourceType& users() { return *builtin_registry().find("users"); }
ArtifactId membership(const std::string& name) { return {"group_member", name}; }
Observation member() { return Present{Value::map({{"member", true}}), {}}; }

}  // namespace

TEST_CASE("users: a user is added beside the other members, and only that user is removed again") {
  FakeNode node = node_with("docker:x:988:alice\nvideo:x:44:nvidia\n");
  REQUIRE(users().apply(membership("nvidia/docker"), member(), node));
  CHECK(node.text_of("/etc/group") == "docker:x:988:alice,nvidia\nvideo:x:44:nvidia\n");
  REQUIRE(users().apply(membership("nvidia/docker"), Absent{}, node));
  CHECK(node.text_of("/etc/group") == "docker:x:988:alice\nvideo:x:44:nvidia\n");
}

TEST_CASE("users: applying a state that is there already runs no program") {
  FakeNode node = node_with("docker:x:988:nvidia\n");
  REQUIRE(users().apply(membership("nvidia/docker"), member(), node));
  CHECK(node.log().empty());
}

TEST_CASE("users: a missing user or group is an error that names it, and removing from one is done") {
  FakeNode node = node_with("docker:x:988:\n");
  node.script("getent passwd -- bob", {2, "", ""});
  node.script("getent group -- podman", {2, "", ""});
  const auto no_user = users().apply(membership("bob/docker"), member(), node);
  REQUIRE_FALSE(no_user);
  CHECK(no_user.error().code == ErrorCode::kNotFound);
  CHECK(no_user.error().message == "there is no user bob");
  const auto no_group = users().apply(membership("nvidia/podman"), member(), node);
  REQUIRE_FALSE(no_group);
  CHECK(no_group.error().message == "there is no group podman");
  CHECK(users().apply(membership("nvidia/podman"), Absent{}, node));
  CHECK(node.log().empty());
}

TEST_CASE("users: a group from a directory service counts, and a number is no name") {
  FakeNode node = node_with("video:x:44:\n");
  node.script("getent group -- staff", {0, "staff:*:5000:alice,nvidia\n", ""});
  CHECK(membership_of("nvidia", "staff", node)->member);
  node.script("getent group -- 44", {0, "video:x:44:nvidia\n", ""});
  CHECK_FALSE(membership_of("nvidia", "44", node)->group_exists);
}

TEST_CASE("users: without an answer of the name service nothing is known") {
  const FakeNode node = node_with("video:x:44:\n");
  const auto observed = users().observe({{"nvidia/docker"}}, node);
  CHECK(std::holds_alternative<Error>(observed.resources.at("nvidia/docker")));
}

TEST_CASE("users: a plan warns of a missing user and of a missing group, unless it installs packages") {
  FakeNode node = node_with("docker:x:988:\n");
  node.script("getent passwd -- bob", {2, "", ""});
  node.script("getent group -- podman", {2, "", ""});
  const Value wanted = Value::map({{"member", true}});
  ChangesAhead ahead{{"users", {{"bob/docker", wanted}, {"nvidia/docker", wanted}, {"nvidia/podman", wanted}}}};
  const auto found = users().foresee(ahead, node);
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "bob/docker");
  CHECK(found[0].code == "users.not-there");
  CHECK(found[1].message == "there is no group podman");
  ahead["package"]["podman"] = Value();
  CHECK(users().foresee(ahead, node).empty());
}

}  // namespace sparkplan
