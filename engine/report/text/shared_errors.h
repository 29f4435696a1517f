#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

// Pure. What several nodes say is printed once, also if each names itself or its address.

namespace sparkplan {

/// Replaces `name` where it is a whole word. An empty name is in no text.
void replace_word(std::string& text, std::string_view name, std::string_view replacement);

/// Marks that no printable text contains, in place of a node's name and of its address.
inline constexpr std::string_view kNodeMark = "\x1f";
inline constexpr std::string_view kAddressMark = "\x1e";

/// The error of one node. All texts have passed printable().
struct NodeTrouble {
  std::string node;
  std::string address;  ///< Empty: not known.
  std::string words;
  std::string hint;
};

NodeTrouble trouble_of(const std::string& node, const std::string& address, const Error& error);

/// The trouble with marks for the node's name and address in the words, and for the address in the hint. A hint that
/// has the node's name is a command for that node alone, so the name stays.
NodeTrouble with_marks(NodeTrouble trouble);

/// The words for all these nodes: "connect to 10.0.0.[11-18] port 22". A mark becomes the folded names or addresses.
std::string words_for(std::string words, const std::vector<std::string>& nodes,
                      const std::vector<std::string>& addresses);
/// The hint for these nodes, with the first address as the example: "`ping 10.0.0.11`".
std::string hint_for(std::string hint, const std::vector<std::string>& addresses);

/// An error, and the nodes that share it.
struct SharedTrouble {
  std::vector<std::string> nodes;
  std::string words;
  std::string hint;
};

/// In the order of their first nodes.
std::vector<SharedTrouble> shared_troubles(const std::vector<NodeTrouble>& troubles);

}  // namespace sparkplan
