#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// One half of a node's fabric as declared, and the interface that it is.
struct ExaminedHalf {
  std::string label;      ///< "A", "B"
  std::string interface;  ///< Empty where neither file nor facts name it.
  std::string address;    ///< As declared; empty: none, or link-local.
  int prefix_length = 0;
  std::optional<int> mtu;  ///< As declared.
  bool link_local = false;
  std::vector<std::string> hcas;    ///< Its RDMA devices.
  const LinkFacts* link = nullptr;  ///< Null when the node does not show it.
};

/// A node whose facts, with their extended, are known.
struct ExaminedNode {
  std::string name;
  const Facts* facts = nullptr;  ///< Never null.
  std::vector<ExaminedHalf> halves;
};

/// All that a diagnosis is made of.
struct ExaminedCluster {
  std::vector<ExaminedNode> nodes;
  bool ring = false;          ///< Each node has a cable to two others, and there is no switch.
  std::size_t ring_size = 0;  ///< Nodes of it.
};

enum class Verdict : std::uint8_t {
  kPass,
  kWarn,
  kFail,
  kSkip,  ///< There is nothing of the kind here, or it could not be looked at: `seen` says which.
};

/// What one row of the doctor's table makes of one node, or of all nodes together.
struct Finding {
  std::string_view row;            ///< DoctorRow::id
  std::vector<std::string> nodes;  ///< One; all, of what is compared between them.
  bool between_nodes = false;      ///< It is compared between them.
  Verdict verdict = Verdict::kPass;
  std::string seen;  ///< What was read, one line: "enp1s0f1np1 has an MTU of 1500 instead of 9000".
};

/// The ids of the rows that examine() decides, in their order.
std::vector<std::string_view> examined_rows();

/// Pure. Every row that can be seen from the nodes, on each of them. Rows that compare nodes say something once.
/// Of a node that is not live only what files tell is looked at.
std::vector<Finding> examine(const ExaminedCluster& cluster);

}  // namespace sparkplan
