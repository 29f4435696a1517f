#pragma once

#include <cstddef>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/cluster_draft.h"

namespace sparkplan {

/// Takes out machines that nobody has named, and that are one of those before them, by their machine-id: one that was
/// found announces other addresses than the one it was named by. The first `named` stay, whatever they are. A remark
/// for each that went, as it may be a clone.
std::vector<Diagnostic> drop_second_contacts(std::vector<InitMachine>& machines, std::size_t named);

}  // namespace sparkplan
