// One node's view of the other nodes and its local users.
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

TEST_CASE("ssh_trust: sudo counts as passwordless only if it permits all commands without a password") {
  const auto has_root = [](const std::string& listing, int status = 0) {
    FakeNode node;
    node.add_directory("/home/nvidia");
    test::install_fake_accounts(node, {{"nvidia", 1000, 1000, "/home/nvidia"}});
    node.script("sudo -n -l -U nvidia", {status, listing, ""});
    const Result<Value> value = export_trust(Value::map({{"users", Value::list({"nvidia"})}}), node);
    REQUIRE(value);
    return value->find("users")->find("nvidia")->boolean_or("root", false);
  };
  const std::string lead = "User nvidia may run the following commands on spark-01:\n";
  CHECK(has_root(lead + "    (ALL : ALL) ALL\n    (ALL) NOPASSWD: ALL\n"));
  CHECK(has_root(lead + "    (root) NOPASSWD: SETENV: ALL\n"));
  CHECK(has_root(lead + "    (ALL) NOPASSWD: ALL, !/bin/su\n"));
  CHECK_FALSE(has_root(lead + "    (ALL : ALL) ALL\n"));
  CHECK_FALSE(has_root(lead + "    (ALL) NOPASSWD: /usr/bin/systemctl\n"));
  CHECK_FALSE(has_root("User nvidia is not allowed to run sudo on spark-01.\n"));
  CHECK_FALSE(has_root(lead + "    (ALL) NOPASSWD: ALL\n", 1));
}

TEST_CASE("ssh_trust: a node's exports are public, global and limited to the requested users") {
  FakeNode node;
  const test::FakeUser user{"nvidia", 1000, 1000, "/home/nvidia"};
  test::install_fake_accounts(node, {user});
  test::add_fake_key(node, user, "sparkplan:lab:spark-01");
  node.add_file("/etc/ssh/ssh_host_rsa_key.pub", test::fake_public_key("2") + " root@x\n");
  node.add_file("/etc/ssh/ssh_host_ed25519_key.pub", test::fake_public_key("1") + " root@x\n");
  node.add_file("/etc/ssh/ssh_host_ed25519_key", "secret");
  node.add_file("/etc/ssh/ssh_host_empty_key.pub", "");
  LinkFacts link;
  link.name = "eth0";
  link.addresses = {"10.0.0.11/24", "fe80::1/64", "169.254.7.7/16", "fd00::11/64", "fd00::a:b/64", "fd00::f/64"};
  node.add_link(link);
  LinkFacts containers;
  containers.name = "docker0";
  containers.kind = "bridge";
  containers.addresses = {"172.17.0.1/16", "fe80::1/64"};
  node.add_link(containers);
  node.set_connection_address("10.0.0.11");
  // The second address is temporary (RFC 8981); the third is missing from the table.
  node.add_file("/proc/self/net/if_inet6",
                "fd000000000000000000000000000011 02 40 00 80     eth0\n"
                "fd0000000000000000000000000a000b 02 40 00 01     eth0\nodd\n"
                "fe800000000000000000000000000001 02 40 20 80     eth0\n");
  const Result<Value> value = export_trust(Value::map({{"users", Value::list({"nvidia", "ghost"})}}), node);
  REQUIRE(value);
  CHECK(value->find("users")->find("nvidia")->text_or("public_key", "") ==
        test::fake_public_key("sparkplan:lab:spark-01"));
  CHECK(*value->find("users")->find("ghost") == Value::map());
  CHECK(*value->find("addresses") == Value::list({"10.0.0.11", "fd00::11"}));
  CHECK(value->find("host_keys")->list_items()->size() == 2);
  CHECK(node.log().empty());

  CHECK(own_addresses(node) == Set{"10.0.0.11", "fd00::11"});
  node.set_connection_address("fe80::1%docker0");
  CHECK(own_addresses(node) == Set{"172.17.0.1"});
  for (const char* elsewhere : {"", "10.0.0.99", "somewhere"}) {
    INFO(elsewhere);
    node.set_connection_address(elsewhere);
    CHECK(own_addresses(node).empty());
  }

  node.set_live(false);
  const Result<Value> of_image = export_trust(Value::map({{"users", Value::list({"nvidia"})}}), node);
  REQUIRE(of_image);
  CHECK(of_image->is_null());
}

TEST_CASE("ssh_trust: an account is read as on the node, and one without a home is like a missing one") {
  FakeNode node;
  const auto code_of = [&](const std::string& line, const std::string& user = "nvidia") {
    node.script("getent passwd -- " + user, {line.empty() ? 2 : 0, line, ""});
    const Result<Account> account = look_up(user, node);
    return account ? std::string() : std::string(to_string(account.error().code));
  };
  node.add_directory("/srv/home/nvidia");
  CHECK(code_of("nvidia:x:1000:1001:N,,,:/srv/home/nvidia/:/bin/bash\n").empty());
  CHECK(look_up("nvidia", node)->home == "/srv/home/nvidia");
  CHECK(look_up("nvidia", node)->gid == 1001);
  CHECK(code_of("") == "not_found");
  CHECK(code_of("nvidia:x:1000:1000::/home/nowhere:/bin/bash\n") == "not_found");
  CHECK(code_of("somebody:x:1000:1000::/srv/home/nvidia:/bin/bash\n", "1000") == "not_found");
  for (const char* home : {"", "/", "//", "/nonexistent", "relative", "/.."}) {
    INFO(home);
    CHECK(code_of("nvidia:x:1000:1000::" + std::string(home) + ":/bin/bash\n") == "unsupported");
  }
  CHECK(code_of("nvidia:x:many:1000::/srv/home/nvidia:/bin/bash\n") == "failed");
  node.script("getent passwd -- nvidia", {1, "", "broken"});
  CHECK_FALSE(cannot_hold_keys(look_up("nvidia", node).error()));
  CHECK_FALSE(cannot_hold_keys(look_up("unscripted", node).error()));  // A missing getent does not mean a missing user.
}

TEST_CASE("ssh_trust: getent is called only for users that the node's own files do not decide") {
  FakeNode node;
  node.add_directory("/home/nvidia");
  node.add_file("/etc/passwd", "nvidia2:x:1:1::/:/bin/sh\nnvidia:x:1000:1000::/home/nvidia:/bin/bash\n");
  node.script("getent passwd -- nvidia", {0, "nvidia:x:77:77::/home/nvidia:/bin/bash\n", ""});
  node.script("getent passwd -- elsewhere", {0, "elsewhere:x:78:78::/home/nvidia:/bin/bash\n", ""});
  const auto number_with = [&](const std::string& nsswitch, const std::string& user = "nvidia") {
    if (!nsswitch.empty()) node.add_file("/etc/nsswitch.conf", nsswitch);
    const Result<Account> account = look_up(user, node);
    return account ? account->uid : 0;
  };
  CHECK(number_with("") == 1000);
  CHECK(number_with("group: sss\npasswd:  files systemd\n") == 1000);
  CHECK(number_with("passwd: files systemd\n", "elsewhere") == 78);
  CHECK(number_with("passwd: sss files\n") == 77);
}

TEST_CASE("ssh_trust: a path from which sshd would not read keys is refused, with the remedy") {
  FakeNode node;
  const Account account{"nvidia", 1000, 1000, "/home/nvidia", "/bin/bash"};
  node.add_directory("/home/nvidia");
  const auto with_file = [&](std::uint32_t mode, std::uint32_t uid, std::uint32_t gid) {
    node.add_file("/home/nvidia/.ssh/authorized_keys", "x\n", mode, uid, gid);
    const Result<void> checked = check_home(account, node);
    return checked ? std::string() : checked.error().message;
  };
  test::install_fake_accounts(node, {{"nvidia", 1000, 1000, "/home/nvidia"}, {"users", 100, 100, "/home/users"}});
  CHECK(with_file(0600, 1000, 1000).empty());
  CHECK(with_file(0644, 0, 0).empty());
  CHECK(with_file(0664, 1000, 1000).empty());  // The user's own group, without other members.
  CHECK(with_file(0664, 1000, 100).find("its group") != std::string::npos);
  CHECK(with_file(0602, 1000, 1000).find("all users") != std::string::npos);
  CHECK(with_file(0600, 1001, 1000).find("1001") != std::string::npos);
  node.script("getent group -- 1000", {0, "nvidia:x:1000:somebody\n", ""});
  CHECK(with_file(0664, 1000, 1000).find("/home/nvidia/.ssh/authorized_keys") != std::string::npos);
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
