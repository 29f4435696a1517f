#include <algorithm>

#include "resources/netplan/foreign_files.h"
#include "resources/netplan/live_link.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/refusals.h"
#include "resources/netplan/trial.h"
#include "tests/support/catch.h"
#include "tests/support/fake_networkd.h"

namespace sparkplan::netplan {
namespace {

LinkFacts link(const std::string& name, std::vector<std::string> addresses = {}) {
  LinkFacts facts;
  facts.name = name;
  facts.mac = "02:5A:61:00:00:01";
  facts.driver = "mlx5_core";
  facts.mtu = 1500;
  facts.addresses = std::move(addresses);
  return facts;
}

std::vector<Definition> definitions(const std::string& yaml) {
  const auto tree = parse_yaml(yaml);
  REQUIRE(tree);
  return definitions_in("/etc/netplan/x.yaml", *tree);
}

NetplanFiles as_ours(const std::string& content) { return {{std::string(kOwnFile), content}}; }

}  // namespace

TEST_CASE("netplan: parsing a file is the exact inverse of rendering it") {
  const Stanzas stanzas{{"enP2p1s0f1np1", {9000, {}, true}},
                        {"enp1s0f1np1", {9000, {"192.168.100.11/24"}, false}},
                        {"ens5", {std::nullopt, {"10.1.0.2/16", "10.2.0.2/16"}, false}},
                        {"ens6", {1280, {}, false}},
                        {"enp1s0f0np0", {9000, {"192.168.102.11/24"}, true, Renderer::kNetworkManager}}};
  const auto parsed = parse_file(render_file(stanzas));
  REQUIRE(parsed);
  CHECK(*parsed == stanzas);
}

TEST_CASE("netplan: a stanza survives encoding") {
  for (const Stanza& stanza :
       {Stanza{9000, {"192.168.100.11/24"}, false}, Stanza{std::nullopt, {}, true}, Stanza{1280, {}, false}}) {
    CHECK(decode_stanza(encode(stanza)) == stanza);
  }
}

TEST_CASE("netplan: DHCP is off for declared addresses, and unset for an interface with only an MTU") {
  const std::string ours = render_file({{"a", {9000, {"10.1.0.2/16"}, false}}});
  CHECK(ours.find("dhcp4: false") != std::string::npos);
  CHECK(ours.find("link-local: []") != std::string::npos);
  const std::string mtu_only = render_file({{"a", {9000, {}, false}}});
  CHECK(mtu_only.find("dhcp4") == std::string::npos);
  CHECK(mtu_only.find("link-local") == std::string::npos);
}

TEST_CASE("netplan: invalid YAML is refused with its line") {
  const auto broken = parse_yaml("network:\n  ethernets: {eth0: [\n");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == ErrorCode::kInvalidInput);
  REQUIRE(broken.error().context.size() == 1);
  CHECK(broken.error().context[0].rfind("line ", 0) == 0);
  CHECK(parse_yaml("")->is_null());
}

TEST_CASE("netplan: anchors that expand beyond the size limit are refused") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    const std::string above = std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j == 0 ? "*a" : ", *a") + above;
    bomb += "]\n";
  }
  CHECK_FALSE(parse_yaml(bomb));
}

TEST_CASE("netplan: a foreign definition is found by name, match, driver, address and membership") {
  const LinkFacts half = link("enp1s0f1np1");
  const auto found = [&](const std::string& body) {
    return !definitions_of(half, definitions("network:\n  version: 2\n" + body)).empty();
  };
  CHECK(found("  ethernets:\n    enp1s0f1np1: {dhcp4: true}\n"));
  CHECK(found("  ethernets:\n    any: {match: {name: 'enp1*'}}\n"));
  CHECK(found("  ethernets:\n    any: {match: {name: 'enp[12]s0f1np1'}}\n"));
  CHECK(found("  ethernets:\n    any: {match: {macaddress: '02:5a:61:00:00:01'}}\n"));
  CHECK(found("  ethernets:\n    any: {match: {driver: [virtio*, mlx5*]}}\n"));
  CHECK(found("  bonds:\n    bond0: {interfaces: [enp1s0f0np0, enp1s0f1np1]}\n"));
  CHECK_FALSE(found("  ethernets:\n    enp1s0f0np0: {dhcp4: true}\n"));
  CHECK_FALSE(found("  ethernets:\n    any: {match: {name: 'enp1*', driver: virtio_net}}\n"));
  CHECK(found("  ethernets:\n    any: {match: {}}\n"));
  CHECK_FALSE(found("  bridges:\n    enp1s0f1np1: {}\n"));
  CHECK_FALSE(found("  ethernets:\n    enp1s0f1np1: {}\n"));
  const auto two =
      definitions_of(half, definitions("network:\n  ethernets:\n    a: {match: {}}\n    enp1s0f1np1: {mtu: 9000}\n"));
  REQUIRE(two.size() == 2);
  CHECK(two[1].source == "/etc/netplan/x.yaml:4");
}

TEST_CASE("netplan: of two files with the same name the one in /run wins") {
  test::FakeNode node;
  node.add_file("/etc/netplan/40-cx7.yaml", "network: {ethernets: {enp1s0f1np1: {dhcp4: true}}}\n");
  node.add_file("/run/netplan/40-cx7.yaml", "network: {version: 2}\n");
  node.add_file("/usr/lib/netplan/00-default.yaml", "network: {renderer: NetworkManager}\n");
  node.add_file("/etc/netplan/notes.txt", "not netplan's");
  const auto paths = merged_files(node);
  REQUIRE(paths);
  CHECK(*paths == std::vector<std::string>{"/usr/lib/netplan/00-default.yaml", "/run/netplan/40-cx7.yaml"});
  const auto files = read_foreign_files(node);
  REQUIRE(files);
  CHECK(definitions_of(link("enp1s0f1np1"), files->definitions).empty());
}

TEST_CASE("netplan: other files' definitions survive the wire") {
  ForeignFiles files;
  Definition bond;
  bond.source = "/etc/netplan/a.yaml:3";
  bond.section = "bonds";
  bond.id = "bond0";
  bond.has_match = true;
  bond.match_name = "en*";
  bond.match_mac = "02:00:00:00:00:01";
  bond.match_driver = "mlx5* virtio*";
  bond.members = {"a", "b"};
  bond.set_name = "fabric0";
  bond.parent = "enp1s0f0np0";
  bond.has_virtual_functions = true;
  bond.is_profile = true;
  bond.starts_by_itself = false;
  bond.priority = 7;
  bond.why_not_taken_over = "it is a bond";
  files.definitions.push_back(bond);
  files.renderer = Renderer::kNetworkManager;
  files.unreadable.push_back({"/etc/netplan/b.yaml:1", "not YAML"});
  const ForeignFiles back = decode_foreign_files(encode(files));
  REQUIRE(back.definitions.size() == 1);
  CHECK(back.definitions[0] == bond);
  CHECK(back.renderer == Renderer::kNetworkManager);
  REQUIRE(back.unreadable.size() == 1);
  CHECK(back.unreadable[0].message == "not YAML");
}

TEST_CASE("netplan: the interface of our connection and all interfaces that carry it are protected") {
  std::vector<LinkFacts> links{link("br0", {"10.0.0.11/24"}), link("vlan5"), link("bond0"), link("enp1"), link("enp2")};
  links[1].master = "br0";
  links[1].lower = "bond0";
  links[3].master = "bond0";
  for (const char* name : {"br0", "vlan5", "bond0", "enp1"}) {
    INFO(name);
    CHECK_FALSE(OwnConnection("10.0.0.11", links).why_untouchable(name).empty());
  }
  CHECK(OwnConnection("10.0.0.11", links).why_untouchable("enp2").empty());
}

TEST_CASE("netplan: a link-local connection address names its interface") {
  const std::vector<LinkFacts> links{link("enp1", {"fe80::1/64"}), link("enp2", {"fe80::1/64"})};
  CHECK_FALSE(OwnConnection("fe80::1%enp1", links).why_untouchable("enp1").empty());
  CHECK(OwnConnection("fe80::1%enp1", links).why_untouchable("enp2").empty());
}

TEST_CASE("netplan: without a known incoming interface all interfaces are protected") {
  const std::vector<LinkFacts> links{link("enp1", {"10.0.0.11/24"})};
  CHECK_FALSE(OwnConnection("10.9.9.9", links).why_untouchable("enp1").empty());
  CHECK(OwnConnection("127.0.0.1", links).why_untouchable("enp1").empty());
  CHECK(OwnConnection("", links).why_untouchable("enp1").empty());
}

TEST_CASE("netplan: of random link-local addresses only the presence of one is compared") {
  const Value state = encode_link_state(link("a", {"10.1.0.2/16", "169.254.7.9/16", "fe80::1/64"}));
  CHECK(state.boolean_or("link_local", false));
  REQUIRE(state.find("addresses")->list_items()->size() == 1);
  CHECK(*state.find("addresses")->list_items()->front().string() == "10.1.0.2/16");
}

TEST_CASE("netplan: an error names the original file that netplan rejects") {
  test::FakeNode node;
  test::install_fake_networkd(node);
  node.add_file("/etc/netplan/50-broken.yaml", "network: [\n");
  const auto tried = try_netplan_files(as_ours(render_file({{"a", {9000, {}, false}}})), node);
  REQUIRE_FALSE(tried);
  CHECK(tried.error().code == ErrorCode::kFailed);
  CHECK(tried.error().message.find(" /etc/netplan/50-broken.yaml") != std::string::npos);
  node.erase("/etc/netplan/50-broken.yaml");
  CHECK(try_netplan_files(as_ours(render_file({{"a", {9000, {}, false}}})), node));
}

TEST_CASE("netplan: the check runs netplan's own generator at any version's path") {
  for (const char* path : {"/usr/libexec/netplan/generate", "/lib/netplan/generate"}) {
    INFO(path);
    test::FakeNode node;
    test::install_fake_netplan_generator(node, path);
    CHECK(try_netplan_files(as_ours(render_file({{"a", {9000, {}, false}}})), node));
    node.add_file("/etc/netplan/50-broken.yaml", "network: [\n");
    const auto tried = try_netplan_files(as_ours(render_file({{"a", {9000, {}, false}}})), node);
    REQUIRE_FALSE(tried);
    CHECK(tried.error().message.find(" /etc/netplan/50-broken.yaml") != std::string::npos);
  }
}

TEST_CASE("netplan: checked files are installed without running the generator again, changed files are not") {
  test::FakeNode node;
  test::install_fake_netplan_generator(node, "/usr/libexec/netplan/generate");
  const auto runs = [&] {
    return std::count_if(node.log().begin(), node.log().end(),
                         [](const auto& one) { return one.subject.starts_with("/usr/libexec/netplan/generate "); });
  };
  const std::string text = render_file({{"a", {9000, {}, false}}});
  REQUIRE(try_netplan_files(as_ours(text), node));
  CHECK(runs() == 1);
  node.add_file(std::string(kOwnFile), text);
  REQUIRE(install_generated_files({"a"}, node));
  CHECK(runs() == 1);
  CHECK(node.text_of(generated_for_networkd("a").string()).has_value());
  node.add_file("/etc/netplan/50-theirs.yaml", "network: {version: 2}\n");
  REQUIRE(install_generated_files({"a"}, node));
  CHECK(runs() == 2);
}

TEST_CASE("netplan: a node without netplan is unsupported, unlike a file that netplan rejects") {
  test::FakeNode node;
  const auto tried = try_netplan_files(as_ours("network: {version: 2}\n"), node);
  REQUIRE_FALSE(tried);
  CHECK(tried.error().code == ErrorCode::kUnsupported);
}

}  // namespace sparkplan::netplan
