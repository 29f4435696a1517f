#include "engine/model/cluster.h"

#include <algorithm>

namespace sparkplan {

const NodeSpec* Cluster::find(const NodeName& node) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const NodeSpec& spec) { return spec.name == node; });
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace sparkplan
