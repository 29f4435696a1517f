#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/facts.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/resource/resource_type.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/refusals.h"

/// How definitions in foreign files are treated if they are for an interface that sparkplan manages.
namespace sparkplan::netplan {

/// The field of a resource with the foreign definitions of the interface; the desired list is empty for a takeover.
inline constexpr const char* kAlsoDefinedIn = "also_defined_in";

enum class Adopt : std::uint8_t {
  kUnsaid,  ///< Definitions that NetworkManager generated are taken over; those that a person wrote are refused.
  kRefuse,
  kKeep,
  kTakeOver,
};

/// Pure. `adopt` of the section. With --allow-mgmt-change it is kTakeOver for interfaces that carry our connection,
/// whatever the section says.
Adopt adopt_of(const std::string& interface, const Value& section, const ClusterView& view,
               const OwnConnection& connection);

/// Pure. Whether the definitions in `others` are emptied. Always true for kTakeOver, also without definitions.
bool takes_over(Adopt adopt, const std::vector<Definition>& others);

/// Pure. The definitions that compete with `stanza`. Profiles of NetworkManager do not compete with one that leaves the
/// addresses alone, unless they make the interface a part of a bond or bridge.
std::vector<Definition> in_the_way_of(const Stanza& stanza, std::vector<Definition> others);

/// Pure. Why the foreign definitions prevent sparkplan from managing the interface; nothing if they do not.
std::optional<Error> why_not_ours(const std::string& interface, const std::vector<Definition>& others, Adopt adopt);

/// Pure. Adds the foreign claims on the interface that the plan shows: profiles that NetworkManager generated for it,
/// and a foreign profile that is active on it. They concern only resources that manage addresses.
void add_claims(const ResourceId& id, const Observation& link, const std::vector<LinkFacts>& links,
                const ForeignFiles& foreign, std::vector<ForeignClaim>& claims);

/// Pure. Adds a claim for each bond without a carrier that keeps its addresses, and with them their routes. All claims
/// are on the one resource `id`.
void add_stale_bonds(const ResourceId& id, const std::vector<LinkFacts>& links, std::vector<ForeignClaim>& claims);

}  // namespace sparkplan::netplan
