#include "engine/agent/measure/echo_packet.h"

#include <arpa/inet.h>
#include <netinet/ip_icmp.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "engine/agent/measure/fabric_socket.h"

namespace sparkplan {
namespace {

constexpr std::size_t kEchoHeader = sizeof(icmphdr);

/// Source: RFC 1071.
std::uint16_t internet_checksum(const std::vector<unsigned char>& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const std::uint32_t low = i + 1 < bytes.size() ? bytes[i + 1] : 0U;
    sum += (static_cast<std::uint32_t>(bytes[i]) << 8U) + low;
  }
  while ((sum >> 16U) != 0) sum = (sum & 0xffffU) + (sum >> 16U);
  return static_cast<std::uint16_t>(~sum);
}

bool fill_randomly(void* bytes, std::size_t size) { return ::getrandom(bytes, size, 0) == static_cast<ssize_t>(size); }

}  // namespace

std::optional<EchoMark> new_echo_mark(std::uint16_t sequence) {
  EchoMark mark;
  mark.sequence = sequence;
  if (!fill_randomly(&mark.id, sizeof mark.id) || !fill_randomly(mark.token.data(), mark.token.size())) {
    return std::nullopt;
  }
  return mark;
}

std::vector<unsigned char> echo_request(const EchoMark& mark, std::size_t bytes) {
  const std::size_t least = kIpHeaderBytes + kEchoHeader + mark.token.size();
  std::vector<unsigned char> message(std::max(bytes, least) - kIpHeaderBytes);
  std::copy(mark.token.begin(), mark.token.end(), message.begin() + kEchoHeader);
  icmphdr header{};
  header.type = ICMP_ECHO;
  header.un.echo.id = htons(mark.id);
  header.un.echo.sequence = htons(mark.sequence);
  std::memcpy(message.data(), &header, kEchoHeader);
  header.checksum = htons(internet_checksum(message));
  std::memcpy(message.data(), &header, kEchoHeader);
  return message;
}

bool is_echo_reply(std::span<const unsigned char> packet, const EchoMark& mark) {
  if (packet.size() < kIpHeaderBytes) return false;
  // The length of the IP header is in words of four bytes.
  const std::size_t begin = (packet[0] & 0x0fU) * std::size_t{4};
  if (packet.size() < begin + kEchoHeader + mark.token.size()) return false;
  icmphdr header{};
  std::memcpy(&header, packet.data() + begin, kEchoHeader);
  return header.type == ICMP_ECHOREPLY && header.un.echo.id == htons(mark.id) &&
         header.un.echo.sequence == htons(mark.sequence) &&
         std::equal(mark.token.begin(), mark.token.end(),
                    packet.begin() + static_cast<std::ptrdiff_t>(begin + kEchoHeader));
}

}  // namespace sparkplan
