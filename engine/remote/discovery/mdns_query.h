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

/// Sends the query and collects answers until `patience` is over. Errors: kFailed when no query can be sent.
Result<std::vector<AnnouncedHost>> ask_mdns(const std::vector<MdnsDestination>& destinations,
                                            std::chrono::milliseconds patience, const std::stop_token& stop);

/// The other machines that offer SSH in this machine's networks, with their addresses in these networks. Uses
/// avahi-browse if it is installed, else our own query. Errors: kFailed, kInterrupted.
Result<std::vector<AnnouncedHost>> find_ssh_hosts(const std::stop_token& stop);

}  // namespace sparkplan
