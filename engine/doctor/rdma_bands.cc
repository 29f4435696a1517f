#include "engine/doctor/rdma_bands.h"

#include <algorithm>
#include <cerrno>

namespace sparkplan {
namespace {

// Of DGX Sparks, in Gb/s: public measurements are 109 to 112 for a half and 185 to 198 for both.
constexpr double kHalf = 100;
constexpr double kAtOnce = 185;
/// Less fails, and between the two is a warning. A threshold of the user's own is for one half: this follows from it.
constexpr double kLeastAtOnce = 175;
/// A value below this part of the threshold is a failure.
constexpr double kTolerated = 0.9;
/// Upper bounds: of a half with x2 PCIe lanes or a link of 100 Gb/s; of a badly initialised adapter; of a switch that
/// forwards with its processor.
constexpr double kHalved = 65;
constexpr double kDegraded = 25;
constexpr double kForwarded = 8;
constexpr int kLanes = 4;
constexpr int kLinkMbps = 200'000;
constexpr int kFullMtu = 4096;
constexpr double kDirectUs = 3;
constexpr double kSwitchUs = 5;

CheckStatus below(double value, double threshold) {
  return value >= kTolerated * threshold ? CheckStatus::kWarn : CheckStatus::kFail;
}

template <class T>
void lower(std::optional<T>& value, std::optional<T> other) {
  if (other && (!value || *other < *value)) value = other;
}

bool lanes_are_missing(const RdmaPath& path) {
  if (!path.lanes) return false;
  if (path.known_hardware && *path.lanes < kLanes) return true;
  return path.most_lanes && *path.lanes < *path.most_lanes;
}

bool link_is_slow(const RdmaPath& path) {
  return path.known_hardware && path.link_speed_mbps && *path.link_speed_mbps < kLinkMbps;
}

/// Facts that explain a low value have priority over the value alone.
RowId why_slow(double gbps, const RdmaPath& path) {
  if (lanes_are_missing(path)) return "rdma-pcie-width";
  if (link_is_slow(path)) return "rdma-link-100g";
  if (!path.known_hardware) return "rdma-below-threshold";
  if (gbps < kForwarded && path.through_switch) return "rdma-cpu-forwarding";
  if (gbps < kDegraded) return "rdma-degraded-init";
  if (gbps < kHalved) return "rdma-half-speed";
  return path.mtu && *path.mtu < kFullMtu ? RowId("rdma-small-mtu") : "rdma-below-par";
}

bool needs_locked_memory(std::string_view step) { return step == "register memory" || step == "create a queue pair"; }

}  // namespace

void add_end(RdmaPath& path, const RdmaPortFacts& port, const RdmaDeviceFacts& device, const LinkFacts* link) {
  lower(path.mtu, port.active_mtu);
  if (link != nullptr) lower(path.link_speed_mbps, link->speed_mbps);
  if (!device.pcie || device.pcie->width == 0) return;
  if (path.lanes && *path.lanes <= device.pcie->width) return;
  path.lanes = device.pcie->width;
  path.most_lanes.reset();
  if (device.pcie->max_width > 0) path.most_lanes = device.pcie->max_width;
}

RowId poor_connection_row(const RdmaPath& path) {
  if (!path.known_hardware) return {};
  if (lanes_are_missing(path)) return "rdma-pcie-width";
  return link_is_slow(path) ? "rdma-link-100g" : RowId();
}

Judgement judge_half_bandwidth(double gbps, const RdmaPath& path, std::optional<double> wanted) {
  if (!wanted && path.known_hardware) wanted = kHalf;
  if (!wanted || gbps >= *wanted) return {CheckStatus::kPass, {}, wanted};
  return {below(gbps, *wanted), why_slow(gbps, path), wanted};
}

Judgement judge_bandwidth_at_once(double gbps, double best_half, const RdmaPath& path, std::optional<double> wanted) {
  std::optional<double> threshold;
  if (path.known_hardware) threshold = kAtOnce;
  if (wanted) threshold = *wanted * kLeastAtOnce / kHalf;
  if (!threshold || gbps >= *threshold) return {CheckStatus::kPass, {}, threshold};
  const double least = wanted ? kTolerated * *threshold : kLeastAtOnce;
  const CheckStatus status = gbps >= least ? CheckStatus::kWarn : CheckStatus::kFail;
  if (lanes_are_missing(path)) return {status, "rdma-pcie-width", threshold};
  if (link_is_slow(path)) return {status, "rdma-link-100g", threshold};
  // If both halves together carry only as much as one alone, they share a bottleneck.
  constexpr double kNoGain = 1.2;
  const bool share = gbps < kNoGain * best_half;
  return {status, share ? RowId("rdma-halves-share") : "rdma-at-once-below", threshold};
}

Judgement judge_latency(double typical_us, const RdmaPath& path) {
  if (!path.known_hardware) return {};
  const double ceiling = path.through_switch ? kSwitchUs : kDirectUs;
  if (typical_us <= ceiling) return {CheckStatus::kPass, {}, ceiling};
  // The ceilings are derived and not from a vendor, so exceeding them is a warning and no failure.
  return {CheckStatus::kWarn, "rdma-latency", ceiling};
}

Judgement judge_counted_bytes(double counted, double payload, double expected) {
  constexpr double kElsewhere = 0.5;
  constexpr double kAgain = 1.1;
  // Adapters differ in which headers they count.
  if (counted < kElsewhere * payload) return {CheckStatus::kFail, "rdma-counters-flat"};
  if (counted < payload) return {CheckStatus::kWarn, "rdma-counters-flat"};
  if (counted > kAgain * expected) return {CheckStatus::kWarn, "rdma-sent-again"};
  return {};
}

RowId rdma_failure_row(std::string_view step, const Error& error, std::optional<int> status) {
  constexpr int kNobodyAcknowledged = 12;
  const int number = error.sys_errno.value_or(0);
  if (step == "open the device") {
    return error.code == ErrorCode::kNotFound ? RowId("rdma-no-device") : "rdma-port-down";
  }
  if (step == "find the GID") return "rdma-no-gid";
  if (needs_locked_memory(step) && error.code == ErrorCode::kPermissionDenied) return "rdma-locked-memory";
  if (needs_locked_memory(step) && number == ENOMEM) return "rdma-no-memory";
  if (step == "connect a queue pair") {
    if (number == ETIMEDOUT) return "rdma-connect-timeout";
    if (number == ENETUNREACH || number == EHOSTUNREACH) return "rdma-connect-unreachable";
  }
  // The error is sparkplan's own, not from the kernel or the hardware: the other end is silent.
  const bool silence = status == kNobodyAcknowledged || (!status && !error.sys_errno);
  if (step == "write" && silence) return "rdma-not-acknowledged";
  return "rdma-refused";
}

std::int64_t roce_bytes(std::int64_t messages, std::int64_t message_bytes, std::int64_t mtu) {
  constexpr std::int64_t kEthernet = 14;
  constexpr std::int64_t kIp = 20;
  constexpr std::int64_t kUdp = 8;
  constexpr std::int64_t kBaseTransport = 12;
  constexpr std::int64_t kRdmaExtended = 16;  // In the first packet of a write.
  constexpr std::int64_t kCheckSum = 4;
  constexpr std::int64_t kWord = 4;  // Payload is padded to whole words.
  if (mtu <= 0) return 0;
  const auto packets = std::max<std::int64_t>(1, (message_bytes + mtu - 1) / mtu);
  const auto filled = (message_bytes + kWord - 1) / kWord * kWord;
  const auto per_packet = kEthernet + kIp + kUdp + kBaseTransport + kCheckSum;
  return messages * (filled + packets * per_packet + kRdmaExtended);
}

}  // namespace sparkplan
