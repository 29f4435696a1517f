#pragma once

#include <set>
#include <string>
#include <string_view>

#include "engine/model/manifest.h"
#include "engine/model/resource.h"
#include "engine/plan/desired_state.h"
#include "engine/resource/resource_type.h"
#include "engine/wire/facts_messages.h"

namespace sparkplan {

/// Pure. The resources about which the two disagree.
std::set<ResourceId> differing(const Desired& before, const Desired& after);

/// Pure. The resources of a node that stays which the release of another one changes: `with` is from the file with the
/// released node, `without` from the file without it. A resource that `with` could not resolve is not among them. The
/// released node could otherwise withhold or claim data, and so have pending changes of the others made.
std::set<ResourceId> due_to_release(const DesiredState& with, const Desired& without);

/// Pure. False if the node reports an error in place of an export, or leaves out one of a type that all nodes export.
bool is_read_whole(const FactsReply& known, const std::set<std::string>& exported_everywhere);

/// Pure. The resources that were last applied with a field of that node, as "authorized.NODE". The file may no
/// longer ask for the field, and a released node must not keep its access.
std::set<ResourceId> with_field_of(std::string_view node, const Manifest& manifest);

}  // namespace sparkplan
