#pragma once

#include <vector>

#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// What files say of each interface: who manages it, NetworkManager's profile on it, how often its carrier has
/// changed, its PCIe link. Absent files leave a field empty.
/// Source: /sys/class/net, /run/systemd/netif/links, /run/NetworkManager/devices.
void read_link_details(const NodeReader& node, std::vector<LinkFacts>& links);

/// Who configures the network here: renderers that run, profiles of NetworkManager's, files that netplan merges.
/// What cannot be read is told in HostFacts::unreadable.
void read_network_configuration(const NodeReader& node, HostFacts& facts);

/// Pure. Source: nm-settings-keyfile(5).
NetworkProfile network_profile_in(const std::string& file, std::string_view text);

}  // namespace sparkplan
