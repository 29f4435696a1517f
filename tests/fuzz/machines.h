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

/// A case of resources/*/cases as a cluster in which every node answers: the replies of each node, as the agent encodes
/// them. Built once per case and then copied.
struct CaseMachines {
  test::World world;
  const NodeSpec* self = nullptr;              ///< The node of the case.
  std::map<std::string, Value> facts_replies;  ///< encode(FactsReply), by node.
  Value observed;  ///< encode(ObservedState) of the case's node, with all desired and managed resources.
};

/// The machines of a case such as "sysctl/first-apply". An unknown title selects an arbitrary case. Null when no cases
/// exist.
const CaseMachines* machines_of(std::string_view case_title);

/// The node with that name; null when the cluster has no such node.
const NodeSpec* node_named(const Cluster& cluster, std::string_view name);

/// Decodes a changed tree into `into`; false if the decoder refuses it.
template <class T, class Decode>
bool decoded(Value tree, Decode decode, T& into) {
  auto value = decode(tree);
  if (!value) return false;
  into = std::move(*value);
  return true;
}

}  // namespace sparkplan::fuzz
