#include "engine/fleet/session/node_snapshot.h"

#include <algorithm>

#include "engine/core/text.h"
#include "engine/domain/fabric/fabric_interfaces.h"

namespace sparkplan {
namespace {

std::string adapter_firmware(const Facts& facts) {
  std::vector<std::string> versions;
  if (!facts.extended) return "";
  for (const RdmaFirmwareFacts& device : facts.extended->rdma_firmware) {
    const bool known = std::find(versions.begin(), versions.end(), device.firmware) != versions.end();
    if (!device.firmware.empty() && !known) versions.push_back(device.firmware);
  }
  return join(versions, ", ");
}

HalfSnapshot half_of(const ObservedPort& port, bool live) {
  HalfSnapshot half{port.label(), port.interface, HalfState::kUnknown, ""};
  if (port.link == nullptr) {
    if (live && !port.interface.empty()) {
      half.state = HalfState::kDown;
      half.reason = port.absent_because.empty() ? "the node does not show it" : port.absent_because;
    }
    return half;
  }
  half.state = port.link->up && port.link->carrier ? HalfState::kUp : HalfState::kDown;
  if (half.state == HalfState::kDown) half.reason = port.link->up ? "no carrier" : "not enabled";
  return half;
}

}  // namespace

NodeSnapshot snapshot_of(const NodeSpec& node, const Facts& facts, const std::string& profile) {
  NodeSnapshot snapshot{node.name.str(),
                        {{"Machine", facts.product},
                         {"Architecture", facts.architecture},
                         {"Firmware", facts.host.bios_version},
                         {"OS", facts.os_name},
                         {"Kernel", facts.kernel},
                         {"GPU driver", facts.host.gpu_driver},
                         {"NCCL", facts.nccl_version},
                         {"Adapter firmware", adapter_firmware(facts)}},
                        {}};
  for (const ObservedPort& port : observed_ports(node, facts, profile))
    snapshot.halves.push_back(half_of(port, facts.live));
  return snapshot;
}

std::vector<NodeSnapshot> snapshots_of(const FleetSession& session) {
  std::vector<NodeSnapshot> snapshots;
  for (const FleetNode& node : session.nodes()) {
    if (node.active() && node.client) {
      snapshots.push_back(snapshot_of(*node.spec, node.known.facts, session.cluster().profile));
    }
  }
  return snapshots;
}

}  // namespace sparkplan
