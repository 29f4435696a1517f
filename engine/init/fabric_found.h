#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/init/cluster_draft.h"
#include "engine/init/members.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/model/manifest.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// A fabric interface as it is now, or as sparkplan last applied it.
struct FoundInterface {
  std::string name;
  std::string address;  ///< "192.168.100.11/24"; empty if it has none.
  bool link_local = false;
  std::optional<int> mtu;  ///< Nothing: not managed.

  bool operator==(const FoundInterface&) const = default;
};

/// The fabric of one member, half A of each port first.
struct FoundFabric {
  std::vector<FoundInterface> interfaces;  ///< Empty: nothing is configured.
  Value others;                            ///< The node's `interfaces`, which are no part of it; null: none.
  bool managed = false;                    ///< According to the node's manifest, not to the kernel.
  bool took_over = false;                  ///< Foreign definitions were emptied for it.
};

/// The QSFP port of an interface, 0 or 1; nothing for other interfaces, also of adapters with more ports.
std::optional<int> spark_port_of(const LinkFacts& link);

/// Interfaces that may belong to a fabric: those of QSFP ports and those with RDMA devices. Interfaces that carry our
/// connection are left out. Interfaces in a bond or a bridge are included only if `held`. By port, half A first.
std::vector<const LinkFacts*> fabric_links(const Facts& facts, bool held = false);

/// Pure. Empty for a member that was not read.
FoundFabric found_fabric(const Member& member, const Registry& registry);

/// Pure. The fabric of each member. A manifest without a fabric may say that its machine has none. But if the manifests
/// may not decide for all machines, the machine's facts count, as for a new one: Members::decides_for_all().
std::vector<FoundFabric> found_fabrics(const Members& members, const Registry& registry);

/// The names of the interfaces in FoundFabric::others.
std::set<std::string> names_of_others(const FoundFabric& found);

/// The values that were last applied for one type, by resource name.
std::map<std::string, Value> applied_of(const Manifest& manifest, const std::string& type);

/// Pure. IPv4 addresses that answered these machines on their fabric and belong to none of the machines.
/// At most 256 of each machine.
std::vector<std::string> fabric_neighbours(const std::vector<InitMachine>& machines);

/// Pure. The cluster of a file with these members and this `fabric`; nothing if that file is not valid.
std::optional<Cluster> cluster_with_fabric(const Members& members, const Value& section, const Registry& registry);

/// Pure. The interfaces that the file derives for a node; nothing if one of them cannot be derived.
std::optional<std::vector<FoundInterface>> derived_interfaces(const NodeSpec& node, const Facts& facts);

/// The warning that the drafted file has no fabric.
Diagnostic no_fabric_remark(const std::string& why);

}  // namespace sparkplan
