#pragma once

#include <cstdint>

namespace sparkplan {

/// Pure. Bytes of the Ethernet frames that carry `messages` RDMA writes of `message_bytes` each over RoCE v2 and
/// IPv4, in packets of at most `mtu` bytes of payload: headers and check sums of RDMA, UDP, IP and Ethernet with
/// them, but not Ethernet's own check sum, preamble and gap. Acknowledgements go the other way.
/// Source: InfiniBand Architecture Specification, volume 1, annex 17 (RoCEv2).
std::int64_t roce_bytes(std::int64_t messages, std::int64_t message_bytes, std::int64_t mtu);

}  // namespace sparkplan
