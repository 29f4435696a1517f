#pragma once

#include <cstddef>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/cluster_draft.h"

namespace sparkplan {

/// Removes machines that the user did not name and that have the machine-id of an earlier machine. A discovered machine
/// announces other addresses than the one that the user named. The first `named` machines always stay. Returns a remark
/// for each removed machine, because it may be a clone.
std::vector<Diagnostic> drop_second_contacts(std::vector<InitMachine>& machines, std::size_t named);

}  // namespace sparkplan
