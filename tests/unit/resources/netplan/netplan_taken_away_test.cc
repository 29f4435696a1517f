// The settings that an interface loses when sparkplan takes it over.
#include "resources/netplan/adoption.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/taken_away.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan::netplan {
namespace {

using Texts = std::vector<std::string>;

const std::string kGoneHalf = "enp1s0f1np1";
const Stanza kGoneStanza{9000, {"192.168.100.11/24"}, false};

Value yaml(const std::string& text) {
  auto tree = parse_yaml(text);
  REQUIRE(tree);
  return *std::move(tree);
}

ObservedPort port_with(const LinkFacts* link) {
  ObservedPort port;
  port.interface = kGoneHalf;
  port.link = link;
  return port;
}

Definition definition(const std::string& source, Texts entries) {
  Definition one;
  one.source = source;
  one.entries = std::move(entries);
  return one;
}

}  // namespace

TEST_CASE("netplan: a definition's addresses, routes and name servers are listed") {
  CHECK(entries_in(yaml("addresses: [10.6.6.6/24, {10.6.6.7/24: {label: a}}]\ngateway4: 10.6.6.1\n"
                        "routes: [{to: 10.9.0.0/16, via: 10.6.6.9}, {to: default, via: 10.6.6.1}, {to: 10.8.0.0/16}]\n"
                        "nameservers: {addresses: [1.1.1.1], search: [lan]}\nmtu: 9000\ndhcp4: true\n")) ==
        Texts{"address 10.6.6.6/24", "address 10.6.6.7/24", "route default via 10.6.6.1",
              "route 10.9.0.0/16 via 10.6.6.9", "route 10.8.0.0/16", "DNS 1.1.1.1", "DNS search lan"});
  CHECK(entries_in(yaml("networkmanager: {passthrough: {ipv4.address1: \"10.6.6.6/24,10.6.6.1\"}}\n")) ==
        Texts{"address 10.6.6.6/24", "route default via 10.6.6.1"});
  CHECK(entries_in(Value()).empty());
}

TEST_CASE("netplan: a profile's addresses, routes and name servers are listed") {
  const Definition profile = profile_in("/etc/NetworkManager/system-connections/mesh.nmconnection",
                                        "[connection]\nid=mesh\n[ipv4]\nmethod=manual\naddress1=10.6.6.6/24,10.6.6.1\n"
                                        "route1=10.9.0.0/16,10.6.6.9,50\nroute1_options=mtu=1400\nroute-metric=7\n"
                                        "dns=1.1.1.1;8.8.8.8;\ndns-search=lan;\n[ipv6]\naddr-gen-mode=default\n");
  CHECK(profile.entries == Texts{"address 10.6.6.6/24", "route default via 10.6.6.1", "DNS 1.1.1.1", "DNS 8.8.8.8",
                                 "DNS search lan", "route 10.9.0.0/16 via 10.6.6.9"});
  ForeignFiles files;
  files.definitions = {profile};
  CHECK(decode_foreign_files(encode(files)).definitions == files.definitions);
}

TEST_CASE("netplan: a text too long for an entry stays on the node") {
  CHECK(entries_in(yaml("addresses: [" + std::string(5000, 'a') + "]\n")).empty());
}

TEST_CASE("netplan: systemd-resolved's name servers are read by interface") {
  test::FakeNode node;
  LinkFacts link;
  link.name = kGoneHalf;
  node.add_link(link);
  CHECK(*name_servers_of(node) == Value::map());
  node.add_file("/sys/class/net/" + kGoneHalf + "/ifindex", "7\n");
  node.add_file("/run/systemd/resolve/netif/7", "# private\nLLMNR=yes\nSERVERS=10.6.6.53 1.1.1.1\nDOMAINS=lan\n");
  CHECK(*name_servers_of(node) ==
        Value::map({{kGoneHalf, Value::list({"DNS 10.6.6.53", "DNS 1.1.1.1", "DNS search lan"})}}));
}

TEST_CASE("netplan: a take-over names all that goes, and not what stays") {
  LinkFacts link;
  link.name = kGoneHalf;
  link.addresses = {"10.6.6.6/24", "192.168.100.11/24", "fe80::1/64"};
  Facts own;
  const auto route = [&](const std::string& to, const std::string& via, const std::string& protocol) {
    RouteFacts one;
    one.interface = kGoneHalf;
    one.destination = to;
    one.gateway = via;
    one.protocol = protocol;
    own.host.routes.push_back(one);
  };
  route("10.6.6.0/24", "", "kernel");
  route("0.0.0.0/0", "10.6.6.1", "dhcp");
  const std::vector<Definition> others{definition("/etc/netplan/40-cx7.yaml:5", {"address 192.168.100.11/24"}),
                                       definition("/etc/netplan/90-x.yaml:3", {"DNS 1.1.1.1"})};
  const auto gone = what_goes(port_with(&link), kGoneStanza, {others, false, {"DNS 10.6.6.53"}}, own);
  REQUIRE(gone);
  CHECK(gone->code == "fabric.take-over");
  CHECK(gone->severity == Severity::kWarning);
  CHECK(gone->message ==
        "enp1s0f1np1 loses DNS 1.1.1.1, address 10.6.6.6/24, route default via 10.6.6.1, DNS 10.6.6.53 "
        "(/etc/netplan/40-cx7.yaml:5, /etc/netplan/90-x.yaml:3)");

  // Once it is ours, its routes and name servers are no longer about to go.
  CHECK_FALSE(what_goes(port_with(&link), kGoneStanza, {{}, true, {"DNS 10.6.6.53"}}, own));
  Definition inactive = definition("/etc/NetworkManager/system-connections/mesh.nmconnection", {"address 10.7.7.7/24"});
  inactive.section = kProfiles;
  CHECK(what_goes(port_with(&link), kGoneStanza, {{inactive}, false, {}}, own));
  CHECK_FALSE(what_goes(port_with(&link), kGoneStanza, {{inactive}, true, {}}, own));
  // An interface with only an MTU loses nothing.
  CHECK_FALSE(what_goes(port_with(&link), {9000, {}, false}, {others, false, {}}, own));
}

TEST_CASE("netplan: profiles do not compete with an interface that has only an MTU, except for a bond's") {
  Definition profile;
  profile.is_profile = true;
  Definition member = profile;
  member.members = {kGoneHalf};
  Definition file;
  const std::vector<Definition> all{profile, member, file};
  CHECK(in_the_way_of(kGoneStanza, all).size() == 3);
  CHECK(in_the_way_of({9000, {}, false}, all) == std::vector<Definition>{member, file});
}

}  // namespace sparkplan::netplan
