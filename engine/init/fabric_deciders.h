#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "engine/init/fabric_choice.h"
#include "engine/init/fabric_found.h"
#include "engine/init/members.h"

namespace sparkplan {

/// The choice as if these machines had not been read, by their positions among the members.
using ChoiceWithout = std::function<FabricChoice(const std::vector<std::size_t>& machines)>;

/// Pure. Warns if few machines have fabric addresses, and the other machines get the same fabric or none for that. Also
/// names machines whose addresses alone keep the others from a fabric. One machine could claim any addresses. Costs as
/// many choices as the logarithm of the number of members.
void tell_who_decides(const Members& members, const std::vector<FoundFabric>& found, const ChoiceWithout& choose,
                      FabricChoice& choice);

}  // namespace sparkplan
