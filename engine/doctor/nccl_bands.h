#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/doctor/judgement.h"

namespace sparkplan {

/// The bus bandwidth that NVIDIA's own set-up demands of two Sparks, or of more Sparks at a switch, in GB/s. It is 175
/// Gb/s of a port's 200. Source: NVIDIA dgx-spark-playbooks, spark_cluster_setup.py, MIN_NCCL_TEST_BW.
inline constexpr double kSparkBusBandwidth = 21.875;
/// For three or more in a ring: each neighbour has one cable, with half of the traffic.
inline constexpr double kSparkRingBusBandwidth = 10;
/// Most rings of Sparks reach it. Less, down to the threshold, gets a remark.
inline constexpr double kUsualRingBusBandwidth = 13.5;
/// The smallest message that these values are for, in bytes. Smaller ones are slower by nature.
inline constexpr std::int64_t kJudgedNcclBytes = std::int64_t{1} << 30;

/// A measurement over the network, and facts about it.
struct NcclSeen {
  double bus_bandwidth = 0;         ///< GB/s
  std::optional<double> threshold;  ///< GB/s; nothing if no value is expected.
  bool over_sockets = false;        ///< NCCL's log says TCP.
  std::size_t hcas_wanted = 0;      ///< RDMA devices that NCCL is configured to use.
  std::size_t hcas_used = 0;        ///< RDMA devices in its log; 0 if the log names none.
  bool rdma_passed = false;         ///< RDMA between the same nodes reached its bandwidth in this run.
};

/// Pure. Bands below the threshold are those of a Spark, scaled to the threshold.
Judgement judge_nccl_bandwidth(const NcclSeen& seen);

/// Pure. The least bus bandwidth below the threshold that is a warning, and not a failure.
double nccl_warning_from(double threshold);

/// Pure. Known problems of a version (22809 is 2.28.9) on a Spark.
Judgement judge_nccl_version(int version, bool spark, bool ring);

}  // namespace sparkplan
