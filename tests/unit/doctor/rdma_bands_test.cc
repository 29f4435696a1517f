#include "engine/doctor/rdma_bands.h"

#include <cerrno>
#include <string>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

RdmaPath two_sparks() {
  RdmaPath path;
  path.known_hardware = true;
  path.mtu = 4096;
  path.lanes = 4;
  path.most_lanes = 4;
  path.link_speed_mbps = 200'000;
  return path;
}

RdmaPath through_a_switch() {
  auto path = two_sparks();
  path.through_switch = true;
  return path;
}

std::string row_of(const Judgement& judgement) {
  return judgement.row ? std::string(judgement.row->id) : std::string();
}

TEST_CASE("Between Sparks a half with 100 Gb/s or more passes") {
  for (const double gbps : {100.0, 109.3, 111.71}) {
    const auto finding = judge_half_bandwidth(gbps, two_sparks(), std::nullopt);
    CHECK_FALSE(finding.row);
    CHECK(finding.threshold == 100);
  }
}

TEST_CASE("The bandwidth of a slow half selects the likely cause") {
  const auto half = [](double gbps, const RdmaPath& path) { return judge_half_bandwidth(gbps, path, std::nullopt); };
  CHECK(row_of(half(97, two_sparks())) == "rdma-below-par");
  CHECK(half(97, two_sparks()).status == CheckStatus::kWarn);
  CHECK(half(90, two_sparks()).status == CheckStatus::kWarn);
  CHECK_FALSE(half(89.9, two_sparks()).status == CheckStatus::kWarn);
  CHECK(row_of(half(52, two_sparks())) == "rdma-half-speed");
  CHECK_FALSE(half(52, two_sparks()).status == CheckStatus::kWarn);
  CHECK(row_of(half(12.8, two_sparks())) == "rdma-degraded-init");
  CHECK(row_of(half(5, through_a_switch())) == "rdma-cpu-forwarding");
  CHECK(row_of(half(12.8, through_a_switch())) == "rdma-degraded-init");
  // Without a switch no device could forward.
  CHECK(row_of(half(5, two_sparks())) == "rdma-degraded-init");
}

TEST_CASE("The machines' facts explain a low value better than the value itself") {
  auto path = two_sparks();
  SECTION("two PCIe lanes") {
    path.lanes = 2;
    CHECK(row_of(judge_half_bandwidth(52, path, std::nullopt)) == "rdma-pcie-width");
    CHECK(row_of(judge_half_bandwidth(95, path, std::nullopt)) == "rdma-pcie-width");
  }
  SECTION("a link of 100 Gb/s") {
    path.link_speed_mbps = 100'000;
    CHECK(row_of(judge_half_bandwidth(52, path, std::nullopt)) == "rdma-link-100g");
  }
  SECTION("a small MTU") {
    path.mtu = 1024;
    CHECK(row_of(judge_half_bandwidth(95, path, std::nullopt)) == "rdma-small-mtu");
  }
  SECTION("a good value needs no explanation") {
    path.mtu = 1024;
    path.lanes = 2;
    CHECK_FALSE(judge_half_bandwidth(111, path, std::nullopt).row);
  }
}

TEST_CASE("Hardware without known values is compared with the user's threshold only") {
  RdmaPath path;
  CHECK_FALSE(judge_half_bandwidth(0.3, path, std::nullopt).row);
  CHECK_FALSE(judge_half_bandwidth(0.3, path, std::nullopt).threshold);
  const auto below = judge_half_bandwidth(0.3, path, 1.0);
  CHECK(row_of(below) == "rdma-below-threshold");
  CHECK_FALSE(below.status == CheckStatus::kWarn);
  CHECK(below.threshold == 1.0);
  CHECK(judge_half_bandwidth(0.95, path, 1.0).status == CheckStatus::kWarn);
  path.lanes = 8;
  path.most_lanes = 16;
  CHECK(row_of(judge_half_bandwidth(0.3, path, 1.0)) == "rdma-pcie-width");
}

TEST_CASE("The user's threshold replaces the threshold for Sparks") {
  CHECK_FALSE(judge_half_bandwidth(52, two_sparks(), 50.0).row);
  CHECK(row_of(judge_half_bandwidth(101, two_sparks(), 110.0)) == "rdma-below-par");
  CHECK(judge_bandwidth_at_once(90, 52, two_sparks(), 50.0).threshold == 87.5);
}

TEST_CASE("Both halves together carry 185 Gb/s, from 175 a warning, or a shared bottleneck is reported") {
  const auto at_once = [](double gbps, double best, const RdmaPath& path) {
    return judge_bandwidth_at_once(gbps, best, path, std::nullopt);
  };
  CHECK_FALSE(at_once(189.85, 111, two_sparks()).row);
  CHECK(at_once(189.85, 111, two_sparks()).threshold == 185);
  CHECK(row_of(at_once(184, 111, two_sparks())) == "rdma-at-once-below");
  CHECK(at_once(184, 111, two_sparks()).status == CheckStatus::kWarn);
  CHECK(at_once(175, 111, two_sparks()).status == CheckStatus::kWarn);
  CHECK(at_once(174, 111, two_sparks()).status == CheckStatus::kFail);
  CHECK(row_of(at_once(112, 111, two_sparks())) == "rdma-halves-share");
  CHECK_FALSE(at_once(112, 111, two_sparks()).status == CheckStatus::kWarn);
  auto slow = two_sparks();
  slow.link_speed_mbps = 100'000;
  CHECK(row_of(at_once(98, 97, slow)) == "rdma-link-100g");
  CHECK_FALSE(at_once(0.4, 0.4, RdmaPath()).row);
}

TEST_CASE("A latency above the Sparks' usual one is a warning, and a switch may add to it") {
  CHECK_FALSE(judge_latency(1.47, two_sparks()).row);
  CHECK(row_of(judge_latency(3.1, two_sparks())) == "rdma-latency");
  CHECK(judge_latency(3.1, two_sparks()).status == CheckStatus::kWarn);
  CHECK_FALSE(judge_latency(3.1, through_a_switch()).row);
  CHECK(row_of(judge_latency(5.1, through_a_switch())) == "rdma-latency");
  CHECK_FALSE(judge_latency(300, RdmaPath()).row);
}

TEST_CASE("Bytes that a device has not counted fail, and retransmitted bytes are a warning") {
  const double payload = 65536 * 1000.0;
  const double expected = payload * 1.0144;
  CHECK_FALSE(judge_counted_bytes(expected, payload, expected).row);
  CHECK_FALSE(judge_counted_bytes(payload, payload, expected).row);
  CHECK(row_of(judge_counted_bytes(0, payload, expected)) == "rdma-counters-flat");
  CHECK_FALSE(judge_counted_bytes(0, payload, expected).status == CheckStatus::kWarn);
  CHECK(judge_counted_bytes(0.9 * payload, payload, expected).status == CheckStatus::kWarn);
  CHECK(row_of(judge_counted_bytes(1.2 * payload, payload, expected)) == "rdma-sent-again");
  CHECK(judge_counted_bytes(1.2 * payload, payload, expected).status == CheckStatus::kWarn);
}

TEST_CASE("A failed measurement is explained by its step and the kernel's error") {
  const auto row = [](std::string_view step, Error error, std::optional<int> status = {}) {
    return std::string(rdma_failure_row(step, error, status)->id);
  };
  const auto coded = [](ErrorCode code) { return Error{code, "", {}, std::nullopt, ""}; };
  CHECK(row("open the device", coded(ErrorCode::kNotFound)) == "rdma-no-device");
  CHECK(row("open the device", coded(ErrorCode::kFailed)) == "rdma-port-down");
  CHECK(row("find the GID", coded(ErrorCode::kNotFound)) == "rdma-no-gid");
  CHECK(row("register memory", system_error("ibv_reg_mr", ENOMEM)) == "rdma-no-memory");
  CHECK(row("register memory", coded(ErrorCode::kPermissionDenied)) == "rdma-locked-memory");
  CHECK(row("create a queue pair", system_error("ibv_create_qp", ENOMEM)) == "rdma-no-memory");
  CHECK(row("create a queue pair", system_error("ibv_create_qp", EINVAL)) == "rdma-refused");
  CHECK(row("connect a queue pair", system_error("ibv_modify_qp", ETIMEDOUT)) == "rdma-connect-timeout");
  CHECK(row("connect a queue pair", system_error("ibv_modify_qp", ENETUNREACH)) == "rdma-connect-unreachable");
  CHECK(row("connect a queue pair", system_error("ibv_modify_qp", EINVAL)) == "rdma-refused");
  CHECK(row("write", coded(ErrorCode::kFailed), 12) == "rdma-not-acknowledged");
  CHECK(row("write", coded(ErrorCode::kFailed)) == "rdma-not-acknowledged");
  CHECK(row("write", coded(ErrorCode::kFailed), 10) == "rdma-refused");
  CHECK(row("write", system_error("ibv_post_send", EINVAL)) == "rdma-refused");
}

TEST_CASE("The worse one of two ends decides") {
  RdmaPath path;
  LinkFacts slow_link;
  slow_link.speed_mbps = 100'000;
  LinkFacts fast_link;
  fast_link.speed_mbps = 200'000;
  RdmaDeviceFacts whole{"rocep1s0f1", "", 1, {}, "0000:01:00.1", PcieLink{4, 4, "", ""}};
  RdmaDeviceFacts halved{"roceP2p1s0f1", "", 1, {}, "0002:01:00.1", PcieLink{2, 4, "", ""}};
  RdmaPortFacts port;
  port.active_mtu = 4096;
  add_end(path, port, halved, &fast_link);
  CHECK(path.lanes == 2);
  port.active_mtu = 1024;
  add_end(path, port, whole, &slow_link);
  CHECK(path.lanes == 2);
  CHECK(path.most_lanes == 4);
  CHECK(path.mtu == 1024);
  CHECK(path.link_speed_mbps == 100'000);
}

}  // namespace
}  // namespace sparkplan
