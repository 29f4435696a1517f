// Hostile nodes and users: their exports, their files, and their observed state.
#include <random>

#include "engine/plan/desired_state.h"
#include "engine/resource/artifact.h"
#include "resources/ssh_trust/authorized_keys.h"
#include "resources/ssh_trust/export_limits.h"
#include "resources/ssh_trust/exports.h"
#include "resources/ssh_trust/peers.h"
#include "resources/ssh_trust/shared_home.h"
#include "resources/ssh_trust/trust_steps.h"
#include "tests/support/catch.h"
#include "tests/unit/resources/ssh_trust/ssh_trust_fleet.h"

namespace sparkplan::test {
namespace {

Value many(std::size_t number, const std::function<std::string(std::size_t)>& text) {
  Value list = Value::list();
  for (std::size_t i = 0; i < number; ++i) list.list_items()->push_back(Value(text(i)));
  return list;
}

std::string address(std::size_t i) {
  return "10." + std::to_string(1 + (i >> 16U)) + "." + std::to_string((i >> 8U) & 255U) + "." +
         std::to_string(i & 255U);
}

const Diagnostic* find_code(const Look& look, const std::string& code) {
  for (const Diagnostic& one : look.diagnostics) {
    if (one.code == code) return &one;
  }
  return nullptr;
}

/// The exported home that makes another node's home look like the home of `node`, as visible from outside.
Value claimed_home(const FakeNode& node) {
  const ssh_trust::Account account{"nvidia", 1000, 1000, "/home/nvidia", "/bin/bash"};
  Value home = *ssh_trust::describe_home(account, node);
  home.erase("key");
  return home;
}

std::size_t size_of(const Look& look, const std::string& artifact) {
  for (const Step& step : look.plan.steps) {
    if (step.artifact.str() == artifact) return content_of(step.after).value_or("").size();
  }
  return 0;
}

}  // namespace

TEST_CASE("ssh_trust: a node that exports 120,000 addresses does not prevent revoking another node's key") {
  Fleet fleet(4);
  fleet.apply();
  fleet.let_say(2, [](Value truth) { return truth.set("addresses", many(120'000, address)); });
  fleet.apply();
  CHECK(fleet.at(1).node.text_of(kAuthorizedKeys)->size() < 4096);
  fleet.load(3);
  fleet.apply();
  for (int i = 1; i <= 3; ++i) {
    INFO(i);
    CHECK(count(*fleet.at(i).node.text_of(kAuthorizedKeys), "n4") == 0);
    CHECK(count(*fleet.at(i).node.text_of(kAuthorizedKeys), mark("n2") + "\n") == 1);  // Unchanged.
    CHECK(in_sync(fleet.look(i)));
  }
}

TEST_CASE("ssh_trust: an export over a limit counts as missing, is reported once, and delays no other node") {
  struct Excess {
    const char* what;
    std::function<Value(Value)> lie;
    std::string message;
  };
  const auto every = std::vector<Excess>{
      {"addresses", [](Value truth) { return truth.set("addresses", many(17, address)); }, "17 addresses"},
      {"host keys",
       [](Value truth) {
         return truth.set("host_keys", many(9, [](std::size_t i) { return fake_public_key(std::to_string(i)); }));
       },
       "9 host keys"},
      {"users",
       [](Value truth) {
         Value users = Value::map();
         for (int i = 0; i <= 100; ++i) users.set("u" + std::to_string(i), Value::map());
         return truth.set("users", users);
       },
       "101 users"},
      {"one text", [](Value truth) { return truth.set("x", std::string(4097, 'x')); }, "more than 4096 bytes"},
      {"all host keys",
       [](Value truth) { return truth.set("host_keys", many(3, [](std::size_t) { return std::string(4000, 'A'); })); },
       "more than 8192 bytes"},
      {"all texts",
       [](Value truth) { return truth.set("x", many(100, [](std::size_t) { return std::string(4000, 'x'); })); },
       "more than 262144 bytes"},
      {"values", [](Value truth) { return truth.set("x", many(5000, [](std::size_t) { return ""; })); },
       "too many values"}};
  for (const Excess& one : every) {
    INFO(one.what);
    Fleet fleet(3);
    fleet.let_say(2, one.lie);
    const Look first = fleet.look(1);
    const Diagnostic* warning = find_code(first, "ssh_trust.export-refused");
    REQUIRE(warning != nullptr);
    CHECK(warning->severity == Severity::kWarning);
    CHECK(warning->message.find("n2") != std::string::npos);
    CHECK(warning->message.find(one.message) != std::string::npos);
    CHECK(find_code(fleet.look(3), "ssh_trust.export-refused") == nullptr);
    fleet.apply();
    CHECK(count(fleet.block_in(1, kAuthorizedKeys), mark("n3")) == 1);
    CHECK(count(fleet.block_in(1, kAuthorizedKeys), mark("n2")) == 0);
    CHECK(count(fleet.block_in(1, kKnownHosts), mark("n2")) == 0);
  }
}

TEST_CASE("ssh_trust: an honest machine with many addresses and keys exports as many as the others accept") {
  FakeNode node;
  const FakeUser user{"nvidia", 1000, 1000, "/home/nvidia"};
  install_fake_accounts(node, {user});
  add_fake_key(node, user, mark("n1"));
  LinkFacts link;
  link.name = "eth0";
  for (std::size_t i = 0; i < 300; ++i) link.addresses.push_back(address(i) + "/8");
  node.add_link(link);
  node.set_connection_address(address(299));
  for (int i = 0; i < 30; ++i) {
    node.add_file("/etc/ssh/ssh_host_" + std::to_string(i) + "_key.pub", fake_public_key(std::to_string(i)));
  }
  const auto exported = ssh_trust::export_trust(Value::map({{"users", Value::list({"nvidia"})}}), node);
  REQUIRE(exported);
  CHECK(ssh_trust::excess_of(*exported).empty());
  const Value::List& addresses = *exported->find("addresses")->list_items();
  CHECK(addresses.size() == ssh_trust::kMostAddresses);
  CHECK(std::find(addresses.begin(), addresses.end(), Value(address(299))) != addresses.end());
  CHECK(exported->find("host_keys")->list_items()->size() == ssh_trust::kMostHostKeys);
}

TEST_CASE("ssh_trust: the largest exports of a thousand nodes give files within the size limit for reading") {
  constexpr int kNodes = 1000;
  std::string yaml = "version: 1\nname: lab\nssh: {user: nvidia}\nssh_trust: {users: [nvidia]}\nnodes:\n";
  for (int i = 1; i <= kNodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    yaml.append("  - {name: ").append(name).append(", address: ").append(name).append(".example.net}\n");
  }
  LoadedCluster loaded = load_cluster(yaml, "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  Fleet fleet(1);
  World world = fleet.at(1);
  world.cluster = *std::move(loaded.cluster);
  for (int i = 2; i <= kNodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    const Value addresses = many(ssh_trust::kMostAddresses, [](std::size_t n) {
      return "2001:db8:ffff:ffff:ffff:ffff:ffff:" + std::to_string(1000 + n);
    });
    const Value user = Value::map({{"public_key", fake_public_key(name)}});
    const Value truth = Value::map({{"users", Value::map({{"nvidia", user}})},
                                    {"host_keys", Value::list({fake_public_key(name)})},
                                    {"addresses", addresses}});
    REQUIRE(ssh_trust::excess_of(truth).empty());
    world.exports[name]["ssh_trust"] = truth;
  }
  const Look look = look_at(world, builtin_registry());
  const std::size_t size = size_of(look, "authorized_keys:~nvidia/.ssh/authorized_keys");
  CHECK(size > 700'000);
  CHECK(size < (std::size_t{1} << 20));  // Lines are listed one by one, not replaced by their size.
}

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

TEST_CASE("ssh_trust: any exported Value is accepted, and the other nodes get their lines") {
  const std::vector<Value> odd{Value(),
                               Value("x"),
                               Value::list({"x"}),
                               Value::map({{"nvidia", "x"}}),
                               Value::map({{"nvidia", Value::map({{"home", 3}, {"public_key", 4}})}}),
                               Value::map({{"nvidia", Value::map({{"public_key", "ssh-ed25519 AAAA"}})}})};
  for (const Value& users : odd) {
    for (const char* field : {"users", "host_keys", "addresses"}) {
      INFO(field << " " << display(users));
      Fleet fleet(3);
      fleet.let_say(2, [&](Value truth) { return truth.set(field, users); });
      fleet.apply();
      CHECK(count(fleet.block_in(1, kAuthorizedKeys), mark("n3")) == 1);
      CHECK(count(fleet.block_in(3, kAuthorizedKeys), mark("n1")) == 1);
    }
  }
}

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
  fleet.apply();
  const std::string known = fleet.block_in(1, kKnownHosts);
  CHECK(count(known, "n1,10.0.0.1 " + fake_public_key("host of n1") + " " + mark("n1") + "\n") == 1);
  CHECK(count(known, "n2,10.0.0.2 " + fake_public_key("host of n1") + " " + mark("n2") + "\n") == 1);
}

TEST_CASE("ssh_trust: only keys and addresses of an export reach a line") {
  const std::string key = fake_public_key("k");
  const std::vector<std::string> keys{key + "\n" + key,
                                      key + " " + mark("n1"),
                                      "command=\"x\" " + key,
                                      "@cert-authority * " + key,
                                      "* " + key,
                                      "!n1 " + key,
                                      "restrict " + key,
                                      key + " # x",
                                      "\t" + key,
                                      key + "\r"};
  for (const std::string& odd : keys) {
    INFO(odd);
    Fleet fleet(2);
    fleet.let_say(2, [&](Value truth) {
      truth.set("users", Value::map({{"nvidia", Value::map({{"public_key", odd}})}}));
      return truth.set("host_keys", Value::list({odd}));
    });
    fleet.apply();
    CHECK(count(*fleet.at(1).node.text_of(kAuthorizedKeys), "n2") == 0);
    CHECK(count(*fleet.at(1).node.text_of(kKnownHosts), "n2") == 0);
  }
  Fleet fleet(2);
  fleet.let_say(2, [](Value truth) {
    return truth.set("addresses", Value::list({"*", "!10.0.0.9", "10.0.0.0/8", "0.0.0.0", "::", "10.0.0.9\" x",
                                               "10.0.0.9,*", "10.0.0.9\n", "127.0.0.1", "255.255.255.255"}));
  });
  fleet.apply();
  CHECK(count(fleet.block_in(1, kAuthorizedKeys), "from=\"10.0.0.2\" " + fake_public_key(mark("n2"))) == 1);
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
