#pragma once

#include <string>

#include "engine/init/members.h"
#include "engine/init/sections.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The profile of the drafted file; an empty name: none.
struct ProfileChoice {
  std::string name;
  std::string why;  ///< For the reader of the file; one paragraph per line.
};

/// Pure. Chooses dgx-spark if all machines are DGX Sparks and it would change nothing that sparkplan manages on them.
/// The settings of the profile are then removed from `sections`. Also chooses it if the manifests may not decide for
/// all machines: Members::decides_for_all().
ProfileChoice choose_profile(const Members& members, const Cluster& cluster, const Registry& registry,
                             Sections& sections);

}  // namespace sparkplan
