// Files and observed states that a user or another program has spoiled.
#include <random>

#include "engine/resource/artifact.h"
#include "resources/ssh_trust/key_files.h"
#include "resources/ssh_trust/peers.h"
#include "tests/unit/resources/ssh_trust/ssh_trust_fleet.h"

namespace sparkplan::test {
TEST_CASE("ssh_trust: a key is revoked in an authorized_keys of 64 MiB, and the block can be removed from it") {
  Fleet fleet(3);
  fleet.apply();
  const std::string others(std::size_t{64} << 20, '#');
  const std::string with_block = others + "\n" + *fleet.at(1).node.text_of(kAuthorizedKeys);
  fleet.at(1).node.add_file(kAuthorizedKeys, with_block, 0600, 1000, 1000);
  fleet.load(2);
  fleet.apply();
  CHECK(count(*fleet.at(1).node.text_of(kAuthorizedKeys), "n3") == 0);
  CHECK(in_sync(fleet.look(1)));
  fleet.load(2, "");
  fleet.apply();
  CHECK(*fleet.at(1).node.text_of(kAuthorizedKeys) == others + "\n");
}

TEST_CASE("ssh_trust: an oversized authorized_keys is an error, and not treated as revoked") {
  Fleet fleet(2);
  fleet.apply();
  fleet.at(1).node.add_file(kAuthorizedKeys, std::string(kLargestFileWithBlock + 1, '#'), 0600, 1000, 1000);
  const Look look = fleet.look(1);
  REQUIRE(look.plan.blocked.size() == 1);
  CHECK(look.plan.blocked[0].error.code == ErrorCode::kUnsupported);
}

TEST_CASE("ssh_trust: a full file gets no more lines, and lines can be removed from it") {
  const ssh_trust::Account account{"nvidia", 1000, 1000, "/home/nvidia", "/bin/bash"};
  FakeNode node;
  install_fake_accounts(node, {{"nvidia", 1000, 1000, "/home/nvidia"}});
  const auto block = replace_block(std::string(kLargestFileWithBlock - 200, '#') + "\n", "a\nb\n");
  REQUIRE(block);
  node.add_file(kAuthorizedKeys, *block, 0600, 1000, 1000);
  const auto grown = apply_authorized_keys(account, block_present(std::string(400, 'x') + "\n"), node);
  REQUIRE_FALSE(grown);
  CHECK(grown.error().code == ErrorCode::kRefused);
  CHECK(*node.text_of(kAuthorizedKeys) == *block);
  REQUIRE(apply_authorized_keys(account, block_present("b\n"), node));
  CHECK(content_of(read_authorized_keys(account, node)) == "b\n");
  REQUIRE(apply_authorized_keys(account, Absent{}, node));
  CHECK(std::holds_alternative<Absent>(read_authorized_keys(account, node)));
}

TEST_CASE("ssh_trust: a file that is written again has no set-user-ID bit") {
  const ssh_trust::Account account{"nvidia", 1000, 1000, "/home/nvidia", "/bin/bash"};
  FakeNode node;
  install_fake_accounts(node, {{"nvidia", 1000, 1000, "/home/nvidia"}});
  node.add_file(kAuthorizedKeys, "his own\n", 06755, 0, 0);
  REQUIRE(apply_authorized_keys(account, block_present("b\n"), node));
  const auto written = node.status(kAuthorizedKeys);
  REQUIRE(written);
  CHECK(written->mode == 0755);
  CHECK(written->uid == 0);
}

TEST_CASE("ssh_trust: foreign text between the markers is removed, and never sent to other nodes") {
  const std::string filler =
      GENERATE(std::string(std::size_t{20} << 20, 'x') + "\n", std::string(9000, '\n'), std::string("\x01\x02\n"),
               std::string("\xff\xfe sparkplan:lab:n3\n"), std::string("a\0b\n", 4));
  Fleet fleet(3);
  fleet.apply();
  std::string text = *fleet.at(1).node.text_of(kAuthorizedKeys);
  text.insert(text.find("# END"), filler);
  fleet.at(1).node.add_file(kAuthorizedKeys, text, 0600, 1000, 1000);
  fleet.load(2);
  const Look look = fleet.look(1);
  CHECK(encode_json(encode(look.observed)).size() < 100'000);
  REQUIRE(look.plan.blocked.empty());
  fleet.apply();
  CHECK(fleet.at(1).node.text_of(kAuthorizedKeys)->size() < 4096);
  CHECK(count(*fleet.at(1).node.text_of(kAuthorizedKeys), "n3") == 0);
  CHECK(in_sync(fleet.look(1)));
}

TEST_CASE("ssh_trust: no text of a configuration breaks its reader or writer") {
  using ssh_trust::parse_config;
  using ssh_trust::render_config;
  CHECK(parse_config("Match originalhost  localuser X\n").empty());
  for (const char* destination : {"", " ", "a b c", "a b c port 22", "a port x", "a\nHost *", "*", "!a", "a,b", "-o"}) {
    INFO(destination);
    const std::string text = render_config({{destination, {"nvidia"}}});
    CHECK(text == render_config({}));
  }
  CHECK(render_config({{"a", {"x y", "x\nHost *", "*", ""}}}) == render_config({}));
  const std::string whole = render_config({{"a 10.0.0.1", {"nvidia", "root"}}, {"b port 2222", {"root"}}});
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (int n = 0; n < 4; ++n) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    const auto config = parse_config(damaged);
    INFO("the text:\n" << damaged << "read and written:\n" << render_config(config));
    CHECK(parse_config(render_config(config)) == config);
  }
}

TEST_CASE("ssh_trust: any observed Value gives steps or none, and no crash") {
  const std::vector<Value> odd{Value(),
                               Value(7),
                               Value(true),
                               Value("x"),
                               Value::list(),
                               Value::list({Value::map()}),
                               Value::map({{"config", Value::list({""})}}),
                               Value::map({{"config", Value::list({Value(1), " ", "a port"})}}),
                               Value::map({{"unexpected", 1}, {"authorized.", Value::list()}}),
                               Value::map({{"known_hosts.a", "x"}, {"authorized.a", Value::map()}}),
                               Value::map({{"key", Value::list()}, {"refused", Value()}})};
  for (const Value& observed_value : odd) {
    for (const Value& wanted : odd) {
      INFO(display(observed_value) << " / " << display(wanted));
      ObservedType observed;
      observed.resources["nvidia"] = Present{observed_value, {}};
      for (const ArtifactId& id :
           {ssh_trust::key_artifact("nvidia"), ssh_trust::authorized_keys_artifact("nvidia"),
            block_artifact("/etc/ssh/ssh_known_hosts"), file_artifact("/etc/ssh/ssh_config.d/60-sparkplan.conf")}) {
        observed.artifacts[id] = Present{observed_value, {}};
      }
      Resource resource;
      resource.id = {"ssh_trust", "nvidia"};
      resource.desired = wanted;
      Change change;
      change.id = resource.id;
      StepsInput input{{resource}, observed, {change}, {}};
      for (const auto& [id, observation] : observed.artifacts) input.originals.emplace(id, observation);
      CHECK(ssh_trust_type().steps(input).size() <= 4);
      input.target.clear();
      CHECK(ssh_trust_type().steps(input).size() <= 4);
      CHECK(ssh_trust_type().diff(resource, Present{observed_value, {}}).size() < 10);
    }
  }
}

TEST_CASE("ssh_trust: a .ssh that differs from the checked one gets no key") {
  const bool there_before = GENERATE(false, true);
  Fleet fleet(1);
  FakeNode& node = fleet.at(1).node;
  if (there_before) node.add_directory("/home/nvidia/.ssh");
  install_fake_ssh_keygen(node);
  // The user acts while the key is created.
  node.add_program("ssh-keygen", [&](const FakeNode::Call& call) -> Result<CommandOutput> {
    const auto file = std::find(call.argv.begin(), call.argv.end(), "-f");
    call.writable->put_file(*std::next(file), fake_private_key(mark("n1")));
    call.writable->erase("/home/nvidia/.ssh");
    if (!there_before) call.writable->add_directory("/home/nvidia/.ssh");
    return CommandOutput{0, "", ""};
  });
  const Look look = fleet.look(1);
  const StepRun run = run_steps(look.plan, builtin_registry(), node);
  REQUIRE(run.error);
  CHECK(run.error->code == ErrorCode::kStalePlan);
  CHECK_FALSE(node.text_of(kKeyFile));
}

}  // namespace sparkplan::test
