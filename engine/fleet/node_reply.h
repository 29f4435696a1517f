#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/remote/agent_client.h"
#include "engine/resource/registry.h"
#include "engine/wire/messages.h"

/// The one door through which what a node says of resources comes into a run: every reply goes through here before
/// anything else reads it. What was not asked for is gone afterwards.
/// Errors: kFailed, "the node's agent reported something that is no observation: ...", printable and of bounded length.
/// The node takes no further part; the others do.
namespace sparkplan {

/// Bytes of the reason that such an error holds.
inline constexpr std::size_t kLongestReason = 400;

/// Pure.
Result<FactsReply> checked(FactsReply reply, const FactsRequest& request, const Registry& registry);
/// `asked` are the names of the request.
Result<ObservedState> checked(ObservedState observed, const std::map<std::string, std::vector<std::string>>& asked,
                              const Registry& registry);
Result<UndoReply> checked(UndoReply reply, const Registry& registry);

/// What was not asked about is gone. Errors: also for a code that is none of the type's.
Result<EffectReply> checked(EffectReply reply, const EffectRequest& request);

/// I/O. A node's answer, checked. Errors: also those of the AgentClient.
Result<ObservedState> observe_node(AgentClient& client, const ObserveNodeRequest& request, const Registry& registry);
Result<UndoReply> what_undoes(AgentClient& client, const UndoRequest& request, const Registry& registry);

}  // namespace sparkplan
