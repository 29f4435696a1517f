#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/doctor/check_status.h"
#include "engine/doctor/doctor_table.h"
#include "engine/domain/fabric/fabric_interfaces.h"

namespace sparkplan {

/// A node whose facts, with the extended ones, are known.
struct ExaminedNode {
  std::string name;
  const Facts* facts = nullptr;          ///< Never null.
  std::vector<ObservedPort> halves;      ///< As observed_ports() returns them.
  std::vector<std::string> others = {};  ///< The names in the node's `interfaces`.
  bool nccl_declared = false;            ///< The node has a section `nccl` ...
  bool own_nccl = false;                 ///< ... and it names a library.
  /// The variables that the fabric implies for programs beside NCCL, without those that the file sets itself.
  std::map<std::string, std::string> frameworks = {};
};

/// The input of a diagnosis.
struct ExaminedCluster {
  std::vector<ExaminedNode> nodes;
  bool ring = false;          ///< Each node has a cable to two others, and there is no switch.
  std::size_t ring_size = 0;  ///< The number of nodes in the ring.
};

/// The outcome of one row of the doctor's table for one node, or for all nodes together.
struct Finding {
  RowId row;
  std::vector<std::string> nodes;  ///< One node; all nodes if the row compares them.
  bool between_nodes = false;      ///< The row compares nodes.
  CheckStatus status = CheckStatus::kPass;
  std::string seen;  ///< The fact, one line: "enp1s0f1np1 has an MTU of 1500 instead of 9000".
};

/// The rows that examine() decides, in their order.
std::vector<RowId> examined_rows();

/// Pure. Every row that the nodes' facts can decide, for each node. Rows that compare nodes yield one finding. For a
/// node that is not live, only rows about files are decided.
std::vector<Finding> examine(const ExaminedCluster& cluster);

}  // namespace sparkplan
