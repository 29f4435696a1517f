// The rdma level's decisions without a machine: bytes on the wire, and measurable devices.
#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "engine/doctor/doctor_table.h"
#include "engine/doctor/rdma_bands.h"
#include "engine/verify/levels/levels.h"
#include "engine/verify/levels/rdma_ports.h"
#include "engine/wire/rdma_messages.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

RdmaDeviceFacts device(const std::string& name, const std::string& address, const std::string& interface) {
  RdmaPortFacts port{1, "ACTIVE", "LinkUp", "Ethernet", "", 4096, {}};
  port.gids = {{0, "RoCE v2", "fe80::1", interface}, {5, "RoCE v2", "::ffff:" + address, interface}};
  return {name, "", 1, {port}, "0000:01:00.1", PcieLink{4, 4, "32.0 GT/s PCIe", "32.0 GT/s PCIe"}};
}

/// Two nodes with both halves of a port, as facts show them; no node can be contacted.
struct TwoSparks {
  Cluster cluster;
  VerifyOptions options;
  std::vector<Facts> facts;

  TwoSparks() {
    for (const int id : {1, 2}) {
      const auto number = std::to_string(10 + id);
      cluster.nodes.push_back({*NodeName::parse("spark-0" + std::to_string(id)), id, {}, {}, {}, {}, {}, {}, {}, {}});
      Facts& of = facts.emplace_back();
      of.product = "NVIDIA DGX Spark";
      of.links.resize(2);
      of.links[0].name = "enp1s0f1np1";
      of.links[0].rdma_devices = {"rocep1s0f1"};
      of.links[1].name = "enP2p1s0f1np1";
      of.links[1].rdma_devices = {"roceP2p1s0f1"};
      for (LinkFacts& link : of.links) link.speed_mbps = 200'000;
      of.rdma_devices = {device("rocep1s0f1", "192.168.100." + number, "enp1s0f1np1"),
                         device("roceP2p1s0f1", "192.168.101." + number, "enP2p1s0f1np1")};
    }
  }

  VerifyContext context() {
    VerifyContext made{cluster, {}, options, {}, [](const std::string&, std::string_view) {}};
    for (std::size_t i = 0; i < facts.size(); ++i) {
      VerifyNode node;
      node.spec = &cluster.nodes[i];
      node.facts = &facts[i];
      for (int half = 0; half < 2; ++half) {
        ObservedPort seen;
        seen.half = half;
        seen.link = &facts[i].links[static_cast<std::size_t>(half)];
        seen.interface = seen.link->name;
        seen.hcas = seen.link->rdma_devices;
        seen.address = "192.168.10" + std::to_string(half) + ".1" + std::to_string(i + 1);
        seen.prefix_length = 24;
        node.halves.push_back(seen);
      }
      made.nodes.push_back(node);
    }
    return made;
  }
};

TEST_CASE("A write of 64 KiB over RoCE v2 has 16 packets of 58 header bytes, and 16 bytes once") {
  CHECK(roce_bytes(1, 65536, 4096) == 65536 + 16 * 58 + 16);
  CHECK(roce_bytes(1000, 65536, 4096) == 1000 * (65536 + 16 * 58 + 16));
  CHECK(roce_bytes(1, 65536, 1024) == 65536 + 64 * 58 + 16);
}

TEST_CASE("A write is padded to whole words, and its last packet may be partial") {
  CHECK(roce_bytes(1, 4097, 4096) == 4100 + 2 * 58 + 16);
  CHECK(roce_bytes(1, 2, 4096) == 4 + 58 + 16);
  CHECK(roce_bytes(1, 0, 4096) == 58 + 16);
  CHECK(roce_bytes(5, 65536, 0) == 0);
}

TEST_CASE("Devices without faults pass, and their properties are listed") {
  TwoSparks sparks;
  const auto halves = rdma_halves(sparks.context());
  REQUIRE(halves.size() == 2);
  REQUIRE(halves[1].size() == 2);
  const RdmaHalf& half = halves[1][1];
  CHECK(half.check.id == "rdma/spark-02/B");
  CHECK(half.check.status == CheckStatus::kPass);
  CHECK(half.check.text ==
        "roceP2p1s0f1 active, RDMA MTU 4096, GID 5 (RoCE v2), 4 PCIe lanes at 32.0 GT/s PCIe, link 200 Gb/s");
  REQUIRE(half.device != nullptr);
  CHECK(half.device->name == "roceP2p1s0f1");
  CHECK(half.port == &half.device->port_facts.front());
}

TEST_CASE("An endpoint at another address than the node's is refused before any write") {
  CHECK(is_gid_of("::ffff:192.168.100.11", "192.168.100.11"));
  CHECK(is_gid_of("::ffff:c0a8:640b", "192.168.100.11"));
  for (const char* other : {"::ffff:192.168.100.12", "fe80::1", "", "192.168.100.11", "no GID"}) {
    INFO(other);
    CHECK_FALSE(is_gid_of(other, "192.168.100.11"));
  }
  CHECK_FALSE(is_gid_of("::ffff:192.168.100.11", ""));
}

TEST_CASE("On InfiniBand, an endpoint with a GID, or with the LID of a group or of the other node, is refused") {
  RdmaEndpoint other;
  other.lid = 7;
  const auto is_expected = [&](const std::string& gid, std::int64_t lid, bool routed) {
    RdmaEndpoint endpoint;
    endpoint.gid = gid;
    endpoint.lid = lid;
    return check_endpoint(endpoint, routed, "192.168.100.11", other).has_value();
  };
  CHECK(is_expected("", 8, false));
  CHECK(is_expected("", 0xbfff, false));
  CHECK_FALSE(is_expected("fe80::1", 8, false));
  CHECK_FALSE(is_expected("::ffff:192.168.100.11", 8, false));
  for (const std::int64_t lid : {0, 7, 0xc000, 0xffff}) CHECK_FALSE(is_expected("", lid, false));
  // Where one end is Ethernet, the GID is the address.
  CHECK(is_expected("::ffff:192.168.100.11", 0, true));
  CHECK_FALSE(is_expected("", 8, true));
  CHECK(check_endpoint(other, false, "", std::nullopt));
}

TEST_CASE("A device's faults are found and named") {
  TwoSparks sparks;
  Facts& facts = sparks.facts[1];
  std::string seen;
  std::string words;
  SECTION("missing") {
    facts.links[1].rdma_devices.clear();
    facts.rdma_devices.pop_back();
    seen = "spark-02 has no RDMA device on enP2p1s0f1np1";
    words = RowId("rdma-no-device")->fix;
  }
  SECTION("port down") {
    facts.rdma_devices[1].port_facts[0].state = "DOWN";
    facts.rdma_devices[1].port_facts[0].physical_state = "Disabled";
    seen = "spark-02, roceP2p1s0f1 on enP2p1s0f1np1 is DOWN (Disabled)";
    words = RowId("rdma-port-down")->fix;
  }
  SECTION("other GIDs") {
    facts.rdma_devices[1].port_facts[0].gids[1].type = "IB/RoCE v1";
    seen = "there is no GID of type RoCE v2 for 192.168.101.12";
    words = RowId("rdma-no-gid")->fix;
  }
  const auto halves = rdma_halves(sparks.context());
  const RdmaHalf& half = halves[1][1];
  CHECK(half.check.status == CheckStatus::kFail);
  CHECK(half.check.cause.find(seen) != std::string::npos);
  CHECK(half.check.fix == words);
  CHECK(half.device == nullptr);
  CHECK(halves[1][0].check.status == CheckStatus::kPass);
}

TEST_CASE("A Spark's device with few PCIe lanes or a slow link is a warning before any measurement") {
  TwoSparks sparks;
  sparks.facts[0].rdma_devices[1].pcie->width = 2;
  sparks.facts[1].links[0].speed_mbps = 100'000;
  auto halves = rdma_halves(sparks.context());
  CHECK(halves[0][1].check.status == CheckStatus::kWarn);
  CHECK(halves[0][1].check.fix == RowId("rdma-pcie-width")->fix);
  CHECK(halves[0][1].device != nullptr);
  CHECK(halves[1][0].check.fix == RowId("rdma-link-100g")->fix);
  sparks.facts[0].product = sparks.facts[1].product = "Another machine";
  halves = rdma_halves(sparks.context());
  CHECK(halves[0][1].check.status == CheckStatus::kPass);
  CHECK(halves[1][0].check.status == CheckStatus::kPass);
}

TEST_CASE("Without RDMA nothing is measured and nothing fails, except on a Spark") {
  TwoSparks sparks;
  for (Facts& facts : sparks.facts) {
    facts.rdma_devices.clear();
    for (LinkFacts& link : facts.links) link.rdma_devices.clear();
  }
  CHECK(rdma_halves(sparks.context())[0][0].check.status == CheckStatus::kFail);
  for (Facts& facts : sparks.facts) facts.product = "KVM";
  auto context = sparks.context();
  CHECK(rdma_halves(context)[0][0].check.status == CheckStatus::kSkip);
  CHECK(rdma_halves(context)[0][0].check.cause == "no RDMA device");
  for (const Check& check : verify_rdma(context)) {
    CHECK(check.status == CheckStatus::kSkip);
    CHECK_FALSE(check.cause.empty());
  }
}

TEST_CASE("One node's claim to have RDMA devices fails no other node, and two that differ are both named") {
  TwoSparks sparks;
  const auto without_rdma = [&](std::size_t at) {
    sparks.facts[at].rdma_devices.clear();
    for (LinkFacts& link : sparks.facts[at].links) link.rdma_devices.clear();
  };
  for (Facts& facts : sparks.facts) facts.product = "KVM";
  without_rdma(1);
  auto halves = rdma_halves(sparks.context());
  CHECK(halves[1][0].check.status == CheckStatus::kFail);
  CHECK(halves[1][0].check.cause.starts_with("spark-02 has no RDMA device on enp1s0f1np1, and spark-01 reports one: "));
  // The third node has none either: one of three may only claim its device.
  sparks.cluster.nodes.push_back({*NodeName::parse("spark-03"), 3, {}, {}, {}, {}, {}, {}, {}, {}});
  sparks.facts.push_back(sparks.facts[1]);
  halves = rdma_halves(sparks.context());
  CHECK(halves[0][0].check.status == CheckStatus::kPass);
  for (const std::size_t honest : {1U, 2U}) {
    CHECK(halves[honest][0].check.status == CheckStatus::kSkip);
    CHECK(halves[honest][0].check.cause == "no RDMA device");
  }
}

TEST_CASE("A small MTU that one end names is no retransmission of the other end") {
  RdmaEndpoint honest;
  honest.mtu = 4096;
  RdmaEndpoint other;
  for (const std::int64_t mtu : {0, 1, 256, 1024, 4096, 1 << 30}) {
    INFO(mtu);
    other.mtu = mtu;
    const std::int64_t used = std::clamp<std::int64_t>(mtu, 256, 4096);
    const auto sent = static_cast<double>(roce_bytes(1000, 65536, used));
    const auto expected = static_cast<double>(bytes_on_wire(1000, 65536, honest, other));
    CHECK(expected == sent);
    CHECK_FALSE(judge_counted_bytes(sent, 65536.0 * 1000, expected).row);
  }
}

TEST_CASE("A half with a failed link is skipped") {
  TwoSparks sparks;
  auto context = sparks.context();
  Check link;
  link.id = "link/spark-01/A";
  link.status = CheckStatus::kFail;
  context.checks.push_back(link);
  const auto halves = rdma_halves(context);
  CHECK(halves[0][0].check.status == CheckStatus::kSkip);
  CHECK(halves[0][0].check.cause == "link/spark-01/A failed");
  CHECK(halves[0][0].device == nullptr);
}

TEST_CASE("The doctor recognises the steps of a measurement by the agent's names") {
  const auto row = [](RdmaStep step, const Error& error) {
    return rdma_failure_row(to_string(step), error, rdma_completion_status_of(error))->id;
  };
  const Error absent{ErrorCode::kNotFound, "", {}, std::nullopt, ""};
  CHECK(row(RdmaStep::kOpenDevice, absent) == "rdma-no-device");
  CHECK(row(RdmaStep::kFindGid, absent) == "rdma-no-gid");
  CHECK(row(RdmaStep::kRegisterMemory, system_error("", ENOMEM)) == "rdma-no-memory");
  CHECK(row(RdmaStep::kCreateQueuePair, system_error("", ENOMEM)) == "rdma-no-memory");
  CHECK(row(RdmaStep::kConnect, system_error("", ETIMEDOUT)) == "rdma-connect-timeout");
  CHECK(row(RdmaStep::kWrite, rdma_completion_error(12, "transport retry counter exceeded")) ==
        "rdma-not-acknowledged");
  CHECK(row(RdmaStep::kWrite, rdma_completion_error(10, "remote access error")) == "rdma-refused");
}

}  // namespace
}  // namespace sparkplan
