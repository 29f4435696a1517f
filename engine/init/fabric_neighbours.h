#pragma once

#include <string>
#include <vector>

#include "engine/init/cluster_draft.h"

namespace sparkplan {

/// Pure. IPv4 addresses that answered these machines on their fabric and belong to none of the machines.
std::vector<std::string> fabric_neighbours(const std::vector<InitMachine>& machines);

}  // namespace sparkplan
