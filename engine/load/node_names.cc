#include "engine/load/node_names.h"

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestNodeName = 63;  // As in the schema.

}  // namespace

NodeNames::NodeNames(const std::vector<UnresolvedNode>& nodes) {
  for (const UnresolvedNode& node : nodes) names_.insert(node.name);
  for (const std::string& name : names_) {
    if (name.size() <= kLongestNodeName) candidates_.push_back(name);
  }
}

std::optional<std::string> NodeNames::meant_by(const std::string& word) {
  if (word.size() > kLongestNodeName) return std::nullopt;
  if (const auto known = answers_.find(word); known != answers_.end()) return known->second;
  if (answers_.size() == kMostCompared) return std::nullopt;
  return answers_.emplace(word, nearest(word, candidates_)).first->second;
}

}  // namespace sparkplan
