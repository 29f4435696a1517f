#include "engine/load/merge.h"
#include "engine/load/load.h"
#include "engine/load/unresolved_node.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

Cluster load(const std::string& text) {
  auto loaded = load_cluster(text, "cluster.yaml", builtin_registry());
  for (const auto& diagnostic : loaded.diagnostics) UNSCOPED_INFO(diagnostic.message);
  REQUIRE(loaded.cluster);
  return std::move(*loaded.cluster);
}

const char* const kTwo = "nodes:\n  - {name: a1, address: 10.0.0.1}\n  - {name: a2, address: 10.0.0.2";

}  // namespace

TEST_CASE("maps are merged by key, at any depth") {
  const Value base = Value::map({{"mode", "safe"}, {"env", Value::map({{"A", 1}, {"B", 2}})}});
  const Value over = Value::map({{"env", Value::map({{"B", 3}, {"C", 4}})}});
  CHECK(merge(base, over) == Value::map({{"mode", "safe"}, {"env", Value::map({{"A", 1}, {"B", 3}, {"C", 4}})}}));
}

TEST_CASE("scalars and plain lists replace") {
  CHECK(merge(Value::list({"a", "b"}), Value::list({"c"})) == Value::list({"c"}));
  CHECK(merge(Value(9000), Value(1500)) == Value(1500));
  CHECK(merge(Value::list({"a"}), Value::map({{"a", 1}})) == Value::map({{"a", 1}}));
}

TEST_CASE("null drops, and what is dropped can be set again") {
  Value merged = merge(Value::map({{"a", 1}, {"b", 2}}), Value::map({{"a", Value()}}));
  CHECK(without_nulls(merged) == Value::map({{"b", 2}}));
  merged = merge(merged, Value::map({{"a", 3}}));
  CHECK(without_nulls(merged) == Value::map({{"a", 3}, {"b", 2}}));
  CHECK(merge(Value::map({{"a", 1}}), Value()).is_null());
  CHECK(merge(Value(), Value::map({{"a", 1}})) == Value::map({{"a", 1}}));
}

TEST_CASE("lists of records are merged by identity, in the order of first appearance") {
  const auto unit = [](const char* name, const char* key, Value value) {
    return Value::map({{"name", name}, {key, std::move(value)}});
  };
  const Value base = Value::list({unit("a.service", "content", "x"), unit("b.service", "content", "y")});
  const Value over = Value::list({unit("b.service", "enabled", true), unit("c.service", "content", "z")});
  const Value merged = merge(base, over, builtin_registry().records_of("units"));
  REQUIRE(merged.list_items()->size() == 3);
  CHECK((*merged.list_items())[1] == Value::map({{"name", "b.service"}, {"content", "y"}, {"enabled", true}}));
  CHECK((*merged.list_items())[2].text_or("name", "") == "c.service");
}

TEST_CASE("limits of one domain and item are replaced together") {
  const auto limit = [](const char* domain, const char* type, Value value) {
    return Value::map({{"domain", domain}, {"item", "memlock"}, {"type", type}, {"value", std::move(value)}});
  };
  const Value base = Value::list({limit("*", "both", "unlimited"), limit("root", "both", "unlimited")});
  const Value over = Value::list({limit("*", "soft", 1), limit("*", "hard", 2)});
  CHECK(merge(base, over, builtin_registry().records_of("limits")) ==
        Value::list({limit("root", "both", "unlimited"), limit("*", "soft", 1), limit("*", "hard", 2)}));
}

TEST_CASE("the profile sets exactly what it promises, below everything else") {
  const Cluster cluster = load(
      "version: 1\nname: lab\nprofile: dgx-spark\nssh: {user: nvidia}\n"
      "sysctl: {net.core.rmem_max: 1MiB}\n" +
      std::string(kTwo) + ", ssh: {user: other}, limits: null, nccl: {mode: socket}}\n");
  const auto& first = cluster.nodes[0].sections;
  CHECK(first.size() == 6);
  CHECK(*first.at("sysctl").find("net.core.rmem_max") == Value("1MiB"));
  CHECK(*first.at("sysctl").find("net.core.wmem_max") == Value("256MiB"));
  const auto limit = [](const char* domain) {
    return Value::map({{"domain", domain}, {"item", "memlock"}, {"type", "both"}, {"value", "unlimited"}});
  };
  CHECK(first.at("limits") == Value::list({limit("*"), limit("root")}));
  CHECK(first.at("hosts") == Value::map({{"suffix", "-fabric"}}));
  CHECK(first.at("ssh_trust") == Value::map({{"users", Value::list({"nvidia"})}}));
  CHECK(first.at("nccl") == Value::map({{"mode", "safe"}}));
  CHECK(first.at("files").list_items()->front().text_or("path", "") == "/etc/systemd/logind.conf.d/60-sparkplan.conf");
  const auto& second = cluster.nodes[1].sections;
  CHECK_FALSE(second.contains("limits"));
  CHECK(second.at("nccl").text_or("mode", "") == "socket");
  CHECK(second.at("ssh_trust") == Value::map({{"users", Value::list({"other"})}}));
}

TEST_CASE("a value's position is where it was written, and a profile's value has the position of the profile's name") {
  const Cluster cluster = load(
      "version: 1\nname: lab\nprofile: dgx-spark\nssh: {user: nvidia}\n"
      "sysctl:\n  net.core.rmem_max: 1MiB\n" +
      std::string(kTwo) + ", sysctl: {vm.swappiness: 5}}\n");
  const Value& sysctl = cluster.nodes[1].sections.at("sysctl");
  CHECK(sysctl.find("net.core.rmem_max")->where.line == 6);
  CHECK(sysctl.find("net.core.wmem_max")->where == SourceRange{3, 10, 19});
  CHECK(sysctl.find("vm.swappiness")->where.line == 9);
}

TEST_CASE("ssh settings are merged by key and have defaults") {
  const Cluster cluster =
      load("version: 1\nname: lab\nssh: {user: nvidia, port: 2222, host_keys: accept-new, jump: bastion}\n" +
           std::string(kTwo) + ", ssh: {port: null, become: none, identity: ~/.ssh/x}}\n");
  const SshSettings& first = cluster.nodes[0].ssh;
  CHECK(first.user == "nvidia");
  CHECK(first.port == 2222);
  CHECK(first.port_given);
  CHECK(first.host_keys == HostKeyPolicy::kAcceptNew);
  CHECK(first.become == Become::kSudo);
  CHECK(first.jump == "bastion");
  const SshSettings& second = cluster.nodes[1].ssh;
  CHECK(second.port == 22);
  CHECK_FALSE(second.port_given);
  CHECK(second.become == Become::kNone);
  CHECK(second.identity == "~/.ssh/x");
  CHECK(second.jump == "bastion");
}

TEST_CASE("without a profile nothing is set, and null sections do not exist") {
  const Cluster cluster =
      load("version: 1\nname: lab\nsysctl: null\nfabric: null\n" + std::string(kTwo) + ", hosts: null}\n");
  CHECK(cluster.profile.empty());
  for (const auto& node : cluster.nodes) {
    CHECK(node.sections.empty());
    CHECK(node.fabric.empty());
  }
}

TEST_CASE("a local node has a root and no address") {
  const Cluster cluster =
      load("version: 1\nname: lab\nnodes: [{name: image, transport: local, root: /srv/root, maintenance: true}]\n");
  const NodeSpec& node = cluster.nodes.front();
  CHECK(node.transport == TransportKind::kLocal);
  CHECK(node.root == "/srv/root");
  CHECK(node.maintenance);
  CHECK(node.address.empty());
  CHECK(node.id == 0);
}

TEST_CASE("the digest depends on the content and not on the layout") {
  const std::string text = "version: 1\nname: lab\n" + std::string(kTwo) + "}\n";
  const std::string other_layout =
      "# a comment\nname: 'lab'\nversion: 1\nnodes: [{address: 10.0.0.1, name: a1}, {name: a2, address: 10.0.0.2}]\n";
  CHECK(load(text).config_digest == load(other_layout).config_digest);
  CHECK(load(text).config_digest != load("sysctl: {vm.swappiness: 1}\n" + text).config_digest);
}

TEST_CASE("a node's source of a secret replaces the cluster's source") {
  const Cluster cluster = load("version: 1\nname: lab\nprofile_env: {T: {secret: {command: [sops]}, users: [anna]}}\n" +
                               std::string(kTwo) + ", profile_env: {T: {secret: {env: T}}}}\n");
  const Value& first = *cluster.nodes[0].sections.at("profile_env").find("T");
  const Value& second = *cluster.nodes[1].sections.at("profile_env").find("T");
  CHECK(*first.find("secret") == Value::map({{"command", Value::list({"sops"})}}));
  CHECK(*second.find("secret") == Value::map({{"env", "T"}}));
  CHECK(*second.find("users") == Value::list({"anna"}));
}

TEST_CASE("a secret variable is for the login user unless the file names others") {
  const Cluster cluster = load(
      "version: 1\nname: lab\nssh: {user: nvidia}\nprofile_env:\n  T: {secret: {env: T}}\n"
      "  U: {secret: {env: U}, users: [anna]}\n" +
      std::string(kTwo) + ", ssh: {user: admin}}\n");
  CHECK(*cluster.nodes[0].sections.at("profile_env").find("T")->find("users") == Value::list({"nvidia"}));
  CHECK(*cluster.nodes[1].sections.at("profile_env").find("T")->find("users") == Value::list({"admin"}));
  CHECK(*cluster.nodes[1].sections.at("profile_env").find("U")->find("users") == Value::list({"anna"}));
}

TEST_CASE("sections whose files every user can read refuse a secret, with its place and a hint") {
  for (const std::string section :
       {"nccl: {env: {NCCL_DEBUG: {secret: {env: T}}}}", "units: [{name: a.service, content: {secret: {env: T}}}]"}) {
    INFO(section);
    const auto loaded =
        load_cluster("version: 1\nname: lab\n" + section + "\n" + kTwo + "}\n", "cluster.yaml", builtin_registry());
    CHECK_FALSE(loaded.cluster);
    REQUIRE_FALSE(loaded.diagnostics.empty());
    const Diagnostic& first = loaded.diagnostics.front();
    CHECK(first.severity == Severity::kError);
    CHECK(first.where.line == 3);
    CHECK(first.hint.find("profile_env") != std::string::npos);
  }
}

}  // namespace sparkplan
