#include "engine/doctor/rdma_bands.h"

#include <algorithm>
#include <cerrno>

namespace sparkplan {
namespace {

// Of DGX Sparks, in Gb/s: public measurements are 109 to 112 for a half and 185 to 198 for both.
constexpr double kHalf = 100;
constexpr double kAtOnce = 175;
/// Below that part of a threshold it is a failure.
constexpr double kTolerated = 0.9;
/// What x2 PCIe lanes or a link of 100 Gb/s leave to a half; what a badly initialised adapter does; what a switch
/// forwards by its processor.
constexpr double kHalved = 65;
constexpr double kDegraded = 25;
constexpr double kForwarded = 8;
constexpr int kLanes = 4;
constexpr int kLinkMbps = 200'000;
constexpr int kFullMtu = 4096;
constexpr double kDirectUs = 3;
constexpr double kSwitchUs = 5;

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

/// Facts that explain a low value come before what the value alone suggests.
std::string_view why_slow(double gbps, const RdmaPath& path) {
  if (lanes_are_missing(path)) return "rdma-pcie-width";
  if (link_is_slow(path)) return "rdma-link-100g";
  if (!path.known_hardware) return "rdma-below-threshold";
  if (gbps < kForwarded && path.through_switch) return "rdma-cpu-forwarding";
  if (gbps < kDegraded) return "rdma-degraded-init";
  if (gbps < kHalved) return "rdma-half-speed";
  return path.mtu && *path.mtu < kFullMtu ? "rdma-small-mtu" : "rdma-below-par";
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

std::string_view poor_connection_row(const RdmaPath& path) {
  if (!path.known_hardware) return "";
  if (lanes_are_missing(path)) return "rdma-pcie-width";
  return link_is_slow(path) ? "rdma-link-100g" : "";
}

RdmaFinding judge_half_bandwidth(double gbps, const RdmaPath& path, std::optional<double> wanted) {
  if (!wanted && path.known_hardware) wanted = kHalf;
  if (!wanted || gbps >= *wanted) return {"", false, wanted};
  return {why_slow(gbps, path), gbps >= kTolerated * *wanted, wanted};
}

RdmaFinding judge_bandwidth_at_once(double gbps, double best_half, const RdmaPath& path, std::optional<double> wanted) {
  std::optional<double> threshold;
  if (path.known_hardware) threshold = kAtOnce;
  if (wanted) threshold = *wanted * kAtOnce / kHalf;
  if (!threshold || gbps >= *threshold) return {"", false, threshold};
  const bool tolerable = gbps >= kTolerated * *threshold;
  if (lanes_are_missing(path)) return {"rdma-pcie-width", tolerable, threshold};
  if (link_is_slow(path)) return {"rdma-link-100g", tolerable, threshold};
  // Two halves that carry together what one of them carries alone have something in common.
  constexpr double kNoGain = 1.2;
  const bool share = gbps < kNoGain * best_half;
  return {share ? "rdma-halves-share" : "rdma-at-once-below", tolerable, threshold};
}

RdmaFinding judge_latency(double typical_us, const RdmaPath& path) {
  if (!path.known_hardware) return {};
  const double ceiling = path.through_switch ? kSwitchUs : kDirectUs;
  // The ceilings are derived and not from a vendor: worth a look, no failure.
  return {typical_us <= ceiling ? "" : "rdma-latency", true, ceiling};
}

RdmaFinding judge_counted_bytes(double counted, double payload, double expected) {
  constexpr double kElsewhere = 0.5;
  constexpr double kAgain = 1.1;
  // Adapters differ in which headers they count.
  if (counted < kElsewhere * payload) return {"rdma-counters-flat", false, std::nullopt};
  if (counted < payload) return {"rdma-counters-flat", true, std::nullopt};
  if (counted > kAgain * expected) return {"rdma-sent-again", true, std::nullopt};
  return {};
}

std::string_view rdma_failure_row(std::string_view step, const Error& error, std::optional<int> status) {
  constexpr int kNobodyAcknowledged = 12;
  const int number = error.sys_errno.value_or(0);
  if (step == "open the device") {
    return error.code == ErrorCode::kNotFound ? "rdma-no-device" : "rdma-port-down";
  }
  if (step == "find the GID") return "rdma-no-gid";
  if (needs_locked_memory(step) && error.code == ErrorCode::kPermissionDenied) return "rdma-locked-memory";
  if (needs_locked_memory(step) && number == ENOMEM) return "rdma-no-memory";
  if (step == "connect a queue pair") {
    if (number == ETIMEDOUT) return "rdma-connect-timeout";
    if (number == ENETUNREACH || number == EHOSTUNREACH) return "rdma-connect-unreachable";
  }
  // An error of ours, neither the kernel's nor the hardware's: the other end has gone silent.
  const bool silence = status == kNobodyAcknowledged || (!status && !error.sys_errno);
  if (step == "write" && silence) return "rdma-not-acknowledged";
  return "rdma-refused";
}

}  // namespace sparkplan
