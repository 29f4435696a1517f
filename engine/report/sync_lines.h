#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/report/text/text_style.h"
#include "engine/sync/comparison.h"
#include "engine/sync/pruning.h"

/// Parts of the report of a sync.
namespace sparkplan {

/// Nodes with the same line.
struct NodeLine {
  char symbol = '=';
  std::string text;
  std::string hint;
  std::vector<std::string> nodes;
};

/// Pure. The symbol, the folded names and the words, and the hint below.
std::string line_text(const NodeLine& line, const TextStyle& style);

/// Pure. "141.2 GB", "17 MB", "512 bytes": powers of 1000, as disks and networks are sold.
std::string content_size_text(std::int64_t bytes);

/// Pure. "1 file", "7 files"
std::string files_text(std::size_t files);

/// Pure. The first three of `count` names, safe for a terminal, and how many there are more.
std::string first_names(const std::vector<std::string>& names, std::size_t count);
inline std::string first_names(const std::vector<std::string>& names) { return first_names(names, names.size()); }
inline std::string first_names(const NameList& names) { return first_names(names.kept(), names.size()); }

/// Pure. A heading and one line for nodes with the same state of a directory; empty without directories.
std::string pruned_text(const std::vector<PrunedTree>& trees, const TextStyle& style);

/// The directories that --prune would remove, for the question: the first 20 of a node, and how many there are more.
std::string question_text(const std::vector<PrunedTree>& trees);

/// Pure. One member of `pruned` in schemas/sync.schema.json.
Value to_json_value(const PrunedTree& tree);

}  // namespace sparkplan
