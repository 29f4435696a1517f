#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/core/result.h"
#include "engine/doctor/judgement.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// Properties of the two ends of a measurement that explain its value.
struct RdmaPath {
  bool known_hardware = false;  ///< Both ends are DGX Sparks, with hardware devices.
  bool through_switch = false;
  std::optional<int> mtu;              ///< The smaller active MTU, bytes.
  std::optional<int> lanes;            ///< The fewest PCIe lanes in use at an end...
  std::optional<int> most_lanes;       ///< ... and how many that end could have.
  std::optional<int> link_speed_mbps;  ///< The slower interface.
};

/// Adds one end to the path.
void add_end(RdmaPath& path, const RdmaPortFacts& port, const RdmaDeviceFacts& device, const LinkFacts* link);

/// The row for a poorly connected DGX Spark, before any measurement: too few PCIe lanes, a link of 100 Gb/s. None for
/// a good connection or other hardware.
RowId poor_connection_row(const RdmaPath& path);

/// The bandwidth of one half, in Gb/s. `wanted`: the user's own threshold. Without it, the threshold is 100 Gb/s for
/// DGX Sparks; other hardware has none.
Judgement judge_half_bandwidth(double gbps, const RdmaPath& path, std::optional<double> wanted);

/// The bandwidth of all halves at once; `best_half` is the best of them alone.
Judgement judge_bandwidth_at_once(double gbps, double best_half, const RdmaPath& path, std::optional<double> wanted);

/// Half a round trip, in microseconds.
Judgement judge_latency(double typical_us, const RdmaPath& path);

/// The bytes that a port counted while `payload` was written over it; with headers, `expected` bytes.
Judgement judge_counted_bytes(double counted, double payload, double expected);

/// The row for a measurement that failed. `step` as to_string(RdmaStep); `status` as rdma_completion_status_of().
RowId rdma_failure_row(std::string_view step, const Error& error, std::optional<int> status);

/// Pure. The bytes of the Ethernet frames that carry `messages` RDMA writes of `message_bytes` each. They travel over
/// RoCE v2 and IPv4, in packets of at most `mtu` bytes of payload. The sum is with headers and check sums of RDMA, UDP,
/// IP and Ethernet, without Ethernet's own check sum, preamble and gap. Acknowledgements go the other way.
/// Source: InfiniBand Architecture Specification, volume 1, annex 17 (RoCEv2).
std::int64_t roce_bytes(std::int64_t messages, std::int64_t message_bytes, std::int64_t mtu);

}  // namespace sparkplan
