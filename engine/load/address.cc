#include "engine/load/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestHostName = 253;
constexpr std::size_t kLongestLabel = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::uint32_t mask_of(int prefix_length) { return prefix_length == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix_length); }

// Digits only, no leading zero: inet_aton(3) would read "010" as octal.
std::optional<std::uint32_t> parse_small_number(std::string_view text, std::uint32_t largest) {
  std::uint32_t number = 0;
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stopped != text.data() + text.size() || number > largest) return std::nullopt;
  return number;
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kLongestLabel && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
}

std::optional<in6_addr> parse_ipv6(std::string_view text) {
  in6_addr address{};
  if (inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) return std::nullopt;
  return address;
}

}  // namespace

std::string Ipv4::str() const {
  return std::to_string(bits >> 24) + "." + std::to_string((bits >> 16) & 0xFF) + "." +
         std::to_string((bits >> 8) & 0xFF) + "." + std::to_string(bits & 0xFF);
}

bool Ipv4Network::contains(Ipv4 address) const { return (address.bits & mask_of(prefix_length)) == base.bits; }

bool Ipv4Network::overlaps(const Ipv4Network& other) const {
  return prefix_length <= other.prefix_length ? contains(other.base) : other.contains(base);
}

Ipv4 Ipv4Network::broadcast() const { return {base.bits | ~mask_of(prefix_length)}; }

std::string Ipv4Network::str() const { return base.str() + "/" + std::to_string(prefix_length); }

Ipv4Network Ipv4Interface::network() const { return {{address.bits & mask_of(prefix_length)}, prefix_length}; }

std::optional<Ipv4> parse_ipv4(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  Ipv4 address;
  for (const auto part : parts) {
    const auto number = parse_small_number(part, 255);
    if (!number) return std::nullopt;
    address.bits = (address.bits << 8) | *number;
  }
  return address;
}

std::optional<Ipv4Interface> parse_ipv4_interface(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_ipv4(text.substr(0, slash));
  const auto prefix_length = parse_small_number(text.substr(slash + 1), 32);
  if (!address || !prefix_length) return std::nullopt;
  return Ipv4Interface{*address, static_cast<int>(*prefix_length)};
}

bool is_host_address(Ipv4 address) {
  const std::uint32_t first = address.bits >> 24;
  return first != 0 && first != 127 && first < 224;
}

bool is_ipv6(std::string_view text) {
  const auto percent = text.find('%');
  if (percent != std::string_view::npos) {
    const auto zone = text.substr(percent + 1);
    if (zone.empty() || zone.size() > 15 || !std::all_of(zone.begin(), zone.end(), [](char c) {
          return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
        })) {
      return false;
    }
  }
  // A NUL inside would end the text early.
  return text.find('\0') == std::string_view::npos && parse_ipv6(text.substr(0, percent)).has_value();
}

bool is_host_name(std::string_view text) {
  if (!text.empty() && text.back() == '.') text.remove_suffix(1);
  if (text.empty() || text.size() > kLongestHostName) return false;
  const auto labels = split(text, '.');
  if (!std::all_of(labels.begin(), labels.end(), is_label)) return false;
  // A last label of digits only is what a mistyped IPv4 address looks like; no top-level domain is one.
  return !std::all_of(labels.back().begin(), labels.back().end(), is_digit);
}

std::string canonical_address(std::string_view text) {
  const auto percent = text.find('%');
  if (const auto address = parse_ipv6(text.substr(0, percent))) {
    std::array<char, INET6_ADDRSTRLEN> buffer{};
    inet_ntop(AF_INET6, &*address, buffer.data(), buffer.size());
    return std::string(buffer.data()) + std::string(percent == std::string_view::npos ? "" : text.substr(percent));
  }
  if (text.ends_with('.')) text.remove_suffix(1);
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

}  // namespace sparkplan
