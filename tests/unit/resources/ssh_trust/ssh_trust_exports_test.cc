// Hostile exports of a node: too many, too large, of any shape.
#include "resources/ssh_trust/exports.h"

#include "engine/resource/artifact.h"
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

}  // namespace sparkplan::test
