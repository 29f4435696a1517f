#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// The RDMA device of one half of one node, as far as it can be used.
struct RdmaHalf {
  Check check;                              ///< rdma/NODE/HALF
  const RdmaDeviceFacts* device = nullptr;  ///< Into the facts; null unless `check` is neither fail nor skip.
  const RdmaPortFacts* port = nullptr;      ///< A port of `device`.
};

/// Pure. By node, then by half. Each check covers:
/// - a device exists and its port is active;
/// - the port has the GID of the half's address;
/// - on a Spark, the PCIe lanes and the link speed are complete.
/// A device that no node has is no failure, except on a Spark.
std::vector<std::vector<RdmaHalf>> rdma_halves(const VerifyContext& context);

/// Pure. True for the GID that RoCE v2 derives from the IPv4 address. The other node writes to that address, so a node
/// may name only its own address. Source: RFC 4291, 2.5.5.2.
bool is_gid_of(const std::string& gid, const std::string& address);

}  // namespace sparkplan
