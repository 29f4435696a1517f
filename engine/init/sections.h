#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/members.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Everything but the fabric.
struct Sections {
  Value::Map of_cluster;                       ///< In the order of the file.
  std::map<std::string, Value::Map> of_nodes;  ///< By node name: what not all managed nodes share.
  std::vector<Diagnostic> remarks;             ///< What is managed and cannot be asked for again.
};

/// Pure. The sections that ask each managed node for what was applied there last. `cluster` is the file's, with its
/// fabric; what all managed nodes share is the cluster's.
Sections sections_of(const Members& members, const Cluster& cluster, const Registry& registry);

/// Pure. Takes out the longest section, of the cluster and of all nodes, and tells so. False where there is none.
bool leave_out_longest(Sections& sections);

/// Splits what several nodes say into what they all say, and the rest of each. Maps by key, lists of records by the
/// record's identity, all else as a whole. Null stands for nothing.
struct Split {
  Value common;
  std::vector<Value> rests;
};
Split split_common(std::string_view section, const std::vector<Value>& each);

}  // namespace sparkplan
