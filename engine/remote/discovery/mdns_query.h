#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/remote/discovery/mdns_message.h"

namespace sparkplan {

/// The destination of a query, and the interface it is sent from.
struct MdnsDestination {
  std::string address = "224.0.0.251";
  std::uint16_t port = 5353;
  std::string from;        ///< Our address on the queried network.
  int prefix_length = 32;  ///< Of that network.
};

/// One for each network of this machine, except loopback and point-to-point links.
std::vector<MdnsDestination> mdns_destinations();

/// Pure. The addresses that are in one of the networks, in their order.
std::vector<std::string> within_networks(const std::vector<std::string>& addresses,
                                         const std::vector<MdnsDestination>& networks);

/// Pure. The hosts, each with its addresses in one of our networks that are not ours. Hosts without such an address are
/// left out. Any machine can announce one of our addresses for the name of another machine, and must not hide it so.
std::vector<AnnouncedHost> other_hosts(std::vector<AnnouncedHost> hosts, const std::vector<MdnsDestination>& ours);

/// The machines that find_ssh_hosts() knows of.
struct SshHosts {
  std::vector<AnnouncedHost> hosts;
  bool cut = false;  ///< More hosts, or more addresses of a host, may have been announced than merged() keeps.
};

/// Pure. True if merged() may have left something out.
bool may_be_cut(const std::vector<AnnouncedHost>& merged);

/// Sends the query and collects answers until `patience` is over. Errors: kFailed when no query can be sent.
Result<std::vector<AnnouncedHost>> ask_mdns(const std::vector<MdnsDestination>& destinations,
                                            std::chrono::milliseconds patience, const std::stop_token& stop);

/// The other machines that offer SSH in this machine's networks, with their addresses in these networks. Uses
/// avahi-browse if it is installed, else our own query. Errors: kFailed, kInterrupted.
Result<SshHosts> find_ssh_hosts(const std::stop_token& stop);

}  // namespace sparkplan
