#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/remote/mdns_message.h"

namespace sparkplan {

/// Where a question goes, and how it leaves.
struct MdnsDestination {
  std::string address = "224.0.0.251";
  std::uint16_t port = 5353;
  std::string from;        ///< Our address on the network it is asked in.
  int prefix_length = 32;  ///< Of that network.
};

/// One for each network that this machine is in; none of loopback's or of point-to-point links.
std::vector<MdnsDestination> mdns_destinations();

/// Pure. Those of the addresses that are in one of the networks, in their order.
std::vector<std::string> within_networks(const std::vector<std::string>& addresses,
                                         const std::vector<MdnsDestination>& networks);

/// Asks, and gathers answers until `patience` is over. Errors: kFailed when nothing can be sent.
Result<std::vector<AnnouncedHost>> ask_mdns(const std::vector<MdnsDestination>& destinations,
                                            std::chrono::milliseconds patience, const std::stop_token& stop);

/// The machines that offer SSH in the networks this machine is in, without itself, with those of their addresses that
/// are in these networks: by avahi-browse where that is installed, else by a question of our own. Errors: kFailed,
/// kInterrupted.
Result<std::vector<AnnouncedHost>> find_ssh_hosts(const std::stop_token& stop);

}  // namespace sparkplan
