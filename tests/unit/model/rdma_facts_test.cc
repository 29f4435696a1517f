#include "engine/model/rdma_facts.h"

#include "tests/support/catch.h"
#include "tests/unit/model/codec_checks.h"

namespace sparkplan {
namespace {

RdmaPortFacts port_with(std::vector<RdmaGid> gids) {
  return {1, "ACTIVE", "LinkUp", "Ethernet", "", 4096, std::move(gids)};
}

/// A half of a Spark whose interface has two link-local addresses: NetworkManager's and the kernel's.
RdmaPortFacts two_link_local_addresses() {
  return port_with({{0, "IB/RoCE v1", "fe80::5054:ff:feaa:1", "enp1s0f1np1"},
                    {1, "RoCE v2", "fe80::5054:ff:feaa:1", "enp1s0f1np1"},
                    {2, "IB/RoCE v1", "fe80::d1f2:9a02:77aa:3c51", "enp1s0f1np1"},
                    {3, "RoCE v2", "fe80::d1f2:9a02:77aa:3c51", "enp1s0f1np1"},
                    {4, "IB/RoCE v1", "::ffff:192.168.100.11", "enp1s0f1np1"},
                    {5, "RoCE v2", "::ffff:192.168.100.11", "enp1s0f1np1"}});
}

TEST_CASE("The GID index is found by address and type at any position") {
  CHECK(roce_v2_gid_index(two_link_local_addresses(), "192.168.100.11", "enp1s0f1np1") == 5);
  CHECK(roce_v2_gid_index(two_link_local_addresses(), "192.168.100.11", "") == 5);
  const auto software = port_with({{0, "RoCE v2", "fe80::1", "a"}, {1, "RoCE v2", "::ffff:10.0.0.1", "a"}});
  CHECK(roce_v2_gid_index(software, "10.0.0.1", "a") == 1);
}

TEST_CASE("A GID of another interface with the same address is ignored") {
  const auto port =
      port_with({{1, "RoCE v2", "::ffff:10.0.0.1", "enp1s0f1np1.5"}, {3, "RoCE v2", "::ffff:10.0.0.1", "enp1s0f1np1"}});
  CHECK(roce_v2_gid_index(port, "10.0.0.1", "enp1s0f1np1") == 3);
  CHECK_FALSE(roce_v2_gid_index(port, "10.0.0.1", "enP2p1s0f1np1"));
}

TEST_CASE("A missing GID gives an error that lists the existing GIDs") {
  const auto missing = roce_v2_gid_index(port_with({{4, "IB/RoCE v1", "::ffff:10.0.0.1", "a"}}), "10.0.0.1", "a");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::kNotFound);
  CHECK(missing.error().message == "there is no GID of type RoCE v2 for 10.0.0.1; found: 4 ::ffff:10.0.0.1 IB/RoCE v1");
  const auto none = roce_v2_gid_index(port_with({}), "10.0.0.1", "a");
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "there is no GID of type RoCE v2 for 10.0.0.1; found: none");
}

TEST_CASE("A port is found by the interface of its GIDs, or as the only port") {
  RdmaDeviceFacts device{"mlx5_0", "", 2, {port_with({{0, "RoCE v2", "fe80::1", "a"}}), port_with({})}};
  device.port_facts[1].number = 2;
  device.port_facts[1].gids = {{0, "RoCE v2", "fe80::2", "b"}};
  REQUIRE(rdma_port(device, "b") != nullptr);
  CHECK(rdma_port(device, "b")->number == 2);
  CHECK(rdma_port(device, "c") == nullptr);
  device.port_facts.pop_back();
  CHECK(rdma_port(device, "c") == &device.port_facts.front());
  device.port_facts.clear();
  CHECK(rdma_port(device, "a") == nullptr);
}

TEST_CASE("Missing values of a port or PCI function are not encoded") {
  RdmaDeviceFacts device{"rxe0", "", 1, {{1, "DOWN", "Disabled", "Ethernet", ""}}};
  const auto back = decode<RdmaDeviceFacts>(over_the_wire(encode(device)));
  REQUIRE(back);
  CHECK_FALSE(back->pcie);
  CHECK_FALSE(back->port_facts.at(0).active_mtu);
  CHECK(*back == device);
}

}  // namespace
}  // namespace sparkplan
