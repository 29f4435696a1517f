// The machine behind a node of the file is a member under another name.
#include "engine/plan/other_member.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

NodeSpec node(const std::string& name, const std::string& address) {
  return {*NodeName::parse(name), 1, address, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
}

RosterEntry member(const std::string& name, const std::string& address) {
  return {name, 1, address, "nvidia", 22, "SHA256:" + name, "id-" + name, "", "sudo", "", false};
}

/// n1 and n2 have an earlier apply. The file names `files`; only the first of them is contacted, and `found` answers.
std::map<std::string, Error> mistaken(const std::vector<NodeSpec>& files, const Machine& found) {
  std::vector<const NodeSpec*> file;
  for (const NodeSpec& one : files) file.push_back(&one);
  return mistaken_for_members({member("n1", "10.0.0.1"), member("n2", "10.0.0.2")}, file,
                              {{files.front().name.str(), found}});
}

const Machine kSecond{"SHA256:n2", "id-n2", "n2"};
const Machine kStranger{"SHA256:x", "id-x", ""};

}  // namespace

TEST_CASE(
    "a new address that leads to another member's host key is refused, whether or not that member is in the run") {
  const auto refused = mistaken({node("n3", "10.0.0.3"), node("n1", "10.0.0.1"), node("n2", "10.0.0.2")}, kSecond);
  REQUIRE(refused.size() == 1);
  const Error& error = refused.at("n3");
  CHECK(error.code == ErrorCode::kRefused);
  CHECK(error.message ==
        "n3 leads to the machine of n2: it has its host key, reports its machine-id, has its manifest");
  CHECK(error.hint.find("correct the address of n3") != std::string::npos);
  const auto both = mistaken_for_members({member("n2", "10.0.0.2")}, {}, {{"n3", kSecond}});
  CHECK(both.empty());  // No node of the file.
}

TEST_CASE("one mark of another member is enough to refuse a machine") {
  const std::vector<NodeSpec> file{node("n3", "10.0.0.3"), node("n1", "10.0.0.1"), node("n2", "10.0.0.2")};
  CHECK(mistaken(file, kStranger).empty());
  CHECK(mistaken(file, {"SHA256:n2", "id-x", ""}).count("n3") == 1);
  CHECK(mistaken(file, {"SHA256:x", "id-n2", ""}).count("n3") == 1);
  CHECK(mistaken(file, {"SHA256:x", "id-x", "n2"}).count("n3") == 1);
  CHECK(mistaken(file, {"SHA256:x", "uninitialized", "n9"}).empty());
}

TEST_CASE("a member whose pinned host key answers elsewhere is recognised without a record") {
  NodeSpec pinned = node("n5", "10.0.0.5");
  pinned.ssh.host_key = "SHA256:x";
  CHECK(mistaken({node("n3", "10.0.0.3"), pinned}, kStranger).count("n3") == 1);
  CHECK(mistaken({pinned, node("n3", "10.0.0.3")}, kStranger).empty());
}

TEST_CASE("a member that answers at its own address is no other member") {
  CHECK(mistaken({node("n2", "10.0.0.2"), node("n1", "10.0.0.1")}, kSecond).empty());
  CHECK(mistaken({node("n2", "10.0.0.77"), node("n1", "10.0.0.1")}, kSecond).empty());
}

TEST_CASE("a machine-id that is recorded for the node itself is no other member's") {
  std::vector<RosterEntry> members{member("n1", "10.0.0.1"), member("n2", "10.0.0.2")};
  members[1].machine_id = "id-n1";
  const NodeSpec first = node("n1", "10.0.0.1");
  CHECK(mistaken_for_members(members, {&first}, {{"n1", {"SHA256:n1", "id-n1", "n1"}}}).empty());
}

TEST_CASE("a renamed machine is no other member if its place or its trusted host key is the recorded one") {
  // The old place under a new name, also if another node has the old name now.
  CHECK(mistaken({node("head", "10.0.0.2"), node("n1", "10.0.0.1")}, kSecond).empty());
  CHECK(mistaken({node("n1", "10.0.0.2"), node("n2", "10.0.0.1")}, kSecond).empty());
  // A new place and a new name.
  NodeSpec moved = node("head", "10.0.0.9");
  CHECK(mistaken({moved, node("n1", "10.0.0.1")}, kSecond).empty());
  CHECK(mistaken({moved, node("n2", "10.0.0.2")}, kSecond).count("head") == 1);
  // Under accept-new any machine may answer at the new place.
  moved.ssh.host_keys = HostKeyPolicy::kAcceptNew;
  CHECK(mistaken({moved, node("n1", "10.0.0.1")}, kSecond).count("head") == 1);
  moved.ssh.host_key = "SHA256:n2";
  CHECK(mistaken({moved, node("n1", "10.0.0.1")}, kSecond).empty());
}

}  // namespace sparkplan
