// Addresses that DHCP or a neighbour's router advertisements give to an interface, at any moment.
#include <algorithm>

#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "resources/netplan/live_link.h"
#include "resources/netplan/taken_away.h"
#include "tests/support/catch.h"
#include "tests/support/fake_network_manager.h"
#include "tests/support/fake_networkd.h"

namespace sparkplan::netplan {
namespace {

const std::string kAdvertisedHalf = "enp1s0f1np1";
const Stanza kDeclared{9000, {"192.168.100.11/24"}, false};
const std::string kOwnPath(kOwnFile);

/// A neighbour advertises a new prefix, each with a lifetime of seconds, before each look at the interfaces.
class AdvertisedNode final : public test::FakeNode {
 public:
  Result<std::vector<LinkFacts>> links() const override {
    SPARK_TRY(auto all, FakeNode::links());
    if (!advertises) return all;
    for (LinkFacts& link : all) {
      const std::string address = "fd00:" + std::to_string(++prefixes_) + "::11/64";
      link.addresses.push_back(address);
      link.acquired[address] = 5;
    }
    return all;
  }
  bool advertises = true;

 private:
  mutable int prefixes_ = 0;
};

AdvertisedNode advertised(std::vector<std::string> addresses) {
  AdvertisedNode node;
  test::install_fake_networkd(node);
  LinkFacts half;
  half.name = kAdvertisedHalf;
  half.mtu = 1500;
  half.up = true;
  half.carrier = true;
  half.addresses = std::move(addresses);
  node.add_link(half);
  return node;
}

void acquire(test::FakeNode& node, const std::string& address, std::optional<std::int64_t> seconds) {
  LinkFacts half = *node.link(kAdvertisedHalf);
  half.addresses.push_back(address);
  half.acquired[address] = seconds;
  node.add_link(half);
}

Observation as_wanted(const Observation& now) { return link_state_wanted(kDeclared, present_value(now)); }

const ResourceType& netplan_type() { return *builtin_registry().find("netplan"); }

Step step_to(Observation before, Observation after) {
  Step step;
  step.artifact = link_artifact(kAdvertisedHalf);
  step.before = std::move(before);
  step.after = std::move(after);
  step.activates = true;
  return step;
}

}  // namespace

TEST_CASE("netplan: router advertisements and DHCP make no plan stale") {
  AdvertisedNode node = advertised({"10.5.5.5/24"});
  const Observation planned = observe_link(kAdvertisedHalf, node);
  acquire(node, "10.66.0.7/24", 60);
  acquire(node, "fd00:66::7/64", std::nullopt);
  CHECK(same_state(observe_link(kAdvertisedHalf, node), planned));
  CHECK(texts_in(present_value(planned).find("addresses")) == std::vector<std::string>{"10.5.5.5/24"});
}

TEST_CASE("netplan: an address set by hand does make it stale") {
  AdvertisedNode node = advertised({});
  const Observation planned = observe_link(kAdvertisedHalf, node);
  LinkFacts half = *node.link(kAdvertisedHalf);
  half.addresses = {"10.5.5.5/24"};
  node.add_link(half);
  CHECK_FALSE(same_state(observe_link(kAdvertisedHalf, node), planned));
}

TEST_CASE("netplan: a rollback ends although a neighbour advertises new prefixes meanwhile") {
  AdvertisedNode node = advertised({"10.5.5.5/24"});
  const Observation before = observe_link(kAdvertisedHalf, node);
  node.advertises = false;  // Our file switches router advertisements off.
  node.add_file(kOwnPath, render_file({{kAdvertisedHalf, kDeclared}}), 0600);
  REQUIRE(activate_link(kAdvertisedHalf, as_wanted(before), node));
  CHECK(node.link(kAdvertisedHalf)->addresses == kDeclared.addresses);

  node.erase(kOwnPath);
  node.advertises = true;
  acquire(node, "10.66.0.7/24", 60);
  REQUIRE(activate_link(kAdvertisedHalf, before, node));
  // A lease belongs to its DHCP client, which stays.
  CHECK(node.link(kAdvertisedHalf)->addresses == std::vector<std::string>{"10.5.5.5/24", "10.66.0.7/24"});
  CHECK(node.link(kAdvertisedHalf)->mtu == 1500);
}

TEST_CASE("netplan: a rollback does not wait for a link-local address, because neighbours decide about it") {
  AdvertisedNode node = advertised({});
  node.advertises = false;
  const auto recorded = [](bool link_local) {
    return Observation(Present{
        Value::map({{"mtu", 1500}, {"up", true}, {"addresses", Value::list()}, {"link_local", link_local}}), {}});
  };
  REQUIRE(activate_link(kAdvertisedHalf, recorded(true), node));
  acquire(node, "169.254.7.7/16", 60);
  REQUIRE(activate_link(kAdvertisedHalf, recorded(false), node));
  LinkFacts half = *node.link(kAdvertisedHalf);
  half.addresses = {"169.254.17.4/16"};  // Of our file.
  half.acquired = {};
  node.add_link(half);
  REQUIRE(activate_link(kAdvertisedHalf, recorded(false), node));
  CHECK(node.link(kAdvertisedHalf)->addresses.empty());
}

TEST_CASE("netplan: a lease in 169.254.0.0/16 is no part of an interface's state") {
  AdvertisedNode node = advertised({});
  acquire(node, "169.254.7.7/16", 60);
  CHECK_FALSE(present_value(observe_link(kAdvertisedHalf, node)).boolean_or("link_local", true));
}

TEST_CASE("netplan: an earlier state with an acquired address has returned once its client has renewed it") {
  AdvertisedNode node = advertised({});
  acquire(node, "10.66.0.7/24", 60);
  const Observation recorded = Present{
      Value::map({{"mtu", 1500}, {"up", true}, {"addresses", Value::list({"10.66.0.7/24"})}, {"link_local", false}}),
      {}};
  REQUIRE(activate_link(kAdvertisedHalf, recorded, node));
  CHECK(std::none_of(node.log().begin(), node.log().end(), [](const auto& one) { return one.operation == "link"; }));
}

TEST_CASE("netplan: on an interface whose addresses are ours, an acquired address is a difference and is removed") {
  AdvertisedNode node = advertised({});
  node.advertises = false;
  node.add_file(kOwnPath, render_file({{kAdvertisedHalf, kDeclared}}), 0600);
  REQUIRE(activate_link(kAdvertisedHalf, as_wanted(observe_link(kAdvertisedHalf, node)), node));
  const auto shown = [&] {
    const auto observed = netplan_type().observe(ObserveRequest{{kAdvertisedHalf}}, node);
    return texts_in(present_value(observed.resources.at(kAdvertisedHalf)).find("addresses"));
  };
  CHECK(shown() == kDeclared.addresses);
  acquire(node, "10.66.0.7/24", 60);
  CHECK(shown() == std::vector<std::string>{"10.66.0.7/24", "192.168.100.11/24"});
  REQUIRE(activate_link(kAdvertisedHalf, as_wanted(observe_link(kAdvertisedHalf, node)), node));
  CHECK(shown() == kDeclared.addresses);
}

TEST_CASE("netplan: a step that changes only the MTU begins whatever addresses and MTU the interface has by then") {
  AdvertisedNode node = advertised({});
  const Observation before = observe_link(kAdvertisedHalf, node);
  LinkFacts half = *node.link(kAdvertisedHalf);
  half.addresses = {"10.66.0.7/24", "169.254.3.3/16"};
  node.add_link(half);
  const Observation now = observe_link(kAdvertisedHalf, node);
  const Stanza only_mtu{9000, {}, false};
  const Step of_mtu = step_to(before, link_state_wanted(only_mtu, present_value(before)));
  CHECK(netplan_type().may_begin_on(of_mtu, now));
  CHECK_FALSE(netplan_type().may_begin_on(step_to(before, as_wanted(before)), now));
  half.mtu = 1400;
  node.add_link(half);
  CHECK(netplan_type().may_begin_on(of_mtu, observe_link(kAdvertisedHalf, node)));
}

TEST_CASE("netplan: a step that sets addresses begins whatever MTU and link-local address the interface has by then") {
  AdvertisedNode node = advertised({"10.5.5.5/24", "169.254.3.3/16"});
  const Observation before = observe_link(kAdvertisedHalf, node);
  const Stanza without_mtu{std::nullopt, {"192.168.100.11/24"}, false};
  const Step step = step_to(before, link_state_wanted(without_mtu, present_value(before)));
  LinkFacts half = *node.link(kAdvertisedHalf);
  half.addresses = {"10.5.5.5/24"};
  half.mtu = 1400;
  node.add_link(half);
  CHECK(netplan_type().may_begin_on(step, observe_link(kAdvertisedHalf, node)));
}

TEST_CASE("netplan: a file without an MTU accepts that the one of a lease ends with the lease") {
  AdvertisedNode node = advertised({});
  node.advertises = false;
  acquire(node, "10.66.0.7/24", 60);
  LinkFacts half = *node.link(kAdvertisedHalf);
  half.mtu = 1400;
  node.add_link(half);
  const Stanza without_mtu{std::nullopt, {"192.168.100.11/24"}, false};
  const Observation wanted = link_state_wanted(without_mtu, present_value(observe_link(kAdvertisedHalf, node)));
  half.mtu = 1500;
  node.add_link(half);
  node.add_file(kOwnPath, render_file({{kAdvertisedHalf, without_mtu}}), 0600);
  REQUIRE(activate_link(kAdvertisedHalf, wanted, node));
  CHECK(node.link(kAdvertisedHalf)->addresses == without_mtu.addresses);
}

TEST_CASE("netplan: the way back to a file without an MTU takes back the one of a later file") {
  AdvertisedNode node = advertised({"192.168.100.11/24"});
  node.advertises = false;
  const Stanza without_mtu{std::nullopt, {"192.168.100.11/24"}, false};
  const Stanza later{9000, {"192.168.100.11/24"}, false};
  node.add_file(kOwnPath, render_file({{kAdvertisedHalf, without_mtu}}), 0600);
  const Observation before = observe_link(kAdvertisedHalf, node);
  node.add_file(kOwnPath, render_file({{kAdvertisedHalf, later}}), 0600);
  REQUIRE(activate_link(kAdvertisedHalf, link_state_wanted(later, present_value(before)), node));
  CHECK(node.link(kAdvertisedHalf)->mtu == 9000);
  node.add_file(kOwnPath, render_file({{kAdvertisedHalf, without_mtu}}), 0600);
  REQUIRE(activate_link(kAdvertisedHalf, before, node));
  CHECK(node.link(kAdvertisedHalf)->mtu == 1500);
}

TEST_CASE("netplan: only an error that neighbours cause lets a rollback end without an interface") {
  const auto left = [](const ArtifactId& artifact, ErrorCode code) {
    return netplan_type().is_left_to_others(artifact, make_error(code, ""));
  };
  CHECK(left(link_artifact(kAdvertisedHalf), ErrorCode::kVerifyFailed));
  CHECK_FALSE(left(link_artifact(kAdvertisedHalf), ErrorCode::kNotFound));  // Of a program or a profile.
  CHECK_FALSE(left(link_artifact(kAdvertisedHalf), ErrorCode::kFailed));
  CHECK_FALSE(left(file_artifact(kOwnPath), ErrorCode::kVerifyFailed));
}

TEST_CASE("netplan: a step begins whether or not NetworkManager's profile has become active by then") {
  AdvertisedNode node = advertised({});
  const Observation inactive = observe_link(kAdvertisedHalf, node);
  const auto with_profile = [&](const std::string& uuid) {
    Value value = present_value(inactive);
    value.set(kProfileBefore, Value::map({{"uuid", uuid}, {"name", "Wired connection 1"}}));
    return Observation(Present{std::move(value), {}});
  };
  const auto may_begin = [&](const Observation& before, const Observation& now) {
    return netplan_type().may_begin_on(step_to(before, as_wanted(before)), now);
  };
  CHECK(may_begin(inactive, with_profile("wired")));
  CHECK(may_begin(with_profile("wired"), inactive));
  CHECK_FALSE(may_begin(with_profile("wired"), with_profile("another")));
}

TEST_CASE("netplan: router advertisements add nothing to what a take-over names") {
  LinkFacts link;
  link.name = kAdvertisedHalf;
  link.addresses = {"fd00:66::7/64"};
  ObservedPort port;
  port.interface = kAdvertisedHalf;
  port.link = &link;
  RouteFacts route;
  route.interface = kAdvertisedHalf;
  route.destination = "::/0";
  route.gateway = "fe80::66";
  route.protocol = "ra";
  Facts own;
  own.host.routes = {route};
  Definition profile;
  profile.source = "/run/NetworkManager/system-connections/Wired connection 1.nmconnection";
  CHECK_FALSE(what_goes(port, kDeclared, {{profile}, false, {}}, own));
}

}  // namespace sparkplan::netplan
