#include "resources/ssh_trust/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "engine/core/text.h"
#include "engine/model/address.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr const char* kIpv6Addresses = "/proc/self/net/if_inet6";
constexpr unsigned kTemporary = 0x01;  ///< IFA_F_TEMPORARY

template <typename Address>
std::string text_of(int family, const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(family, &address, buffer.data(), buffer.size());
  return buffer.data();
}

/// A line is "fd000000000000000000000000000011 02 40 00 80 eth0": address, index, prefix length, scope, flags. Source:
/// proc_pid_net(5), if_inet6.
std::set<std::string> lasting_ipv6_addresses(const NodeReader& node) {
  std::set<std::string> found;
  const Result<std::string> table = node.read_file(kIpv6Addresses);
  if (!table) return found;
  for (const std::string_view line : split_lines(*table)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 5 || words[0].size() != 32) continue;
    unsigned flags = kTemporary;
    std::from_chars(words[4].data(), words[4].data() + words[4].size(), flags, 16);
    if ((flags & kTemporary) != 0) continue;
    std::string address;
    for (std::size_t i = 0; i < words[0].size(); i += 4) {
      address += (i == 0 ? "" : ":") + words[0].substr(i, 4);
    }
    if (const auto canonical = canonical_ip(address)) found.insert(*canonical);
  }
  return found;
}

}  // namespace

std::optional<std::string> canonical_ip(std::string_view address) {
  const std::string text(address);
  if (text.find('\0') != std::string::npos) return std::nullopt;  // A NUL would end the text early.
  in_addr ipv4{};
  if (inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return text;  // inet_pton() accepts only one spelling.
  in6_addr ipv6{};
  if (inet_pton(AF_INET6, text.c_str(), &ipv6) != 1) return std::nullopt;
  if (!IN6_IS_ADDR_V4MAPPED(&ipv6)) return text_of(AF_INET6, ipv6);
  std::copy(ipv6.s6_addr + 12, ipv6.s6_addr + 16, reinterpret_cast<unsigned char*>(&ipv4));
  return text_of(AF_INET, ipv4);
}

bool has_zone(std::string_view address) { return address.find('%') != std::string_view::npos; }

bool is_global_unicast(const std::string& canonical) {
  in_addr ipv4{};
  if (inet_pton(AF_INET, canonical.c_str(), &ipv4) == 1) {
    const std::uint32_t bits = ntohl(ipv4.s_addr);
    const std::uint32_t first = bits >> 24U;
    return first != 0 && first != 127 && first < 224 && bits >> 16U != 0xA9FEU;
  }
  in6_addr ipv6{};
  return inet_pton(AF_INET6, canonical.c_str(), &ipv6) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&ipv6) &&
         !IN6_IS_ADDR_LOOPBACK(&ipv6) && !IN6_IS_ADDR_LINKLOCAL(&ipv6) && !IN6_IS_ADDR_MULTICAST(&ipv6);
}

std::set<std::string> own_addresses(const NodeReader& node) {
  const std::string connection = node.connection_address();
  const auto zone = connection.find('%');
  const auto its_end = canonical_ip(std::string_view(connection).substr(0, zone));
  const Result<std::vector<LinkFacts>> links = node.links();
  if (!its_end || !links) return {};
  const std::set<std::string> lasting = lasting_ipv6_addresses(node);
  for (const LinkFacts& link : *links) {
    // Every interface may have the same link-local address; the zone identifies the interface.
    if (zone != std::string::npos && link.name != connection.substr(zone + 1)) continue;
    std::set<std::string> found;
    bool is_the_one = false;
    for (const std::string& text : link.addresses) {
      const auto address = canonical_ip(std::string_view(text).substr(0, text.find('/')));
      if (!address) continue;
      is_the_one = is_the_one || address == its_end;
      const bool lasts = !is_version_6(*address) || lasting.contains(*address);
      if (lasts && is_global_unicast(*address)) found.insert(*address);
    }
    if (is_the_one) return found;
  }
  return {};
}

std::set<std::string> most_useful_addresses(const NodeReader& node, std::size_t most) {
  std::set<std::string> all = own_addresses(node);
  if (all.size() <= most) return all;
  const std::string connection = node.connection_address();
  const auto its_end = canonical_ip(std::string_view(connection).substr(0, connection.find('%')));
  std::set<std::string> found;
  if (its_end && all.contains(*its_end) && most > 0) found.insert(*its_end);
  for (const std::string& address : all) {
    if (found.size() == most) break;
    found.insert(address);
  }
  return found;
}

}  // namespace sparkplan::ssh_trust
