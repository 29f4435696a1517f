#pragma once

#include <string>
#include <string_view>

#include "engine/core/value.h"

namespace sparkplan {

/// What the profile `name` sets, as a map of sections; every value stands at `where`. Void for no
/// profile and for one that is not known. `ssh_user` is who gets SSH trust; nobody when empty.
Value profile_sections(std::string_view name, std::string_view ssh_user, SourceRange where);

}  // namespace sparkplan
