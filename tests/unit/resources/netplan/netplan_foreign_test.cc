#include "engine/resource/registry.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/refusals.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan::netplan {
namespace {

LinkFacts half() {
  LinkFacts facts;
  facts.name = "enp1s0f1np1";
  facts.mac = "02:5a:61:00:00:01";
  facts.driver = "mlx5_core";
  return facts;
}

std::optional<Definition> definition_in(const std::string& yaml) {
  const auto tree = parse_yaml(yaml);
  REQUIRE(tree);
  const auto found = definitions_of(half(), definitions_in("/etc/netplan/90-x.yaml", *tree));
  return found.empty() ? std::nullopt : std::optional(found.front());
}

/// A NetworkManager profile as Ubuntu mirrors it into netplan, with `more` lines (synthetic).
std::string mirror(const std::string& section, const std::string& more) {
  return "network:\n  version: 2\n  " + section +
         ":\n    NM-3b2a4f6e-0d1c-4c8e-9b57-5f1d2e3a4b5c:\n      renderer: NetworkManager\n" + more;
}

/// Profiles of a machine on which every file can be read.
std::vector<Definition> readable_profiles(const test::FakeNode& node) {
  std::vector<UnreadableFile> unread;
  const auto found = profiles_of_one_interface(node, unread);
  REQUIRE(found);
  CHECK(unread.empty());
  return *found;
}

ObservedPort fabric_interface(const LinkFacts& link) {
  ObservedPort interface;
  interface.interface = link.name;
  interface.link = &link;
  return interface;
}

}  // namespace

TEST_CASE("netplan: the last file that names a renderer wins, and the default is networkd") {
  test::FakeNode node;
  CHECK(read_foreign_files(node)->renderer == Renderer::kNetworkd);
  node.add_file("/usr/lib/netplan/00-network-manager-all.yaml", "network: {version: 2, renderer: NetworkManager}\n");
  CHECK(read_foreign_files(node)->renderer == Renderer::kNetworkManager);
  node.add_file("/etc/netplan/50-cloud-init.yaml",
                "network:\n  version: 2\n  ethernets:\n    renderer: networkd\n    enP7s7: {dhcp4: true}\n");
  const auto section_of_that_file = read_foreign_files(node);
  CHECK(section_of_that_file->renderer == Renderer::kNetworkManager);
  CHECK(section_of_that_file->definitions.size() == 1);
  node.add_file("/etc/netplan/99-server.yaml", "network: {version: 2, renderer: networkd}\n");
  CHECK(read_foreign_files(node)->renderer == Renderer::kNetworkd);
}

TEST_CASE("netplan: Ubuntu's mirror of a profile for our interface is a definition, and one for any interface is not") {
  const std::string passthrough =
      "      networkmanager:\n        uuid: 3b2a4f6e\n        name: Wired\n        passthrough:\n";
  CHECK(definition_in(mirror("ethernets", "      match: {name: enp1s0f1np1}\n      dhcp4: true\n")));
  CHECK(definition_in(mirror("ethernets", "      match: {macaddress: '02:5A:61:00:00:01'}\n      dhcp4: true\n")));
  CHECK(definition_in(
      mirror("ethernets", "      match: {}\n" + passthrough + "          connection.interface-name: enp1s0f1np1\n")));
  CHECK(definition_in(mirror("nm-devices", passthrough + "          connection.interface-name: enp1s0f1np1\n")));
  CHECK_FALSE(definition_in(mirror("ethernets", "      match: {name: enP7s7}\n      dhcp4: true\n")));
  CHECK_FALSE(definition_in(mirror("ethernets", "      match: {}\n      dhcp4: true\n")));
  CHECK_FALSE(definition_in(mirror("wifis", "      match: {}\n      dhcp4: true\n      access-points: {home: {}}\n")));
  CHECK_FALSE(definition_in(mirror("wifis", "      match: {name: wlP9s9}\n      access-points: {home: {}}\n")));
  CHECK_FALSE(definition_in(mirror("nm-devices", passthrough + "          connection.type: vpn\n")));
  CHECK_FALSE(definition_in(mirror("ethernets", "      match: {name: enp1s0f1np1}\n" + passthrough +
                                                    "          connection.autoconnect: \"false\"\n")));
  // This profile would win over sparkplan's.
  CHECK(definition_in(
      mirror("ethernets", "      match: {}\n" + passthrough + "          connection.autoconnect-priority: \"999\"\n")));
}

TEST_CASE("netplan: a NetworkManager definition named after the interface is merged with the managed one") {
  const auto found = definition_in("network: {ethernets: {enp1s0f1np1: {networkmanager: {name: x}}}}\n");
  REQUIRE(found);
  CHECK_FALSE(found->is_profile);
}

TEST_CASE("netplan: renames and virtual functions in other files are refused with the reason") {
  const auto reason = [](const std::string& body) {
    const auto found = definition_in("network:\n  version: 2\n" + body);
    REQUIRE(found);
    const Error error = refused_for("enp1s0f1np1", *found);
    CHECK(error.code == ErrorCode::kRefused);
    CHECK_FALSE(error.hint.empty());
    return error.message;
  };
  CHECK(reason("  ethernets:\n    a: {match: {macaddress: '02:5a:61:00:00:01'}, set-name: fabric0}\n")
            .starts_with("/etc/netplan/90-x.yaml:4 renames enp1s0f1np1 to fabric0"));
  CHECK(reason("  ethernets:\n    a: {match: {driver: e1000}, set-name: enp1s0f1np1}\n")
            .starts_with("/etc/netplan/90-x.yaml:4 renames an interface to enp1s0f1np1"));
  CHECK(reason("  ethernets:\n    v0: {link: enp1s0f1np1}\n")
            .starts_with("/etc/netplan/90-x.yaml:4 makes v0 a virtual function (SR-IOV) of enp1s0f1np1"));
  CHECK(reason("  ethernets:\n    enp1s0f1np1: {virtual-function-count: 4}\n").find("SR-IOV") != std::string::npos);
  CHECK(reason("  ethernets:\n    enp1s0f1np1: {embedded-switch-mode: switchdev}\n").find("SR-IOV") !=
        std::string::npos);
  for (const char* section : {"bonds", "bridges"}) {
    CHECK(reason("  " + std::string(section) + ":\n    both: {interfaces: [enp1s0f1np1]}\n").find("as part of both") !=
          std::string::npos);
  }
  CHECK_FALSE(definition_in("network:\n  vlans:\n    v5: {id: 5, link: enp1s0f1np1}\n"));
}

TEST_CASE("netplan: NetworkManager's own profiles conflict if they would win at boot") {
  test::FakeNode node;
  const std::string directory = "/etc/NetworkManager/system-connections/";
  const auto add = [&](const std::string& name, const std::string& connection) {
    node.add_file(directory + name,
                  "# by hand\n[connection]\nid=" + name + "\n" + connection + "\n[ipv4]\nmethod=auto\n", 0600);
  };
  add("manual", "type=ethernet\ninterface-name=enp1s0f1np1\nautoconnect=false\nautoconnect-priority=999\n");
  add("wifi", "type=wifi\nautoconnect-priority=999\n");
  node.add_file(directory + "empty", "");
  CHECK(readable_profiles(node).empty());

  add("high", "type=ethernet\ninterface-name=enp1s0f1np1\nautoconnect-priority=999\n");
  const auto competing = readable_profiles(node);
  REQUIRE(competing.size() == 1);
  CHECK_FALSE(gives_way(competing.front()));
  const auto found = definitions_of(half(), competing);
  REQUIRE(found.size() == 1);
  const Error error = refused_for("enp1s0f1np1", found.front());
  CHECK(error.message.find("/etc/NetworkManager/system-connections/high, NetworkManager's \"high\"") == 0);
  CHECK(error.hint.find("nmcli") != std::string::npos);

  node.erase(directory + "high");
  add("port", "type=802-3-ethernet\ninterface-name=enp1s0f1np1\nmaster=bond0\nslave-type=bond\n");
  const auto ports = readable_profiles(node);
  REQUIRE(ports.size() == 1);
  CHECK(refused_for("enp1s0f1np1", ports.front()).message.find("as part of bond0") != std::string::npos);
}

TEST_CASE("netplan: a profile with a lower priority gives way, and one for any interface is ignored") {
  test::FakeNode node;
  const std::string directory = "/etc/NetworkManager/system-connections/";
  node.add_file(directory + "low",
                "[connection]\nid=low\ntype=ethernet\ninterface-name=enp1s0f1np1\nautoconnect-priority=10\n", 0600);
  node.add_file(directory + "office", "[connection]\nid=office\ntype=ethernet\n[ipv4]\nmethod=auto\n", 0600);
  const auto found = readable_profiles(node);
  REQUIRE(found.size() == 1);
  CHECK(gives_way(found.front()));
  CHECK(refused_for("enp1s0f1np1", found.front()).message.find("\"low\", is for enp1s0f1np1") != std::string::npos);
}

TEST_CASE("netplan: a profile that cannot be read is reported, and the others still count") {
  test::FakeNode node;
  const std::string directory = "/etc/NetworkManager/system-connections/";
  node.add_file("/etc/netplan/01-nm.yaml", "network: {version: 2, renderer: NetworkManager}\n");
  node.add_kernel_file(directory + "broken", {"", {}, {}, ErrorCode::kPermissionDenied});
  node.add_file(directory + "port", "[connection]\nid=port\ninterface-name=enp1s0f1np1\n", 0600);
  const auto type = builtin_registry().find("netplan");
  const auto exported = type->exports(Value::map(), node);
  REQUIRE(exported);
  const ForeignFiles files = decode_foreign_files(*exported);
  REQUIRE(files.definitions.size() == 1);
  CHECK(files.definitions.front().id == "port");
  CHECK(files.unreadable.empty());
  REQUIRE(files.unread_profiles.size() == 1);
  CHECK(files.unread_profiles.front().source == directory + "broken");
}

TEST_CASE("netplan: profiles generated by NetworkManager are distinguished from hand-written ones") {
  const auto generated = [](const std::string& connection, const std::string& ipv4) {
    return profile_in("/etc/NetworkManager/system-connections/x",
                      "[connection]\n" + connection + "\ninterface-name=enp1s0f1np1\n[ipv4]\n" + ipv4 + "\n")
        .generated;
  };
  CHECK(generated("id=Wired connection 1", "method=auto"));
  CHECK(generated("id=Kabelgebundene Verbindung 1\nautoconnect-priority=-999", "method=auto"));
  CHECK_FALSE(generated("id=Wired connection 1", "method=manual\naddress1=10.0.0.1/24"));
  CHECK_FALSE(generated("id=Wired connection 1", "method=auto\naddress1=10.0.0.1/24"));
  CHECK_FALSE(generated("id=Wired connection to the lab", "method=auto"));
  CHECK_FALSE(generated("id=cx7", "method=auto"));
  const std::string of_name = "      networkmanager:\n        name: Wired connection 2\n";
  CHECK(
      definition_in(mirror("ethernets", "      match: {name: enp1s0f1np1}\n      dhcp4: true\n" + of_name))->generated);
  CHECK_FALSE(definition_in(mirror("ethernets",
                                   "      match: {name: enp1s0f1np1}\n      dhcp4: true\n"
                                   "      addresses: [10.0.0.1/24]\n" +
                                       of_name))
                  ->generated);
  CHECK_FALSE(definition_in(mirror("ethernets", "      match: {name: enp1s0f1np1}\n" + of_name))->generated);
}

TEST_CASE("netplan: profiles are read only where netplan uses NetworkManager") {
  test::FakeNode node;
  node.add_file("/etc/NetworkManager/system-connections/high",
                "[connection]\nid=high\ninterface-name=enp1s0f1np1\nautoconnect-priority=999\n", 0600);
  CHECK(read_foreign_files(node)->definitions.empty());
  node.add_file("/etc/netplan/01-network-manager-all.yaml", "network: {version: 2, renderer: NetworkManager}\n");
  CHECK(read_foreign_files(node)->definitions.size() == 1);
}

TEST_CASE("netplan: a member of a bond or bridge, or the bond itself, is no fabric interface") {
  LinkFacts plain = half();
  CHECK_FALSE(why_unfit(fabric_interface(plain), {plain}, {}));

  LinkFacts bond;
  bond.name = "bond0";
  bond.kind = "bond";
  LinkFacts member = half();
  member.master = "bond0";
  const auto part = why_unfit(fabric_interface(member), {member, bond}, {});
  REQUIRE(part);
  CHECK(part->code == ErrorCode::kRefused);
  CHECK(part->message.find("is part of the bond bond0") != std::string::npos);
  CHECK(why_unfit(fabric_interface(bond), {member, bond}, {}));

  const auto function = why_unfit(fabric_interface(plain), {plain}, {"enp1s0f1np1"});
  REQUIRE(function);
  CHECK(function->message.find("SR-IOV") != std::string::npos);
}

TEST_CASE("netplan: virtual functions are recognised by the kernel's physfn link") {
  test::FakeNode node;
  node.add_link(half());
  LinkFacts function;
  function.name = "enp1s0f1v0";
  node.add_link(function);
  node.add_symlink("/sys/class/net/enp1s0f1v0/device/physfn", "../0000:01:00.1");
  CHECK(*virtual_functions_of(node) == std::vector<std::string>{"enp1s0f1v0"});
  node.set_live(false);
  CHECK(virtual_functions_of(node)->empty());
}

}  // namespace sparkplan::netplan
