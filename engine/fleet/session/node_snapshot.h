#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/fleet/session/fleet_session.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// A version on a node: "Kernel", "6.14.0-1013-nvidia". Empty: the node has none, or it was not read.
struct VersionFact {
  std::string label;
  std::string text;
};

/// The state of one half of a node's fabric.
enum class HalfState : std::uint8_t {
  kUnknown,  ///< The node is no running system, or its interface is not known.
  kUp,       ///< Enabled, and with a peer.
  kDown,
};

struct HalfSnapshot {
  std::string label;  ///< "A", "B"
  std::string interface;
  HalfState state = HalfState::kUnknown;
  std::string reason;  ///< For kDown: "no carrier". Else empty.
};

/// The state of a node that reports show beside its checks and changes. It outlives the session.
struct NodeSnapshot {
  std::string node;
  std::vector<VersionFact> versions;  ///< With the same labels on every node.
  std::vector<HalfSnapshot> halves;   ///< In the order of NodeSpec::fabric.
};

/// Pure.
NodeSnapshot snapshot_of(const NodeSpec& node, const Facts& facts, const std::string& profile);

/// Of the nodes whose facts this session has read.
std::vector<NodeSnapshot> snapshots_of(const FleetSession& session);

}  // namespace sparkplan
