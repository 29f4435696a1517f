#include "engine/model/ipv4.h"

#include <charconv>

namespace sparkplan {

std::optional<std::uint32_t> ipv4_number(const std::string& address) {
  std::uint32_t number = 0;
  const char* at = address.data();
  const char* const end = at + address.size();
  for (int i = 0; i < 4; ++i) {
    unsigned part = 0;
    const auto parsed = std::from_chars(at, end, part);
    if (parsed.ec != std::errc() || part > 255) return std::nullopt;
    number = number << 8U | part;
    at = parsed.ptr;
    if (i < 3 && (at == end || *at++ != '.')) return std::nullopt;
  }
  return at == end ? std::optional(number) : std::nullopt;
}

bool in_one_network(const std::string& one, const std::string& other, int prefix_length) {
  const auto a = ipv4_number(one);
  const auto b = ipv4_number(other);
  if (!a || !b || prefix_length < 1 || prefix_length > 32) return false;
  const auto mask = ~std::uint32_t{0} << static_cast<unsigned>(32 - prefix_length);
  return (*a & mask) == (*b & mask);
}

}  // namespace sparkplan
