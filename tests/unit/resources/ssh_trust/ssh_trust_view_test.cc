// One node's view of the other nodes.
#include "engine/load/load.h"
#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "resources/ssh_trust/account.h"
#include "resources/ssh_trust/addresses.h"
#include "resources/ssh_trust/exports.h"
#include "resources/ssh_trust/peers.h"
#include "tests/support/catch.h"
#include "tests/support/fake_ssh.h"

namespace sparkplan::ssh_trust {
namespace {

using test::FakeNode;
using Exports = std::map<std::string, NodeExports>;

Cluster cluster_of(const std::string& rest) {
  LoadedCluster loaded =
      load_cluster("version: 1\nname: lab\nssh: {user: nvidia}\n" + rest, "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  return *std::move(loaded.cluster);
}

const std::string kTwoNodes =
    "nodes:\n  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n";

Value exported(const std::vector<std::string>& addresses, Value user = Value::map()) {
  Value list = Value::list();
  for (const std::string& address : addresses) list.push_back(address);
  return Value::map({{"users", Value::map({{"nvidia", std::move(user)}})},
                     {"host_keys", Value::list({test::fake_public_key("h")})},
                     {"addresses", std::move(list)}});
}

std::vector<Peer> peers_in(const Cluster& cluster, const Exports& exports, std::size_t self = 0) {
  return peers_of(ClusterView{cluster, cluster.nodes.at(self), exports});
}

std::vector<std::string> texts(const std::vector<Destination>& destinations) {
  std::vector<std::string> texts;
  for (const Destination& one : destinations) texts.push_back(to_text(one));
  return texts;
}

std::vector<Diagnostic> findings(const Cluster& cluster, const Exports& exports, std::size_t self) {
  const ClusterView view{cluster, cluster.nodes.at(self), exports};
  auto desired = builtin_registry().find("ssh_trust")->desired(view, view.self.sections.at("ssh_trust"), {});
  std::move(desired.about_several.begin(), desired.about_several.end(), std::back_inserter(desired.diagnostics));
  return std::move(desired.diagnostics);
}

using Set = std::set<std::string>;
using List = std::vector<std::string>;

}  // namespace

TEST_CASE("ssh_trust: logins are accepted only from a node's management and fabric addresses") {
  const Cluster cluster = cluster_of("ssh_trust: {users: [nvidia]}\nfabric: {topology: direct}\n" + kTwoNodes);
  const Exports exports{{"spark-02", {{"ssh_trust", exported({"10.0.0.12", "172.17.0.1"})}}}};
  const std::vector<Peer> peers = peers_in(cluster, exports);
  REQUIRE(peers.size() == 2);
  CHECK(source_addresses(peers[1], false) == Set{"10.0.0.12", "192.168.100.12", "192.168.101.12"});
  CHECK(source_addresses(peers[0], true) == Set{"10.0.0.11", "127.0.0.1", "192.168.100.11", "192.168.101.11", "::1"});
}

TEST_CASE("ssh_trust: exported addresses are accepted only for a node whose address in the file is a name") {
  const Cluster cluster = cluster_of(
      "ssh_trust: {users: [nvidia]}\nnodes:\n  - {name: a, address: a.example.net}\n"
      "  - {name: b, address: 203.0.113.7}\n");
  const Exports exports{{"a", {{"ssh_trust", exported({"10.0.0.1", "evil\" x"})}}},
                        {"b", {{"ssh_trust", exported({"10.0.0.2", "fd00::2"})}}}};
  const std::vector<Peer> peers = peers_in(cluster, exports);
  CHECK(source_addresses(peers[0], false) == Set{"10.0.0.1"});
  CHECK(source_addresses(peers[1], false) == Set{"203.0.113.7"});
}

TEST_CASE("ssh_trust: nodes behind a jump host or a shared address may log in from all exported addresses") {
  const Cluster cluster = cluster_of(
      "ssh_trust: {users: [nvidia]}\nnodes:\n  - {name: a, address: 10.0.0.7, ssh: {jump: gate}}\n"
      "  - {name: b, address: 203.0.113.7, ssh: {port: 2201}}\n"
      "  - {name: c, address: 203.0.113.7, ssh: {port: 2202}}\n");
  const Exports exports{{"a", {{"ssh_trust", exported({"172.16.0.1"})}}},
                        {"b", {{"ssh_trust", exported({"172.16.0.2"})}}}};
  const std::vector<Peer> peers = peers_in(cluster, exports);
  CHECK(source_addresses(peers[0], false) == Set{"10.0.0.7", "172.16.0.1"});
  CHECK(source_addresses(peers[1], false) == Set{"172.16.0.2", "203.0.113.7"});
}

TEST_CASE("ssh_trust: nodes whose addresses are aliases share a warning, which is the same on every node") {
  const Cluster cluster = cluster_of(
      "ssh_trust: {users: [nvidia]}\nnodes:\n  - {name: a, address: sp1}\n  - {name: b, address: sp2}\n"
      "  - {name: c, address: 10.0.0.3}\n");
  const auto first = findings(cluster, {}, 0);
  REQUIRE(first.size() == 1);
  CHECK(first[0].code == "ssh_trust.address-is-a-name");
  CHECK(first[0].message == "the other nodes log in to a, b only if they can resolve sp[1-2]");
  CHECK(first[0].where.line == 6);
  CHECK(findings(cluster, {}, 2) == first);
}

TEST_CASE("ssh_trust: nodes with a fabric are reached by the fabric's names, whatever their addresses are") {
  const Cluster cluster = cluster_of(
      "ssh_trust: {users: [nvidia]}\nfabric: {topology: direct}\nnodes:\n  - {name: a1, address: sp1}\n"
      "  - {name: a2, address: sp2}\n");
  const auto found = findings(cluster, {}, 0);
  REQUIRE(found.size() == 1);
  CHECK(
      found[0].message ==
      "on the other nodes, `ssh NODE` reaches a[1-2] only if they can resolve sp[1-2]; the names on the fabric always "
      "work");
}

TEST_CASE("ssh_trust: two spellings of one address are equal") {
  CHECK(canonical_ip("FD00:0:0::12") == "fd00::12");
  CHECK(canonical_ip("::ffff:10.0.0.1") == "10.0.0.1");
  for (const std::string& no : {std::string(), std::string("a.example"), std::string("fe80::1%eth0"),
                                std::string("10.0.0"), std::string("10.0.0.1\0x", 10)}) {
    CHECK_FALSE(canonical_ip(no));
  }
  for (const char* local : {"127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1", "::", "::1", "fe80::1", "ff02::1"}) {
    INFO(local);
    CHECK_FALSE(is_global_unicast(local));
  }
  for (const char* global : {"10.0.0.1", "172.16.0.1", "203.0.113.7", "fd00::1", "2001:db8::1"}) {
    CHECK(is_global_unicast(global));
  }
  const Cluster cluster = cluster_of("ssh_trust: {users: [nvidia]}\nnodes:\n  - {name: a, address: \"FD00:0::12\"}\n");
  const Exports exports{{"a", {{"ssh_trust", exported({"fd00::12", "fd00::13"})}}}};
  CHECK(source_addresses(peers_in(cluster, exports)[0], false) == Set{"fd00::12"});
  // Exported addresses are not trusted: a loopback address would open other nodes to themselves.
  const Cluster named = cluster_of("ssh_trust: {users: [nvidia]}\nnodes:\n  - {name: a, address: a.example.net}\n");
  const Exports lies{{"a", {{"ssh_trust", exported({"127.0.0.1", "::1", "fd00::13"})}}}};
  CHECK(source_addresses(peers_in(named, lies)[0], false) == Set{"fd00::13"});
}

TEST_CASE("ssh_trust: an exported address that the file gives to another node is ignored") {
  const Cluster cluster = cluster_of(
      "ssh_trust: {users: [nvidia]}\nfabric: {topology: direct}\nnodes:\n"
      "  - {name: a1, address: a.example.net}\n  - {name: a2, address: 10.0.0.2}\n");
  const Exports exports{{"a1", {{"ssh_trust", exported({"10.0.0.1", "10.0.0.2", "192.168.100.12"})}}}};
  CHECK(source_addresses(peers_in(cluster, exports)[0], false) == Set{"10.0.0.1", "192.168.100.11", "192.168.101.11"});
}

TEST_CASE("ssh_trust: nodes behind one address are known there by their ports only") {
  const Cluster cluster = cluster_of(
      "ssh_trust: {users: [nvidia]}\nnodes:\n  - {name: a, address: gate.example.net, ssh: {port: 2201}}\n"
      "  - {name: b, address: gate.example.net, ssh: {port: 2202}}\n");
  const Exports exports{{"b", {{"ssh_trust", exported({})}}}};
  const auto lines = known_hosts_of(peers_in(cluster, exports)[1], "lab");
  REQUIRE(lines);
  CHECK(*lines == List{"b,[b]:2202,[gate.example.net]:2202 " + test::fake_public_key("h") + " sparkplan:lab:b"});
}

TEST_CASE("ssh_trust: a node's name is never used as another node's fabric name") {
  const Cluster cluster = cluster_of(
      "ssh_trust: {users: [nvidia]}\nfabric: {topology: direct}\nnodes:\n"
      "  - {name: a1, address: 10.0.0.1}\n  - {name: a1-fabric, id: 2, address: 10.0.0.2}\n");
  const Exports exports{{"a1", {{"ssh_trust", exported({})}}}};
  const std::vector<Peer> peers = peers_in(cluster, exports);
  CHECK(texts(destinations_of(peers[0])) == List{"a1 10.0.0.1", "192.168.100.11", "192.168.101.11"});
  const auto lines = known_hosts_of(peers[0], "lab");
  REQUIRE(lines);
  CHECK(lines->front().starts_with("a1,10.0.0.1,192.168.100.11,192.168.101.11 "));
}

TEST_CASE("ssh_trust: an address with a zone is left out of other nodes' files") {
  const Cluster cluster = cluster_of(
      "ssh_trust: {users: [nvidia]}\nhosts: {suffix: -x}\nnodes:\n  - {name: a, address: \"fe80::1%eth0\"}\n");
  const Exports exports{{"a", {{"ssh_trust", exported({"10.0.0.1"})}}}};
  const Peer peer = peers_in(cluster, exports).at(0);
  CHECK(texts(destinations_of(peer)) == List{"a"});
  CHECK(source_addresses(peer, false) == Set{"10.0.0.1"});
  const auto lines = known_hosts_of(peer, "lab");
  REQUIRE(lines);
  CHECK(*lines == List{"a " + test::fake_public_key("h") + " sparkplan:lab:a"});
}

TEST_CASE("ssh_trust: a node is listed with all its names, including the fabric's") {
  const Cluster cluster =
      cluster_of("ssh_trust: {users: [nvidia]}\nhosts: {suffix: -x}\nfabric: {topology: direct}\n" + kTwoNodes);
  const Exports exports{{"spark-02", {{"ssh_trust", exported({})}}}};
  const std::vector<Peer> peers = peers_in(cluster, exports);
  CHECK(texts(destinations_of(peers[1])) == List{"spark-02 10.0.0.12", "spark-02-x 192.168.100.12", "192.168.101.12"});
  const auto lines = known_hosts_of(peers[1], "lab");
  REQUIRE(lines);
  CHECK(*lines == List{"spark-02,10.0.0.12,spark-02-x,192.168.100.12,192.168.101.12 " + test::fake_public_key("h") +
                       " sparkplan:lab:spark-02"});
  CHECK_FALSE(known_hosts_of(peers[0], "lab"));
}

TEST_CASE("ssh_trust: without a fabric the suffixed name is the management address, if hosts defines it") {
  const Cluster with = cluster_of("ssh_trust: {users: [nvidia]}\nhosts: {suffix: -fabric}\n" + kTwoNodes);
  CHECK(texts(destinations_of(peers_in(with, {})[1])) == List{"spark-02 10.0.0.12", "spark-02-fabric 10.0.0.12"});
  const Cluster without = cluster_of("ssh_trust: {users: [nvidia]}\n" + kTwoNodes);
  CHECK(texts(destinations_of(peers_in(without, {})[1])) == List{"spark-02 10.0.0.12"});
}

TEST_CASE("ssh_trust: directory nodes and nodes without the section are left out") {
  const Cluster cluster = cluster_of(
      "ssh_trust: {users: [nvidia, root]}\nnodes:\n  - {name: a1, address: 10.0.0.1}\n"
      "  - {name: a2, transport: local, root: /srv/image}\n  - {name: a3, address: 10.0.0.3, ssh_trust: null}\n"
      "  - {name: a4, address: 10.0.0.4, ssh_trust: {users: [root]}}\n");
  const std::vector<Peer> peers = peers_in(cluster, {});
  REQUIRE(peers.size() == 2);
  CHECK(peers[1].name() == "a4");
  CHECK(peers_of_user(peers, "nvidia").size() == 1);
  CHECK(peers_of_user(peers, "root").size() == 2);
}

TEST_CASE("ssh_trust: a shared home is refused on the nodes that share it, by name") {
  const Cluster cluster =
      cluster_of("ssh_trust: {users: [nvidia]}\n" + kTwoNodes + "  - {name: spark-03, address: 10.0.0.13}\n");
  const auto with_home = [](const char* local) {
    return exported({}, Value::map({{"public_key", test::fake_public_key(local)},
                                    {"home", Value::map({{"local", local}, {"remote", local}})}}))
        .set("host_keys", Value::list());
  };
  const Exports exports{{"spark-01", {{"ssh_trust", with_home("1")}}},
                        {"spark-02", {{"ssh_trust", with_home("1")}}},
                        {"spark-03", {{"ssh_trust", with_home("2")}}}};
  const std::vector<Diagnostic> first = findings(cluster, exports, 0);
  REQUIRE(first.size() == 1);
  CHECK(first[0].code == "ssh_trust.shared-home");
  CHECK(first[0].severity == Severity::kError);
  CHECK(first[0].message.find("spark-[01-02]") != std::string::npos);
  CHECK(first[0].where.line == 4);
  CHECK(findings(cluster, exports, 1).size() == 1);
  CHECK(findings(cluster, exports, 2).empty());
}

TEST_CASE("ssh_trust: trust with passwordless sudo is reported once, before the keys are created") {
  const Cluster cluster = cluster_of("ssh_trust: {users: [nvidia]}\n" + kTwoNodes);
  const auto user = [](bool makes_key) {
    return exported({}, Value::map({{"makes_key", makes_key}, {"root", true}})).set("host_keys", Value::list());
  };
  const Exports fresh{{"spark-01", {{"ssh_trust", user(true)}}}, {"spark-02", {{"ssh_trust", user(true)}}}};
  const std::vector<Diagnostic> notes = findings(cluster, fresh, 0);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].code == "ssh_trust.root-on-all");
  CHECK(notes[0].severity == Severity::kNote);
  CHECK(notes[0].message.find("spark-[01-02]") != std::string::npos);
  CHECK(findings(cluster, fresh, 1).empty());
  // The first node is unreachable or in maintenance: the next node then reports the finding.
  CHECK(findings(cluster, {{"spark-02", {{"ssh_trust", user(true)}}}}, 1).size() == 1);
  Cluster resting = cluster;
  resting.nodes[0].maintenance = true;
  CHECK(findings(resting, fresh, 1).size() == 1);
  const Exports done{{"spark-01", {{"ssh_trust", user(false)}}}, {"spark-02", {{"ssh_trust", user(false)}}}};
  CHECK(findings(cluster, done, 0).empty());
}

TEST_CASE("ssh_trust: with a partial selection, selected users define the hosts and other users keep their lines") {
  const auto fields = [](const char* key, const char* known, const char* destination) {
    return Value::map({{"key", key},
                       {"unexpected", Value::list()},
                       {"known_hosts.a", Value::list({known})},
                       {"config", Value::list({destination})}});
  };
  const Value old_lines = fields("ed25519 sparkplan:lab:a", "a,10.0.0.1 ssh-ed25519 OLD sparkplan:lab:a", "a 10.0.0.1");
  const Value new_lines = fields("ed25519 sparkplan:lab:a", "a,10.0.0.2 ssh-ed25519 NEW sparkplan:lab:a", "a 10.0.0.2");
  ObservedType observed;
  observed.resources["left-out"] = Present{old_lines, {}};
  observed.resources["changed"] = Present{old_lines, {}};
  StepsInput input{{}, observed, {}, {}};
  Resource left_out;
  left_out.id = {"ssh_trust", "left-out"};
  left_out.desired = old_lines;
  Resource changed;
  changed.id = {"ssh_trust", "changed"};
  changed.desired = new_lines;
  input.target = {left_out, changed};
  Change change;
  change.id = {"ssh_trust", "changed"};
  input.changes = {change};
  std::map<std::string, std::string> contents;
  for (const Step& step : builtin_registry().find("ssh_trust")->steps(input)) {
    contents[step.artifact.str()] = content_of(step.after).value_or("");
    CHECK(step.resources == std::vector<ResourceId>{change.id});
  }
  CHECK(contents.at("block:/etc/ssh/ssh_known_hosts") == "a,10.0.0.2 ssh-ed25519 NEW sparkplan:lab:a\n");
  const std::string& config = contents.at("file:/etc/ssh/ssh_config.d/60-sparkplan.conf");
  CHECK(config.find("Match originalhost a,10.0.0.1 localuser left-out\n") != std::string::npos);
  CHECK(config.find("Match originalhost a,10.0.0.2 localuser changed\n") != std::string::npos);
  CHECK_FALSE(contents.contains("authorized_keys:~left-out/.ssh/authorized_keys"));
}

}  // namespace sparkplan::ssh_trust
