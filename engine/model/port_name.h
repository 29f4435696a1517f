#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/model/facts.h"

/// Names of interfaces on QSFP ports. On a DGX Spark each port is two interfaces, its halves: enp1s0f1np1 is half A of
/// port 1, and enP2p1s0f1np1 (PCI domain 2) is half B. Everything here is pure.
namespace sparkplan {

inline constexpr int kHalvesOfAPort = 2;

/// 1 for "enp1s0f1np1": the number after the last "np"; nothing for other names.
std::optional<int> port_in_name(std::string_view interface);

/// 0 for "enp1s0f1np1", 1 for "enP2p1s0f1np1"; nothing for other names.
std::optional<int> half_in_name(std::string_view interface);

/// The QSFP port of an interface: by phys_port_name, otherwise by its name. Nothing for other interfaces, and for those
/// on top of another one, such as a bond or a VLAN.
std::optional<int> port_of(const LinkFacts& link);

/// The QSFP port of a half of the node's fabric whose interface is known only from the facts. direct and switch: the
/// node's `port`. dual-cable: the place of its cable in `ports`, else port 0 for the first cable and 1 for the second.
/// ring: the halves are numbered from port 0.
int port_of_half(const NodeSpec& node, int half);

/// For sorting the halves of one port: half A has the lower PCI address. Without PCI addresses, "enp..." comes before
/// "enP2p...".
std::tuple<std::string, bool, std::string> order_in_port(const LinkFacts& link);

/// The name that DGX OS gives the half of a DGX Spark's port.
std::string spark_interface(int port, int half);

/// "roceP2p1s0f1" for "enP2p1s0f1np1": the RDMA devices of such an interface; none for other names.
std::vector<std::string> spark_hcas(const std::string& interface);

}  // namespace sparkplan
