#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/verify/verify_context.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// The frames that every node received through its cables, by the place in VerifyContext::nodes. A node that could not
/// be asked has its reason in `silent` instead.
struct HeardCables {
  std::map<std::size_t, std::vector<ReceivedProbe>> calls;
  std::map<std::size_t, std::string> silent;
  /// Interfaces that could receive and not send, with the reason: their silence proves nothing about the cable.
  std::map<std::size_t, std::map<std::string, std::string>> mute;
  /// Interfaces that received so many frames that probes may be missing.
  std::map<std::size_t, std::vector<std::string>> overrun = {};
};

/// Pure. The interfaces of a node that may hold a cable of the fabric: its halves, and similar interfaces of other
/// ports.
std::vector<std::string> interfaces_to_listen_at(const VerifyNode& node);

/// The names under which the nodes send their link probes, by the place in VerifyContext::nodes. They are random and
/// known to their own node alone until it sends: every machine in a shared Ethernet sees the token of the run.
using ProbeNames = std::map<std::size_t, std::string>;

/// Pure. The probes with the nodes' own names in place of those of `names`, without those of other senders.
std::vector<ReceivedProbe> with_node_names(const VerifyContext& context, const ProbeNames& names,
                                           std::vector<ReceivedProbe> received);

/// Pure. For each half, whether its cable leads where cluster.yaml declares: link/NODE/HALF/cable. context.checks
/// contains the checks of the halves themselves.
std::vector<Check> judge_cables(const VerifyContext& context, const HeardCables& heard);

}  // namespace sparkplan
