// Trust between nodes in memory: several stages on several nodes, and the effect on users' files.
#include "engine/resource/artifact.h"
#include "tests/support/catch.h"
#include "tests/unit/resources/ssh_trust/ssh_trust_fleet.h"

namespace sparkplan::test {

TEST_CASE("ssh_trust: one apply creates the keys in its first stage and distributes them in its second") {
  Fleet fleet(3);
  CHECK(fleet.apply() == 2);
  for (int i = 1; i <= 3; ++i) {
    INFO(i);
    const std::string authorized = fleet.block_in(i, kAuthorizedKeys);
    const std::string known = fleet.block_in(i, kKnownHosts);
    for (int peer = 1; peer <= 3; ++peer) {
      const std::string name = "n" + std::to_string(peer);
      CHECK(count(authorized, fake_public_key(mark(name)) + " " + mark(name) + "\n") == 1);
      CHECK(count(known, name + ",10.0.0." + std::to_string(peer) + " " + fake_public_key("host of " + name)) == 1);
    }
    CHECK(in_sync(fleet.look(i)));
    fleet.at(i).node.clear_log();
  }
  CHECK(fleet.apply() == 0);
  for (int i = 1; i <= 3; ++i) CHECK(fleet.at(i).node.log().empty());
}

TEST_CASE("ssh_trust: missing files are created with the owner and mode that sshd requires") {
  Fleet fleet(2);
  fleet.apply();
  const FakeNode::Snapshot files = fleet.at(1).node.snapshot();
  CHECK(files.at(kKeyFile).starts_with("file 0600 1000:1000"));
  CHECK(files.at(kKeyFile + ".pub").starts_with("file 0644 1000:1000"));
  CHECK(files.at(kAuthorizedKeys).starts_with("file 0600 1000:1000"));
  CHECK(files.at(kKnownHosts).starts_with("file 0644 0:0"));
  CHECK(files.at(kConfig).starts_with("file 0644 0:0"));
  CHECK(std::none_of(files.begin(), files.end(), [](const auto& file) { return file.first.starts_with("/run"); }));
}

TEST_CASE("ssh_trust: a private key appears only in its own file") {
  Fleet fleet(2);
  const Look first = fleet.look(1);
  fleet.apply();
  const Look second = fleet.look(1);
  const std::string secret = "the secret part";
  const std::string file = *fleet.at(1).node.text_of(kKeyFile);
  const std::string body = file.substr(file.find('\n') + 1, 200);
  for (const Look* look : {&first, &second}) {
    for (const std::string& text : {encode_json(describe(*look)), encode_json(encode(look->observed))}) {
      CHECK(text.find(secret) == std::string::npos);
      CHECK(text.find(body) == std::string::npos);
      CHECK(text.find("PRIVATE KEY") == std::string::npos);
    }
  }
  const Result<Value> exported =
      ssh_trust_type().exports(Value::map({{"users", Value::list({"nvidia"})}}), fleet.at(1).node);
  REQUIRE(exported);
  CHECK(encode_json(*exported).find(body) == std::string::npos);
}

TEST_CASE("ssh_trust: a private key in the public file appears in no value, and is not restored") {
  const std::string secret = fake_private_key("a key of somebody's");
  const std::string body = secret.substr(secret.find('\n') + 1, 60);
  const FakeUser user{"nvidia", 1000, 1000, "/home/nvidia"};
  for (const std::string& text : {secret, fake_public_key(mark("n1")) + " " + mark("n1") + "\n" + secret,
                                  fake_public_key("another") + " x\r" + secret}) {
    INFO(text);
    Fleet fleet(2);
    add_fake_key(fleet.at(1).node, user, mark("n1"));
    fleet.at(1).node.add_file(kKeyFile + ".pub", text, 0644, 1000, 1000);
    const Look look = fleet.look(1);
    for (const std::string& told : {encode_json(describe(look)), encode_json(encode(look.observed))}) {
      CHECK(count(told, body) == 0);
      CHECK(count(told, "PRIVATE KEY") == 0);
    }
    const Step& step = look.plan.steps.at(0);
    CHECK(std::get<Present>(step.before).value.boolean_or("public_file_is_no_public_key", false));

    // Undoing an unapplied step keeps the text. After the step was applied, the earlier text is unknown, and the undo
    // removes the file.
    REQUIRE(ssh_trust_type().apply(step.artifact, step.before, fleet.at(1).node));
    CHECK(fleet.at(1).node.text_of(kKeyFile + ".pub") == text);
    REQUIRE(ssh_trust_type().apply(step.artifact, step.after, fleet.at(1).node));
    REQUIRE(ssh_trust_type().apply(step.artifact, step.before, fleet.at(1).node));
    CHECK_FALSE(fleet.at(1).node.text_of(kKeyFile + ".pub"));
    CHECK(fleet.at(1).node.text_of(kKeyFile));

    fleet.at(1).node.add_file(kKeyFile + ".pub", text, 0644, 1000, 1000);
    fleet.apply();
    CHECK(fleet.at(1).node.text_of(kKeyFile + ".pub") == fake_public_key(mark("n1")) + " " + mark("n1") + "\n");
    fleet.load(2, "");
    fleet.apply();
    CHECK_FALSE(fleet.at(1).node.text_of(kKeyFile + ".pub"));
    CHECK(fleet.at(1).node.text_of(kKeyFile));
  }
}

TEST_CASE("ssh_trust: a removal deletes keys last, so that a failure creates no new ones") {
  Fleet fleet(2);
  for (int i = 1; i <= 2; ++i) fleet.at(i).node.add_directory("/home/operator");
  fleet.load(2, "ssh_trust: {users: [nvidia, operator]}\n");
  fleet.apply();
  fleet.load(2, "");
  const Look look = fleet.look(1);
  std::vector<std::string> kinds;
  for (const Step& step : look.plan.steps) kinds.push_back(step.artifact.kind);
  CHECK(kinds == std::vector<std::string>{"authorized_keys", "authorized_keys", "block", "file", "ssh_key", "ssh_key"});
}

TEST_CASE("ssh_trust: foreign lines in authorized_keys stay byte for byte, and so does its mode") {
  const std::string odd =
      "# mine\n\n  \tssh-rsa AAAA== two  blanks\r\ncommand=\"echo \\\"x\\\"\",no-pty ssh-ed25519 AAAA a b c\nnot a "
      "key\n" +
      std::string("\xff\xfe\0x\n", 5) + "sparkplan:lab:n9 without a block\nlast line without its newline";
  Fleet fleet(2);
  fleet.at(1).node.add_file(kAuthorizedKeys, odd, 0640, 1000, 7);
  fleet.apply();
  const std::string with_block = *fleet.at(1).node.text_of(kAuthorizedKeys);
  CHECK(with_block.starts_with(odd + "\n# BEGIN sparkplan"));
  CHECK(fleet.at(1).node.snapshot().at(kAuthorizedKeys).starts_with("file 0640 1000:7"));

  // The user continues to edit around the block.
  const std::string more = "# above\n" + with_block + "# below";
  fleet.at(1).node.add_file(kAuthorizedKeys, more, 0640, 1000, 7);
  CHECK(in_sync(fleet.look(1)));
  fleet.load(2, "");
  fleet.apply();
  CHECK(*fleet.at(1).node.text_of(kAuthorizedKeys) == "# above\n" + odd + "\n# below");
}

TEST_CASE("ssh_trust: removing the section restores every byte, including the keys") {
  Fleet fleet(2);
  fleet.at(1).node.add_file(kAuthorizedKeys, "ssh-rsa AAAA me\n", 0600, 1000, 1000);
  fleet.at(1).node.add_file(kKnownHosts, "elsewhere ssh-rsa AAAA\n");
  const std::vector<FakeNode::Snapshot> before{fleet.at(1).node.snapshot(), fleet.at(2).node.snapshot()};
  fleet.apply();
  fleet.load(2, "");
  CHECK(fleet.apply() == 1);
  CHECK(fleet.at(1).node.snapshot() == before[0]);
  CHECK(fleet.at(2).node.snapshot() == before[1]);
  CHECK(fleet.at(1).manifest.resources.empty());
}

TEST_CASE("ssh_trust: one apply creates a deleted key again and distributes it to all others") {
  Fleet fleet(3);
  fleet.apply();
  fleet.at(2).node.erase(kKeyFile);
  install_fake_ssh_keygen(fleet.at(2).node, "another");
  CHECK(fleet.look(1).plan.waiting == std::vector<ResourceId>{{"ssh_trust", "nvidia"}});
  CHECK(fleet.look(2).plan.changes.at(0).origin == Origin::kDrift);
  CHECK(fleet.apply() == 2);
  const std::string old_key = fake_public_key(mark("n2"));
  const std::string new_key = fake_public_key(mark("n2"), "another");
  for (int i = 1; i <= 3; ++i) {
    INFO(i);
    CHECK(count(fleet.block_in(i, kAuthorizedKeys), new_key) == 1);
    CHECK(count(fleet.block_in(i, kAuthorizedKeys), old_key) == 0);
    CHECK(in_sync(fleet.look(i)));
  }
  CHECK(count(*fleet.at(2).node.text_of(kKeyFile + ".pub"), new_key) == 1);
}

TEST_CASE("ssh_trust: a regenerated host key is written to the known hosts of all users") {
  Fleet fleet(2);
  fleet.apply();
  fleet.at(2).node.add_file("/etc/ssh/ssh_host_ed25519_key.pub", fake_public_key("new host key") + "\n");
  CHECK(fleet.apply() == 1);
  for (int i = 1; i <= 2; ++i) {
    CHECK(count(fleet.block_in(i, kKnownHosts), fake_public_key("new host key")) == 1);
    CHECK(count(fleet.block_in(i, kKnownHosts), fake_public_key("host of n2")) == 0);
  }
}

TEST_CASE("ssh_trust: an unreachable node does not delay the others, and joins them later") {
  Fleet fleet(3);
  fleet.set_reached(3, false);
  CHECK(fleet.apply() == 2);
  for (int i = 1; i <= 2; ++i) {
    CHECK(in_sync(fleet.look(i)));
    CHECK(count(fleet.block_in(i, kAuthorizedKeys), "sparkplan:lab:n") == 2);
  }
  fleet.set_reached(3, true);
  CHECK(fleet.apply() == 2);
  for (int i = 1; i <= 3; ++i) CHECK(count(fleet.block_in(i, kAuthorizedKeys), "sparkplan:lab:n") == 3);

  // Its lines stay while the node is unreachable again.
  fleet.set_reached(3, false);
  CHECK(in_sync(fleet.look(1)));
  CHECK(fleet.apply() == 0);
  CHECK(count(fleet.block_in(1, kAuthorizedKeys), "sparkplan:lab:n3") == 1);
}

TEST_CASE("ssh_trust: a node that has left the file loses its access everywhere") {
  Fleet fleet(3);
  fleet.apply();
  fleet.load(2);
  CHECK(fleet.apply() == 1);
  for (int i = 1; i <= 2; ++i) {
    CHECK(count(*fleet.at(i).node.text_of(kAuthorizedKeys), "n3") == 0);
    CHECK(count(*fleet.at(i).node.text_of(kKnownHosts), "n3") == 0);
    CHECK(count(*fleet.at(i).node.text_of(kConfig), "n3") == 0);
  }
}

TEST_CASE("ssh_trust: a foreign line in the block is drift, and is removed") {
  Fleet fleet(2);
  fleet.apply();
  std::string text = *fleet.at(1).node.text_of(kAuthorizedKeys);
  text.insert(text.find("# END"), "ssh-ed25519 AAAA intruder\n");
  fleet.at(1).node.add_file(kAuthorizedKeys, text, 0600, 1000, 1000);
  const Look look = fleet.look(1);
  REQUIRE(look.plan.changes.size() == 1);
  CHECK(look.plan.changes[0].origin == Origin::kDrift);
  CHECK(look.plan.changes[0].fields.at(0).path == "unexpected");
  CHECK(fleet.apply() == 1);
  CHECK(count(*fleet.at(1).node.text_of(kAuthorizedKeys), "intruder") == 0);
}

TEST_CASE("ssh_trust: a private key readable by others gets its mode restored, and is not replaced") {
  Fleet fleet(2);
  fleet.apply();
  const std::string key = *fleet.at(1).node.text_of(kKeyFile);
  fleet.at(1).node.add_file(kKeyFile, key, 0644, 0, 1000);
  const Look look = fleet.look(1);
  REQUIRE(look.plan.changes.size() == 1);
  CHECK(display(look.plan.changes[0].fields.at(0).before) ==
        "ed25519 sparkplan:lab:n1, owned by user number 0, mode 0644");
  CHECK(fleet.apply() == 1);
  CHECK(fleet.at(1).node.snapshot().at(kKeyFile) == "file 0600 1000:1000\n" + key);
}

TEST_CASE("ssh_trust: a missing public file is written again from the private key") {
  Fleet fleet(2);
  fleet.apply();
  const FakeNode::Snapshot before = fleet.at(1).node.snapshot();
  fleet.at(1).node.erase(kKeyFile + ".pub");
  CHECK(fleet.apply() == 1);
  CHECK(fleet.at(1).node.snapshot() == before);
}

TEST_CASE("ssh_trust: an existing key is used, and stays after a removal") {
  Fleet fleet(2);
  const FakeUser user{"nvidia", 1000, 1000, "/home/nvidia"};
  add_fake_key(fleet.at(1).node, user, mark("n1"), "from an earlier life");
  const FakeNode::Snapshot before = fleet.at(1).node.snapshot();
  fleet.apply();
  CHECK(count(fleet.block_in(2, kAuthorizedKeys), fake_public_key(mark("n1"), "from an earlier life")) == 1);
  fleet.load(2, "");
  fleet.apply();
  CHECK(fleet.at(1).node.snapshot() == before);
}

TEST_CASE("ssh_trust: users may differ per node, and each is trusted only where listed") {
  Fleet fleet(2);
  for (int i = 1; i <= 2; ++i) fleet.at(i).node.add_directory("/home/operator");
  fleet.load(2, "ssh_trust: {users: [nvidia, operator]}\n");
  fleet.apply();
  CHECK(count(*fleet.at(1).node.text_of(kConfig), "localuser nvidia,operator\n") == 2);
  fleet.load(2);
  CHECK(fleet.apply() == 1);
  for (int i = 1; i <= 2; ++i) {
    const FakeNode& node = fleet.at(i).node;
    CHECK_FALSE(node.text_of("/home/operator/.ssh/authorized_keys"));
    CHECK_FALSE(node.text_of("/home/operator/.ssh/sparkplan_ed25519"));
    CHECK(count(*node.text_of(kConfig), "localuser nvidia\n") == 2);
    CHECK(in_sync(fleet.look(i)));
  }
}

}  // namespace sparkplan::test
