// A node that claims the home or the key of another node, and homes that are shared in truth.
#include "engine/plan/desired_state.h"
#include "resources/ssh_trust/shared_home.h"
#include "tests/unit/resources/ssh_trust/ssh_trust_fleet.h"

namespace sparkplan::test {
namespace {

/// The exported home that makes another node's home look like the home of `node`, as visible from outside.
Value claimed_home(const FakeNode& node) {
  const ssh_trust::Account account{"nvidia", 1000, 1000, "/home/nvidia", "/bin/bash"};
  Value home = *ssh_trust::describe_home(account, node);
  home.erase("key");
  return home;
}

}  // namespace

TEST_CASE("ssh_trust: a node that claims another's home stops only itself, once keys exist") {
  Fleet fleet(3);
  fleet.apply();
  fleet.let_say(2, [&](Value truth) {
    Value user = *truth.find("users")->find("nvidia");
    user.set("home", claimed_home(fleet.at(1).node));
    return truth.set("users", Value::map({{"nvidia", user}}));
  });
  CHECK(find_code(fleet.look(1), "ssh_trust.shared-home") == nullptr);
  CHECK(in_sync(fleet.look(1)));
  // A wrong key proves no shared home.
  fleet.let_say(2, [&](Value truth) {
    Value user = *truth.find("users")->find("nvidia");
    user.set("home", claimed_home(fleet.at(1).node).set("key", std::string(64, '0')));
    return truth.set("users", Value::map({{"nvidia", user}}));
  });
  CHECK(find_code(fleet.look(1), "ssh_trust.shared-home") == nullptr);
  CHECK(find_code(fleet.look(3), "ssh_trust.shared-home") == nullptr);
  fleet.at(1).node.add_file("/etc/ssh/ssh_host_ed25519_key.pub", fake_public_key("new host key") + "\n");
  fleet.apply();
  CHECK(count(fleet.block_in(3, kKnownHosts), fake_public_key("new host key")) == 1);
}

TEST_CASE("ssh_trust: a home shared by two nodes is detected by the key that both read in it") {
  Fleet fleet(3);
  fleet.apply();
  const std::string key = *fleet.at(1).node.text_of(kKeyFile);
  // One directory: the same identity, and the same file in it.
  fleet.at(2).node.add_file("/proc/stat", *fleet.at(1).node.text_of("/proc/stat"));
  fleet.at(2).node.add_file(kKeyFile, key, 0600, 1000, 1000);
  CHECK(find_code(fleet.look(1), "ssh_trust.shared-home") != nullptr);
  CHECK(find_code(fleet.look(2), "ssh_trust.shared-home") != nullptr);
  CHECK(find_code(fleet.look(3), "ssh_trust.shared-home") == nullptr);
}

TEST_CASE("ssh_trust: lines of departed nodes are removed even in a shared or falsely claimed home") {
  Fleet fleet(4);
  fleet.apply();
  fleet.at(2).node.add_file("/proc/stat", *fleet.at(1).node.text_of("/proc/stat"));
  fleet.at(2).node.add_file(kKeyFile, *fleet.at(1).node.text_of(kKeyFile), 0600, 1000, 1000);
  const std::string before = fleet.block_in(1, kAuthorizedKeys);
  fleet.load(3);
  REQUIRE(find_code(fleet.look(1), "ssh_trust.shared-home") != nullptr);
  fleet.apply();
  for (int i = 1; i <= 3; ++i) {
    INFO(i);
    CHECK(count(*fleet.at(i).node.text_of(kAuthorizedKeys), "n4") == 0);
    CHECK(count(*fleet.at(i).node.text_of(kKnownHosts), "n4") == 0);
    CHECK(fleet.look(i).plan.steps.empty());
  }
  CHECK(count(fleet.block_in(1, kAuthorizedKeys), "\n") == count(before, "\n") - 1);
}

TEST_CASE("ssh_trust: a removed key is revoked, even if another node claims its home") {
  Fleet fleet(3);
  fleet.apply();
  const std::string old_key = fake_public_key(mark("n1"));
  fleet.at(1).node.erase(kKeyFile);
  fleet.let_say(2, [&](Value truth) {
    Value user = Value::map({{"makes_key", true}, {"home", claimed_home(fleet.at(1).node)}});
    return truth.set("users", Value::map({{"nvidia", user}}));
  });
  fleet.apply();
  CHECK(find_code(fleet.look(1), "ssh_trust.shared-home") != nullptr);  // A false claim has only this effect.
  CHECK(count(fleet.block_in(3, kAuthorizedKeys), old_key) == 0);
}

TEST_CASE("ssh_trust: a key that is announced and never made leaves nothing to wait for on the other nodes") {
  Fleet fleet(2);
  fleet.apply();
  fleet.let_say(2, [](Value truth) {
    return truth.set("users", Value::map({{"nvidia", Value::map({{"makes_key", true}})}}));
  });
  Look look = fleet.look(1);
  CHECK(look.plan.waiting == std::vector<ResourceId>{{"ssh_trust", "nvidia"}});
  const std::string before = fleet.block_in(1, kAuthorizedKeys);
  const auto ended =
      end_waits(look.desired, [](const std::string& producer) { return producer == "n2/ssh_trust/nvidia"; });
  CHECK(ended.size() == 1);
  NodePlanInput input;
  input.desired = look.desired;
  input.observed = &look.observed;
  input.manifest = &fleet.at(1).manifest;
  const NodePlan plan = plan_node(input, builtin_registry());
  CHECK(plan.in_sync());
  CHECK(plan.steps.empty());
  CHECK(fleet.block_in(1, kAuthorizedKeys) == before);
}

TEST_CASE("ssh_trust: two nodes that export one key keep their lines, and a warning names both") {
  Fleet fleet(3);
  fleet.apply();
  const std::string key = fake_public_key(mark("n1"));
  fleet.let_say(2, [&](Value truth) {
    return truth.set("users", Value::map({{"nvidia", Value::map({{"public_key", key}})}}));
  });
  const Look look = fleet.look(1);
  const Diagnostic* warning = find_code(look, "ssh_trust.same-key");
  REQUIRE(warning != nullptr);
  CHECK(warning->severity == Severity::kWarning);
  CHECK(warning->message.find("n[1-2]") != std::string::npos);
  CHECK(warning->hint.find("as a node can report any key") != std::string::npos);
  fleet.apply();
  const std::string block = fleet.block_in(3, kAuthorizedKeys);
  CHECK(count(block, "from=\"10.0.0.1\" " + key + " " + mark("n1") + "\n") == 1);
  CHECK(count(block, "from=\"10.0.0.2\" " + key + " " + mark("n2") + "\n") == 1);
}

TEST_CASE("ssh_trust: the plan that removes a node reports another node's line with the same key") {
  Fleet fleet(3);
  fleet.apply();
  const std::string key = fake_public_key(mark("n3"));
  fleet.let_say(2, [&](Value truth) {
    return truth.set("users", Value::map({{"nvidia", Value::map({{"public_key", key}})}}));
  });
  fleet.apply();
  fleet.load(2);
  const Look look = fleet.look(1);
  const auto remark = std::find_if(look.plan.changes.begin(), look.plan.changes.end(),
                                   [](const Change& change) { return change.origin == Origin::kForeign; });
  REQUIRE(remark != look.plan.changes.end());
  CHECK(remark->note.find("accepts for n2 a key that is also the key of n3") != std::string::npos);
  CHECK(remark->is_harmless());
  fleet.apply();
  CHECK(count(fleet.block_in(1, kAuthorizedKeys), mark("n3")) == 0);
  CHECK(in_sync(fleet.look(1)));
}

TEST_CASE("ssh_trust: a host key of two nodes is listed under both names, and a warning names both") {
  Fleet fleet(2);
  fleet.let_say(2, [](Value truth) { return truth.set("host_keys", Value::list({fake_public_key("host of n1")})); });
  const Look look = fleet.look(1);
  const Diagnostic* warning = find_code(look, "ssh_trust.same-host-key");
  REQUIRE(warning != nullptr);
  CHECK(warning->message.find("n[1-2]") != std::string::npos);
  CHECK(warning->hint.find("as a node can report any key") != std::string::npos);
  fleet.apply();
  const std::string known = fleet.block_in(1, kKnownHosts);
  CHECK(count(known, "n1,10.0.0.1 " + fake_public_key("host of n1") + " " + mark("n1") + "\n") == 1);
  CHECK(count(known, "n2,10.0.0.2 " + fake_public_key("host of n1") + " " + mark("n2") + "\n") == 1);
}

}  // namespace sparkplan::test
