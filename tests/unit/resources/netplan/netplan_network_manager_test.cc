#include <algorithm>

#include "resources/netplan/live_link.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/network_manager.h"
#include "resources/netplan/trial.h"
#include "tests/support/catch.h"
#include "tests/support/fake_network_manager.h"
#include "tests/support/fake_networkd.h"

namespace sparkplan::netplan {
namespace {

const std::string kManagedHalf = "enp1s0f1np1";
const std::string kOwn(kOwnFile);
const std::string kWired = "/run/NetworkManager/system-connections/Wired connection 1.nmconnection";
const Stanza kManagedStanza{9000, {"192.168.100.11/24"}, false, Renderer::kNetworkManager};

const Stanza kOnlyMtu{9000, {}, false, Renderer::kNetworkManager};

using test::FakeNode;

/// A machine on which netplan uses NetworkManager for all interfaces.
FakeNode spark() {
  FakeNode node;
  test::install_fake_networkd(node);
  test::install_fake_network_manager(node);
  node.add_file("/etc/netplan/01-network-manager-all.yaml", "network: {version: 2, renderer: NetworkManager}\n", 0600);
  LinkFacts half;
  half.name = kManagedHalf;
  half.mtu = 1500;
  half.up = true;
  half.carrier = true;
  node.add_link(half);
  return node;
}

void write_own_file(FakeNode& node) { node.add_file(kOwn, render_file({{kManagedHalf, kManagedStanza}}), 0600); }

void give(FakeNode& node, const std::string& address) {
  LinkFacts half = *node.link(kManagedHalf);
  half.addresses = {address};
  node.add_link(half);
}

bool has_run(const FakeNode& node, const std::string& part) {
  return std::any_of(node.log().begin(), node.log().end(), [&](const FakeNode::Write& write) {
    return write.operation == "run" && write.subject.find(part) != std::string::npos;
  });
}

Value state_of(const Observation& observation) {
  REQUIRE(std::holds_alternative<Present>(observation));
  return std::get<Present>(observation).value;
}

Observation wanted(const FakeNode& node) {
  return link_state_wanted(kManagedStanza, state_of(observe_link(kManagedHalf, node)));
}

/// Our file replaces an active profile with this address, and is removed again. Returns the state before.
Observation replaced_profile(FakeNode& node, const std::string& address) {
  node.add_file(kWired, "[connection]\nid=Wired connection 1\nuuid=wired\n\n[ipv4]\naddress1=" + address + "\n", 0600);
  test::make_active(node, kManagedHalf, kWired);
  give(node, address);
  Observation before = observe_link(kManagedHalf, node);
  write_own_file(node);
  REQUIRE(activate_link(kManagedHalf, wanted(node), node));
  node.erase(kOwn);
  return before;
}

}  // namespace

TEST_CASE("netplan: NetworkManager gets the settings that netplan omits, and networkd's file is unaffected") {
  const std::string ours = render_file({{kManagedHalf, kManagedStanza}});
  CHECK(ours.find("      renderer: NetworkManager\n") != std::string::npos);
  CHECK(ours.find("connection.autoconnect-priority: \"999\"\n") != std::string::npos);
  CHECK(ours.find("ipv6.method: disabled\n") != std::string::npos);
  CHECK(ours.find("ipv4.") == std::string::npos);
  const std::string both = render_file({{kManagedHalf, {9000, {"10.1.0.2/16"}, true, Renderer::kNetworkManager}}});
  CHECK(both.find("ipv4.link-local: \"3\"\n") != std::string::npos);
  const std::string mtu_only = render_file({{kManagedHalf, kOnlyMtu}});
  CHECK(mtu_only.find("connection.autoconnect: \"false\"\n") != std::string::npos);
  CHECK(mtu_only.find("connection.interface-name: sparkplan-none\n") != std::string::npos);
  CHECK(mtu_only.find("ipv") == std::string::npos);
  const std::string link_local = render_file({{kManagedHalf, {9000, {}, true, Renderer::kNetworkManager}}});
  CHECK(link_local.find("link-local: [ipv4]\n") != std::string::npos);
  CHECK(link_local.find("ipv4.") == std::string::npos);
  const std::string networkd = render_file({{kManagedHalf, {9000, {"192.168.100.11/24"}, false}}});
  CHECK(networkd.find("renderer") == std::string::npos);
  CHECK(networkd.find("networkmanager") == std::string::npos);
}

TEST_CASE("netplan: nmcli's output is split at unescaped colons") {
  CHECK(terse_words("a:b") == std::vector<std::string>{"a", "b"});
  CHECK(terse_words("u:enp1:/run/x\\:y:Wired \\\\ 1") ==
        std::vector<std::string>{"u", "enp1", "/run/x:y", "Wired \\ 1"});
  CHECK(terse_words("") == std::vector<std::string>{""});
  CHECK(terse_words("a::") == std::vector<std::string>{"a", "", ""});
}

TEST_CASE("netplan: the generated profile is installed, loaded and activated, and no other is changed") {
  FakeNode node = spark();
  write_own_file(node);
  node.add_file(kWired, "[connection]\nid=Wired connection 1\nuuid=wired\n", 0600);
  REQUIRE(activate_link(kManagedHalf, wanted(node), node));
  CHECK(test::active_profile(node, kManagedHalf) == generated_for_network_manager(kManagedHalf));
  CHECK(node.status(generated_for_network_manager(kManagedHalf))->mode == 0600);
  CHECK(node.link(kManagedHalf)->mtu == 9000);
  CHECK(node.link(kManagedHalf)->addresses == std::vector<std::string>{"192.168.100.11/24"});
  CHECK(has_run(node, "connection load " + generated_for_network_manager(kManagedHalf)));
  CHECK_FALSE(has_run(node, "connection reload"));
  CHECK_FALSE(has_run(node, "networkctl"));
  CHECK_FALSE(has_run(node, "apply"));
}

TEST_CASE("netplan: an active foreign profile is recorded, and activated again after the removal") {
  FakeNode node = spark();
  node.add_file(kWired, "[connection]\nid=Wired connection 1\nuuid=wired\n\n[ipv4]\naddress1=10.9.9.9/24\n", 0600);
  test::make_active(node, kManagedHalf, kWired);
  give(node, "10.9.9.9/24");
  const Observation before = observe_link(kManagedHalf, node);
  const Value state = state_of(before);
  const Value* profile = state.find(kProfileBefore);
  REQUIRE(profile != nullptr);
  CHECK(profile->text_or("uuid", "") == "wired");
  CHECK(profile->text_or("name", "") == "Wired connection 1");

  write_own_file(node);
  REQUIRE(activate_link(kManagedHalf, wanted(node), node));
  CHECK(state_of(observe_link(kManagedHalf, node)).find(kProfileBefore) == nullptr);

  node.erase(kOwn);
  REQUIRE(activate_link(kManagedHalf, before, node));
  CHECK(test::active_profile(node, kManagedHalf) == kWired);
  CHECK_FALSE(node.text_of(generated_for_network_manager(kManagedHalf)));
  CHECK(state_of(observe_link(kManagedHalf, node)) == state_of(before));
}

TEST_CASE("netplan: a profile that waits for DHCP is put back without a carrier, too") {
  FakeNode node = spark();
  node.add_file(kWired, "[connection]\nid=Wired connection 1\nuuid=wired\n", 0600);
  test::make_active(node, kManagedHalf, kWired);
  const Observation before = observe_link(kManagedHalf, node);
  REQUIRE(state_of(before).find(kProfileBefore) != nullptr);
  write_own_file(node);
  REQUIRE(activate_link(kManagedHalf, wanted(node), node));
  LinkFacts half = *node.link(kManagedHalf);
  half.carrier = false;
  node.add_link(half);
  node.erase(kOwn);
  CHECK(activate_link(kManagedHalf, before, node));
  CHECK_FALSE(node.text_of(generated_for_network_manager(kManagedHalf)));
}

TEST_CASE("netplan: a profile that NetworkManager does not activate is no failure of the way back") {
  FakeNode node = spark();
  SECTION("the profile of that time, whose addresses netlink then sets") {
    const Observation before = replaced_profile(node, "192.168.200.1/24");
    test::refuse_activations(node);
    CHECK(activate_link(kManagedHalf, before, node));
    CHECK(node.link(kManagedHalf)->addresses == std::vector<std::string>{"192.168.200.1/24"});
    CHECK(node.link(kManagedHalf)->mtu == 1500);
  }
  SECTION("one of another netplan file") {
    const Observation before = observe_link(kManagedHalf, node);
    write_own_file(node);
    REQUIRE(activate_link(kManagedHalf, wanted(node), node));
    node.erase(kOwn);
    node.add_file("/etc/netplan/40-cx7.yaml",
                  render_file({{kManagedHalf, {9000, {"10.6.6.6/24"}, false, Renderer::kNetworkManager}}}), 0600);
    test::refuse_activations(node);
    CHECK(activate_link(kManagedHalf, before, node));
  }
}

TEST_CASE("netplan: with only an MTU, NetworkManager's active profile keeps its addresses") {
  FakeNode node = spark();
  node.add_file(kWired, "[connection]\nid=mesh\nuuid=mesh\n\n[ipv4]\naddress1=192.168.100.1/24\n", 0600);
  test::make_active(node, kManagedHalf, kWired);
  give(node, "192.168.100.1/24");
  node.add_file(kOwn, render_file({{kManagedHalf, kOnlyMtu}}), 0600);
  REQUIRE(activate_link(kManagedHalf, link_state_wanted(kOnlyMtu, state_of(observe_link(kManagedHalf, node))), node));
  CHECK(node.link(kManagedHalf)->mtu == 9000);
  CHECK(node.link(kManagedHalf)->addresses == std::vector<std::string>{"192.168.100.1/24"});
  CHECK(test::active_profile(node, kManagedHalf) == kWired);
  CHECK_FALSE(has_run(node, "connection up"));
  CHECK_FALSE(has_run(node, "connection down"));
  CHECK(state_of(observe_link(kManagedHalf, node)).find(kProfileBefore) == nullptr);
}

TEST_CASE("netplan: an interface that keeps only its MTU loses the addresses that we gave it") {
  FakeNode node = spark();
  write_own_file(node);
  REQUIRE(activate_link(kManagedHalf, wanted(node), node));
  node.add_file(kOwn, render_file({{kManagedHalf, kOnlyMtu}}), 0600);
  REQUIRE(activate_link(kManagedHalf, link_state_wanted(kOnlyMtu, state_of(observe_link(kManagedHalf, node))), node));
  CHECK(has_run(node, "connection down"));
  CHECK(node.link(kManagedHalf)->addresses.empty());
  CHECK(node.link(kManagedHalf)->mtu == 9000);
  CHECK(test::active_profile(node, kManagedHalf).empty());
}

TEST_CASE("netplan: a missing profile is not activated, and the link's kernel settings are restored") {
  FakeNode node = spark();
  const Observation before = replaced_profile(node, "10.9.9.9/24");
  node.erase(kWired);
  REQUIRE(activate_link(kManagedHalf, before, node));
  CHECK(node.link(kManagedHalf)->addresses == std::vector<std::string>{"10.9.9.9/24"});
}

TEST_CASE("netplan: settings made outside NetworkManager are no profile, and the removal restores them") {
  FakeNode node = spark();
  const std::string external = "/run/NetworkManager/system-connections/enp1s0f1np1.nmconnection";
  node.add_file(external, "[connection]\nid=enp1s0f1np1\n\n[.nmmeta]\nnm-generated=true\nexternal=true\n", 0600);
  test::make_active(node, kManagedHalf, external);
  give(node, "10.5.5.5/24");
  const Observation before = observe_link(kManagedHalf, node);
  CHECK(state_of(before).find(kProfileBefore) == nullptr);
  write_own_file(node);
  REQUIRE(activate_link(kManagedHalf, wanted(node), node));
  node.erase(kOwn);
  REQUIRE(activate_link(kManagedHalf, before, node));
  CHECK(has_run(node, "device set " + kManagedHalf + " autoconnect no"));
  CHECK(node.link(kManagedHalf)->addresses == std::vector<std::string>{"10.5.5.5/24"});
  CHECK(node.link(kManagedHalf)->mtu == 1500);
}

TEST_CASE("netplan: without a carrier NetworkManager's addresses and MTU are not compared") {
  FakeNode node = spark();
  write_own_file(node);
  LinkFacts half = *node.link(kManagedHalf);
  half.carrier = false;
  node.add_link(half);
  const auto observed = std::get<Present>(observe_link(kManagedHalf, node));
  CHECK(observed.not_applicable.contains("addresses"));
  CHECK(observed.not_applicable.contains("mtu"));
  CHECK_FALSE(observed.not_applicable.contains("up"));
  node.erase(kOwn);
  node.erase("/etc/netplan/01-network-manager-all.yaml");
  CHECK_FALSE(std::get<Present>(observe_link(kManagedHalf, node)).not_applicable.contains("mtu"));
}

TEST_CASE("netplan: an interface that moves from NetworkManager to networkd loses its profile") {
  FakeNode node = spark();
  write_own_file(node);
  REQUIRE(activate_link(kManagedHalf, wanted(node), node));
  node.erase("/etc/netplan/01-network-manager-all.yaml");
  Stanza stanza = kManagedStanza;
  stanza.renderer = Renderer::kNetworkd;
  node.add_file(kOwn, render_file({{kManagedHalf, stanza}}), 0600);
  REQUIRE(activate_link(kManagedHalf, link_state_wanted(stanza, state_of(observe_link(kManagedHalf, node))), node));
  CHECK_FALSE(node.text_of(generated_for_network_manager(kManagedHalf)));
  CHECK(node.text_of(generated_for_networkd(kManagedHalf)));
  CHECK(test::active_profile(node, kManagedHalf).empty());
  CHECK(node.link(kManagedHalf)->addresses == std::vector<std::string>{"192.168.100.11/24"});
}

TEST_CASE("netplan: a profile that NetworkManager cannot activate is an error with NetworkManager's message") {
  FakeNode node = spark();
  write_own_file(node);
  const Observation after = wanted(node);
  node.add_program("nmcli", [](const FakeNode::Call& call) -> Result<CommandOutput> {
    if (call.argv.back() == "show" || call.argv.back() == "--active") {
      return CommandOutput{0, "u:" + generated_for_network_manager(kManagedHalf) + "\n", {}};
    }
    const bool up = std::find(call.argv.begin(), call.argv.end(), "up") != call.argv.end();
    return up ? CommandOutput{4, {}, "Error: Connection activation failed: device is strictly unmanaged\n"}
              : CommandOutput{};
  });
  const auto activated = activate_link(kManagedHalf, after, node);
  REQUIRE_FALSE(activated);
  CHECK(activated.error().message.find("strictly unmanaged") != std::string::npos);
  CHECK_FALSE(activated.error().hint.empty());
}

TEST_CASE("netplan: a missing or stopped renderer is named before any write") {
  const auto refusal = [](FakeNode& node, Renderer renderer) {
    Stanza stanza = kManagedStanza;
    stanza.renderer = renderer;
    const auto tried = try_netplan_files({{std::string(kOwnFile), render_file({{kManagedHalf, stanza}})}}, node);
    REQUIRE_FALSE(tried);
    CHECK(tried.error().code == ErrorCode::kUnsupported);
    CHECK_FALSE(tried.error().hint.empty());
    return tried.error().message;
  };
  FakeNode stopped = spark();
  CHECK(try_netplan_files({{std::string(kOwnFile), render_file({{kManagedHalf, kManagedStanza}})}}, stopped));
  test::stop_fake_network_manager(stopped);
  CHECK(refusal(stopped, Renderer::kNetworkManager) ==
        "netplan gives enp1s0f1np1 to NetworkManager, which is not running");
  FakeNode without = spark();
  without.add_program("nmcli", [](const FakeNode::Call&) -> Result<CommandOutput> {
    return failure(ErrorCode::kNotFound, "no nmcli");
  });
  CHECK(refusal(without, Renderer::kNetworkManager) ==
        "netplan gives enp1s0f1np1 to NetworkManager, but this node has no nmcli");
  FakeNode desktop = spark();
  desktop.add_unit("systemd-networkd.service", {{"ActiveState", "inactive"}});
  CHECK(refusal(desktop, Renderer::kNetworkd) == "netplan gives enp1s0f1np1 to systemd-networkd, which is not running");
}

}  // namespace sparkplan::netplan
