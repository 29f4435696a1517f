#include "engine/model/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/core/ascii.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestHostName = 253;
constexpr std::size_t kLongestLabel = 63;

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

bool is_host_address(Ipv4 address) {
  const std::uint32_t first = address.bits >> 24;
  return first != 0 && first != 127 && first < 224;
}

bool is_ipv6(std::string_view text) {
  const auto percent = text.find('%');
  if (percent != std::string_view::npos) {
    const auto zone = text.substr(percent + 1);
    if (zone.empty() || zone.size() > 15 ||
        !std::ranges::all_of(zone, [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; })) {
      return false;
    }
  }
  // A NUL would end the text early.
  return text.find('\0') == std::string_view::npos && parse_ipv6(text.substr(0, percent)).has_value();
}

bool is_ip_address(std::string_view text) { return parse_ipv4(text) || is_ipv6(text); }

std::string bracketed(const std::string& address) { return is_version_6(address) ? "[" + address + "]" : address; }

bool is_host_name(std::string_view text) {
  if (!text.empty() && text.back() == '.') text.remove_suffix(1);
  if (text.empty() || text.size() > kLongestHostName) return false;
  const auto labels = split(text, '.');
  if (!std::all_of(labels.begin(), labels.end(), is_label)) return false;
  // A last label of digits only is likely a mistyped IPv4 address; no top-level domain has that form.
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
