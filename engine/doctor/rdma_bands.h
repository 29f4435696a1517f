#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// What a measured value says. Pure data.
struct RdmaFinding {
  std::string_view row;             ///< Of doctor_table(). Empty: nothing is wrong.
  bool tolerable = false;           ///< A warning and not a failure.
  std::optional<double> threshold;  ///< What the value was held against; nothing: nothing is known to hold it against.
};

/// What the two ends of a measurement are like, as far as it explains what was measured.
struct RdmaPath {
  bool known_hardware = false;  ///< Both ends are DGX Sparks, with devices that are no software.
  bool through_switch = false;
  std::optional<int> mtu;              ///< The smaller active MTU, bytes.
  std::optional<int> lanes;            ///< The fewest PCIe lanes in use at an end...
  std::optional<int> most_lanes;       ///< ... and how many that end could have.
  std::optional<int> link_speed_mbps;  ///< The slower interface.
};

/// One end of it, added to what is known of the other.
void add_end(RdmaPath& path, const RdmaPortFacts& port, const RdmaDeviceFacts& device, const LinkFacts* link);

/// The row for an end of a DGX Spark that is connected worse than it could be, before anything is measured: too
/// few PCIe lanes, a link of 100 Gb/s. Empty: it is not, or the hardware is another.
std::string_view poor_connection_row(const RdmaPath& path);

/// What one half carries, in Gb/s. `wanted`: the user's own threshold. Without one, DGX Sparks are held against
/// 100 Gb/s and other hardware against nothing.
RdmaFinding judge_half_bandwidth(double gbps, const RdmaPath& path, std::optional<double> wanted);

/// What all halves carry at once; `best_half` is the most that one of them did alone.
RdmaFinding judge_bandwidth_at_once(double gbps, double best_half, const RdmaPath& path, std::optional<double> wanted);

/// Half a round trip, in microseconds.
RdmaFinding judge_latency(double typical_us, const RdmaPath& path);

/// What a port sent, in bytes, while `payload` was written over it, which with headers is `expected`.
RdmaFinding judge_counted_bytes(double counted, double payload, double expected);

/// Why a measurement could not be made. `step` as to_string(RdmaStep); `status` as rdma_completion_status_of().
std::string_view rdma_failure_row(std::string_view step, const Error& error, std::optional<int> status);

}  // namespace sparkplan
