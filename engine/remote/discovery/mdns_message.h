#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan {

/// A machine that offers a service in its own network.
struct AnnouncedHost {
  std::string name;                    ///< "spark-1a2b.local"
  std::vector<std::string> addresses;  ///< IPv4, as the machine announces them.
  int port = 22;

  bool operator==(const AnnouncedHost&) const = default;
};

/// Any machine of the network can announce any number of hosts. Each is shown to the user, and each of its addresses
/// may be tried.
inline constexpr std::size_t kMostAnnouncedHosts = 256;
inline constexpr std::size_t kMostAnnouncedAddresses = 16;  ///< Of one host.

/// A multicast DNS query for the hosts that offer `service` ("_ssh._tcp.local"). It is sent from our own port, so that
/// answers are unicast to us. Source: RFC 6762, section 6.7; RFC 1035, section 4.1.
std::string encode_mdns_query(std::string_view service);

/// Pure. The hosts that one answer names for `service`; a host without an address record has no addresses. Any machine
/// of the network may have sent the message. So no text of the result is longer than a name or has control characters,
/// and a host has at most kMostAnnouncedAddresses.
/// Errors: kInvalidInput for an invalid message.
Result<std::vector<AnnouncedHost>> decode_mdns_answer(std::string_view message, std::string_view service);

/// Pure. The hosts in the output of `avahi-browse --parsable --resolve`.
std::vector<AnnouncedHost> hosts_in_avahi_output(std::string_view text);

/// Pure. `hosts` with each host once, by name, with all its addresses; hosts without an address are left out. At most
/// kMostAnnouncedHosts, each with at most kMostAnnouncedAddresses.
std::vector<AnnouncedHost> merged(const std::vector<AnnouncedHost>& hosts);

}  // namespace sparkplan
