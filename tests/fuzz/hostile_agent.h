#pragma once

#include <map>
#include <memory>
#include <string>

#include "engine/remote/agent_client.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/machines.h"

namespace sparkplan::fuzz {

/// Agents for all nodes of a case, each of which says what the machine would say, and now and then something else:
/// a reply that is spoiled, another one, an error, or bytes that are no frame. Each has its own share of the input, as
/// they are asked at the same time. Nothing waits: who has no answer has ended.
class HostileAgents {
 public:
  HostileAgents(const CaseMachines& machines, const Choices& choices);

  /// The only way to the nodes; at most a second is waited for anything.
  AgentOptions options() const;

 private:
  const CaseMachines& machines_;
  std::map<std::string, std::string> shares_;  ///< By node.
};

}  // namespace sparkplan::fuzz
