#pragma once

#include <utility>

#include "engine/agent/node/local_node.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::test {

/// A node whose root is this directory.
inline LocalNode node_at(const ScratchDirectory& root) {
  auto node = LocalNode::open(root.path());
  REQUIRE(node);
  return std::move(*node);
}

}  // namespace sparkplan::test
