#include "engine/load/node_names.h"

#include "engine/core/text.h"

namespace sparkplan {
namespace {

// As in the schema.
constexpr std::size_t kLongestNodeName = 63;
constexpr std::size_t kMostNodes = 1000;

}  // namespace

NodeNames::NodeNames(const std::vector<UnresolvedNode>& nodes) {
  for (const UnresolvedNode& node : nodes) names_.insert(node.name);
  if (names_.size() > kMostNodes) return;
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
