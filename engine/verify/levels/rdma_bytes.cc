#include "engine/verify/levels/rdma_bytes.h"

#include <algorithm>

namespace sparkplan {

std::int64_t roce_bytes(std::int64_t messages, std::int64_t message_bytes, std::int64_t mtu) {
  constexpr std::int64_t kEthernet = 14;
  constexpr std::int64_t kIp = 20;
  constexpr std::int64_t kUdp = 8;
  constexpr std::int64_t kBaseTransport = 12;
  constexpr std::int64_t kRdmaExtended = 16;  // In the first packet of a write.
  constexpr std::int64_t kCheckSum = 4;
  constexpr std::int64_t kWord = 4;  // Payload is filled up to whole words.
  if (mtu <= 0) return 0;
  const auto packets = std::max<std::int64_t>(1, (message_bytes + mtu - 1) / mtu);
  const auto filled = (message_bytes + kWord - 1) / kWord * kWord;
  const auto per_packet = kEthernet + kIp + kUdp + kBaseTransport + kCheckSum;
  return messages * (filled + packets * per_packet + kRdmaExtended);
}

}  // namespace sparkplan
