#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/verify/verify_context.h"
#include "engine/wire/rdma_messages.h"

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
/// Except on a Spark, the lack of a device is a failure only if at least half of the nodes report one; it names them.
std::vector<std::vector<RdmaHalf>> rdma_halves(const VerifyContext& context);

/// Pure. The bytes on the wire of RDMA writes between two ends. The MTU is the one that the queue pairs use: an end may
/// name a small one, and then both send more headers. Source: mtu_of() in engine/agent/kernel/rdma_end.cc.
std::int64_t bytes_on_wire(std::int64_t messages, std::int64_t message_bytes, const RdmaEndpoint& one,
                           const RdmaEndpoint& other);

/// Pure. True for the GID that RoCE v2 derives from the IPv4 address. The other node writes to that address, so a node
/// may name only its own address. Source: RFC 4291, 2.5.5.2.
bool is_gid_of(const std::string& gid, const std::string& address);

/// Pure. Where the other node would write: over Ethernet (`routed`) to the GID of `address`; on InfiniBand without a
/// GID, to one port. `other`: the endpoint of the pair's other node, if it is open.
/// Errors: kFailed (another GID, a GID on InfiniBand, a LID of no single port or of both nodes).
Result<void> check_endpoint(const RdmaEndpoint& endpoint, bool routed, const std::string& address,
                            const std::optional<RdmaEndpoint>& other);

}  // namespace sparkplan
