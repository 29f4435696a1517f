#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/init/members.h"
#include "engine/model/facts.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// A fabric interface as it is now, or as sparkplan has last applied it.
struct FoundInterface {
  std::string name;
  std::string address;  ///< "192.168.100.11/24"; empty where it has none.
  bool link_local = false;
  std::optional<int> mtu;  ///< Nothing: nobody manages it.

  bool operator==(const FoundInterface&) const = default;
};

/// The fabric of one member, half A of each port first.
struct FoundFabric {
  std::vector<FoundInterface> interfaces;  ///< Empty: nothing is configured.
  bool managed = false;                    ///< By the node's manifest, not by what the kernel shows.
  bool took_over = false;                  ///< Definitions of somebody else's were emptied for it.
};

/// The QSFP port of an interface by phys_port_name, else by the end of its name; nothing for others.
std::optional<int> port_of(const LinkFacts& link);

/// Interfaces that may be of a fabric: those of QSFP ports and those with RDMA devices, without what carries our
/// connection; those that a bond or a bridge holds only where `held` asks for them. By port, half A first.
std::vector<const LinkFacts*> fabric_links(const Facts& facts, bool held = false);

/// Pure. Of a member that was not read, nothing.
FoundFabric found_fabric(const Member& member, const Registry& registry);

}  // namespace sparkplan
