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

/// What becomes of what others have said of an interface that is ours from now on.
namespace sparkplan::netplan {

/// The field of a resource with the files of somebody else's that define the interface too; none where we take over.
inline constexpr const char* kAlsoDefinedIn = "also_defined_in";

enum class Adopt : std::uint8_t {
  kUnsaid,  ///< What NetworkManager has made up is taken over, what somebody has written is refused.
  kRefuse,
  kKeep,
  kTakeOver,
};

/// Pure. `adopt` of the section; but what stands in the way of an interface that may change by --allow-mgmt-change is
/// taken over, whatever it says.
Adopt adopt_of(const std::string& interface, const Value& section, const ClusterView& view, const Facts& own);

/// Pure. Whether these definitions of an interface are to be emptied, if there are any.
bool takes_over(Adopt adopt, const std::vector<Definition>& others);

/// Pure. What keeps us from the interface; nothing when it is ours, or can be.
std::optional<Error> why_not_ours(const std::string& interface, const std::vector<Definition>& others, Adopt adopt);

/// Pure. A file of somebody else's: definitions of interfaces that are to be taken over are emptied in it, those of
/// interfaces that are ours no longer come back.
std::optional<Step> shared_file_step(const ArtifactId& artifact, const Stanzas& stanzas, const StepsInput& input,
                                     const TypeInfo& info);

/// Pure. Who else has the interface now, as a reader of the plan has to know: a profile that NetworkManager has made up
/// for it, and one that is up on it.
void add_claims(const ResourceId& id, const Observation& link, const std::vector<LinkFacts>& links,
                const ForeignFiles& foreign, std::vector<ForeignClaim>& claims);

/// Pure. Bonds without a carrier that keep their addresses, and so the routes to them: said once, of `id`.
void add_stale_bonds(const ResourceId& id, const std::vector<LinkFacts>& links, std::vector<ForeignClaim>& claims);

}  // namespace sparkplan::netplan
