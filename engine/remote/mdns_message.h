#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan {

/// A machine that offers a service in its own network.
struct AnnouncedHost {
  std::string name;                    ///< "spark-1a2b.local"
  std::vector<std::string> addresses;  ///< IPv4, as it announces them.
  int port = 22;

  bool operator==(const AnnouncedHost&) const = default;
};

/// A question of multicast DNS: who offers `service` ("_ssh._tcp.local")? Asked from a port of our own, so that the
/// answers come to us alone. Source: RFC 6762, section 6.7; RFC 1035, section 4.1.
std::string encode_mdns_query(std::string_view service);

/// Pure. The hosts that one answer names for `service`; a name whose address is missing has none. What a machine in
/// the network sends is taken for anything: no text of it is longer than a name may be, and none has control
/// characters. Errors: kInvalidInput for what is no message.
Result<std::vector<AnnouncedHost>> decode_mdns_answer(std::string_view message, std::string_view service);

/// Pure. The hosts in what `avahi-browse --parsable --resolve` prints.
std::vector<AnnouncedHost> hosts_in_avahi_output(std::string_view text);

/// The same hosts, each once, with all their addresses; those without any left out.
std::vector<AnnouncedHost> merged(const std::vector<AnnouncedHost>& hosts);

}  // namespace sparkplan
