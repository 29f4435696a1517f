#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sparkplan {

/// The answer to one ICMP echo must repeat these values. A machine that did not receive the request cannot know it.
struct EchoMark {
  std::uint16_t id = 0;
  std::uint16_t sequence = 0;
  std::array<unsigned char, 16> token{};
};

/// I/O. Random, but for the sequence. Nothing without a random source.
std::optional<EchoMark> new_echo_mark(std::uint16_t sequence);

/// Pure. The ICMP message of a request whose packet has `bytes` with the IP header, or more if the token needs them.
std::vector<unsigned char> echo_request(const EchoMark& mark, std::size_t bytes);

/// Pure. True if the packet, from its IP header on, is the reply to the request. The packet may be cut.
bool is_echo_reply(std::span<const unsigned char> packet, const EchoMark& mark);

}  // namespace sparkplan
