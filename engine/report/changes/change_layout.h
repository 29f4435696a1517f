#pragma once

#include <string>

#include "engine/report/changes/change_groups.h"

namespace sparkplan {

/// Pure. One line per group, with its nodes at the end and its diffs and notes below; then the table. No line is wider
/// than `style` says, except diffs and values with `style.verbose`. `all_nodes` is the number of nodes in the report:
/// names that cannot be folded become "all 8 nodes".
std::string changes_text(const GroupedChanges& changes, std::size_t all_nodes, const TextStyle& style);

}  // namespace sparkplan
