#include "engine/model/ipv4.h"

#include <algorithm>
#include <charconv>

namespace sparkplan {
namespace {

constexpr int kBits = 32;

std::uint32_t mask_of(int prefix_length) {
  return prefix_length == 0 ? 0 : ~std::uint32_t{0} << static_cast<unsigned>(kBits - prefix_length);
}

// Digits only, no leading zero: inet_aton(3) would read "010" as octal.
std::optional<std::uint32_t> parse_small_number(std::string_view text, std::uint32_t largest) {
  std::uint32_t number = 0;
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stopped != text.data() + text.size() || number > largest) return std::nullopt;
  return number;
}

}  // namespace

std::string Ipv4::str() const {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += std::to_string((bits >> static_cast<unsigned>(shift)) & 0xFF);
    if (shift > 0) text += '.';
  }
  return text;
}

bool Ipv4Network::contains(Ipv4 address) const { return (address.bits & mask_of(prefix_length)) == base.bits; }

bool Ipv4Network::contains(const Ipv4Network& other) const {
  return prefix_length <= other.prefix_length && contains(other.base);
}

bool Ipv4Network::overlaps(const Ipv4Network& other) const {
  return prefix_length <= other.prefix_length ? contains(other.base) : other.contains(base);
}

Ipv4 Ipv4Network::broadcast() const { return {base.bits | ~mask_of(prefix_length)}; }

std::string Ipv4Network::str() const { return base.str() + "/" + std::to_string(prefix_length); }

Ipv4Network Ipv4Interface::network() const { return {{address.bits & mask_of(prefix_length)}, prefix_length}; }

std::optional<Ipv4> parse_ipv4(std::string_view text) {
  Ipv4 address;
  for (int i = 0; i < 4; ++i) {
    const auto dot = i < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return std::nullopt;
    const auto number = parse_small_number(text.substr(0, dot), 255);
    if (!number) return std::nullopt;
    address.bits = (address.bits << 8) | *number;
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return address;
}

std::optional<Ipv4Interface> parse_ipv4_interface(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_ipv4(text.substr(0, slash));
  const auto prefix_length = parse_small_number(text.substr(slash + 1), kBits);
  if (!address || !prefix_length) return std::nullopt;
  return Ipv4Interface{*address, static_cast<int>(*prefix_length)};
}

std::optional<Ipv4Network> parse_ipv4_network(std::string_view text) {
  if (const auto address = parse_ipv4(text)) return Ipv4Network{*address, kBits};
  const auto with_length = parse_ipv4_interface(text);
  return with_length ? std::optional(with_length->network()) : std::nullopt;
}

std::optional<std::uint32_t> ipv4_number(std::string_view address) {
  const auto parsed = parse_ipv4(address);
  return parsed ? std::optional(parsed->bits) : std::nullopt;
}

bool in_one_network(std::string_view one, std::string_view other, int prefix_length) {
  const auto a = parse_ipv4(one);
  const auto b = parse_ipv4(other);
  if (!a || !b || prefix_length < 1 || prefix_length > kBits) return false;
  return Ipv4Interface{*a, prefix_length}.network().contains(*b);
}

}  // namespace sparkplan
