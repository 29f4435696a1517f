#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// The RDMA device of one half of one node, as far as it can be used.
struct RdmaHalf {
  Check check;                              ///< rdma/NODE/HALF
  const RdmaDeviceFacts* device = nullptr;  ///< Into the facts; null unless `check` is neither fail nor skip.
  const RdmaPortFacts* port = nullptr;      ///< Of it.
};

/// Pure. By node, then by half: is there a device, is its port active, has it the GID of the half's address,
/// and is it connected as a Spark's should be? A device that no node has is no failure, unless it is a Spark's.
std::vector<std::vector<RdmaHalf>> rdma_halves(const VerifyContext& context);

/// Pure. True for the GID that RoCE v2 gives the IPv4 address. The other node writes to that place: a node may name
/// its own address and no other. Source: RFC 4291, 2.5.5.2.
bool is_gid_of(const std::string& gid, const std::string& address);

}  // namespace sparkplan
