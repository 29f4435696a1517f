#pragma once

#include <string_view>

#include "engine/core/value.h"

namespace sparkplan {

/// The sections that the profile `name` sets, as a map; every value has the position `where`. Void without a profile
/// and for an unknown one. `ssh_user` gets SSH trust; if it is empty, the section is left out.
Value profile_sections(std::string_view name, std::string_view ssh_user, SourceRange where);

}  // namespace sparkplan
