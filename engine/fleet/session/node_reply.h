#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/resource/registry.h"
#include "engine/wire/messages.h"

/// The one door for a node's data about resources. Each reply passes through it before other code reads it. Data that
/// was not requested is removed.
/// Errors: kFailed, "the node's agent sent an invalid reply: ...", printable and of bounded length.
/// Only this node is excluded.
namespace sparkplan {

/// The most bytes of the reason in such an error.
inline constexpr std::size_t kLongestReason = 400;

/// Pure.
Result<FactsReply> checked(FactsReply reply, const FactsRequest& request, const Registry& registry);
/// `asked` are the names of the request.
Result<ObservedState> checked(ObservedState observed, const std::map<std::string, std::vector<std::string>>& asked,
                              const Registry& registry);
Result<UndoReply> checked(UndoReply reply, const Registry& registry);

/// A node's findings about its resources, without repetitions, and bounded.
struct CheckedFindings {
  std::map<std::string, std::vector<Ineffective>> ineffective;  ///< By type.
  std::size_t left_out = 0;                                     ///< Findings over the limits.
  /// The resources, by type, that only findings over the limits are about.
  std::map<std::string, std::set<std::string>> without_finding;
};
/// The most findings of a node in one reply, and the most with one code for one resource.
inline constexpr std::size_t kMostFindingsOfNode = 20;
inline constexpr std::size_t kMostFindingsOfACode = 3;
/// Errors: also for a code that does not belong to the type.
Result<CheckedFindings> checked(EffectReply reply, const EffectRequest& request);
Result<CheckedFindings> checked(EffectReply reply, const ForesightRequest& request);

/// I/O. A node's checked answer. Errors: also those of the AgentClient.
Result<ObservedState> observe_node(AgentClient& client, const ObserveNodeRequest& request, const Registry& registry);
Result<UndoReply> what_undoes(AgentClient& client, const UndoRequest& request, const Registry& registry);

}  // namespace sparkplan
