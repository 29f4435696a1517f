#pragma once

#include <string>

#include "engine/init/members.h"
#include "engine/init/sections.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The profile of the file in the making; its name is empty where there is none.
struct ProfileChoice {
  std::string name;
  std::string why;  ///< For the reader of the file; one paragraph to a line.
};

/// Pure. dgx-spark where all machines are such, and where nothing that sparkplan manages on them would change by it:
/// what it sets is then taken out of `sections`.
ProfileChoice choose_profile(const Members& members, const Cluster& cluster, const Registry& registry,
                             Sections& sections);

}  // namespace sparkplan
