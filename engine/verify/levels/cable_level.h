#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/verify/verify_context.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// What every node has heard through its cables, by the place in VerifyContext::nodes; nodes that could not be asked
/// are not in it, with the reason in `silent`.
struct HeardCables {
  std::map<std::size_t, std::vector<ReceivedProbe>> calls;
  std::map<std::size_t, std::string> silent;
  /// Interfaces that could hear and not call, with the reason: that nobody hears them says nothing of the cable.
  std::map<std::size_t, std::map<std::string, std::string>> mute;
};

/// Pure. The interfaces of a node that a cable of the fabric may be in: its halves, and the like of them in other
/// ports.
std::vector<std::string> interfaces_to_listen_at(const VerifyNode& node);

/// Pure. For each half whether its cable goes where cluster.yaml says: LEVEL/NODE/HALF/cable. Checks of halves that
/// were found unfit are in context.checks.
std::vector<Check> judge_cables(const VerifyContext& context, const HeardCables& heard);

/// Lets all nodes call into their cables, and judges who has heard whom. Changes nothing, and is no basis for a plan.
std::vector<Check> verify_cables(VerifyContext& context);

}  // namespace sparkplan
