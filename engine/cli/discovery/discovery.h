#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/cli/discovery/host_argument.h"
#include "engine/cli/input/options.h"
#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/init/cluster_draft.h"
#include "engine/remote/discovery/mdns_message.h"

namespace sparkplan {

/// "10.0.0.11, or 10.0.0.12": what the user gave or would give for a machine, and its other addresses. Any machine of
/// the network can announce an address for the name of another one, so the user sees all that may be contacted.
std::string shown_place(const std::string& given, const std::vector<std::string>& addresses);

/// The first address that answers; if none answers, the first of the list. A single address is not tried.
std::string first_that_answers(const std::vector<std::string>& addresses,
                               const std::function<bool(const std::string& address)>& answers);

/// Pure. `hosts` without those that have a name in `known`, without the addresses in `known`, and without hosts that
/// have no other address. Only an address is dropped: any machine can announce it for the name of another one.
std::vector<AnnouncedHost> hosts_besides(const std::set<std::string>& known, std::vector<AnnouncedHost> hosts);

/// Pure. The addresses of each host that no other one announces come first. So a machine that announces its own address
/// for the name of another one does not take that one's place.
std::vector<AnnouncedHost> own_addresses_first(std::vector<AnnouncedHost> hosts);

/// Pure. The first host of each address and port. One address may be announced under several names. `others` gets the
/// positions of the hosts that are left out: all else of two hosts can be equal.
std::vector<HostArgument> each_place_once(const std::vector<HostArgument>& hosts, std::vector<std::size_t>& others);

/// Machines that announce SSH in the networks of the controller, without those in `known`. The user has agreed to read
/// them. Each machine has an address at which it answers. Nothing without a terminal or without the user's agreement;
/// the reason has been printed.
std::optional<std::vector<HostArgument>> discover(const std::vector<HostArgument>& known, const GlobalOptions& global,
                                                  const Interrupts& interrupts, Console& console);

/// Like discover(), for machines that answered the read machines on their fabric. Without a terminal they are listed,
/// and none is contacted.
std::vector<HostArgument> discover_neighbours(const std::vector<InitMachine>& machines, const Interrupts& interrupts,
                                              Console& console);

}  // namespace sparkplan
