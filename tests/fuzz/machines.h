#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"
#include "engine/model/cluster.h"
#include "engine/resource/resource_type.h"
#include "tests/support/case_folder.h"

namespace sparkplan::fuzz {

/// A case of resources/*/cases as a cluster whose nodes all answer: what each of them would send, as the agent
/// encodes it. Made once for a case and then only copied.
struct CaseMachines {
  test::World world;
  const NodeSpec* self = nullptr;              ///< The node of the case.
  std::map<std::string, Value> facts_replies;  ///< encode(FactsReply), by node.
  Value observed;  ///< encode(ObservedState) of the case's node, of all that is desired or managed.
};

/// "sysctl/first-apply"; of a name that there is not some case or other. Null when there are no cases at all.
const CaseMachines* machines_of(std::string_view case_title);

/// The node of that name; null when there is none.
const NodeSpec* node_named(const Cluster& cluster, std::string_view name);

/// True when the changes of the input left something that still is one.
template <class T, class Decode>
bool decoded(Value tree, Decode decode, T& into) {
  auto value = decode(tree);
  if (!value) return false;
  into = std::move(*value);
  return true;
}

}  // namespace sparkplan::fuzz
