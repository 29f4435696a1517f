#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/report/text/text_style.h"
#include "engine/sync/pruning.h"

/// The directories and files that a prune removes and keeps, for people and programs.
namespace sparkplan {

/// Pure. A heading and one line for nodes with the same state of a directory; empty without directories.
std::string pruned_text(const std::vector<PrunedTree>& trees, const TextStyle& style);

/// The directories that --prune would remove, for the question: the first 20 of a node, and how many there are more.
std::string question_text(const std::vector<PrunedTree>& trees);

/// Pure. One member of `pruned` in schemas/sync.schema.json.
Value to_json_value(const PrunedTree& tree);

}  // namespace sparkplan
