#pragma once

#include <map>
#include <memory>
#include <string>

#include "engine/remote/programs/agent_client.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/machines.h"

namespace sparkplan::fuzz {

/// Agents for all nodes of a case. Each agent sends the machine's reply, and sometimes something else: a spoiled reply,
/// the wrong reply, an error, or bytes that are no frame. Each agent has its own share of the input, because requests
/// run at the same time. An agent without a reply ends at once, so nothing waits.
class HostileAgents {
 public:
  HostileAgents(const CaseMachines& machines, const Choices& choices);

  /// Options that connect only to these agents, with a reply timeout of one second.
  AgentOptions options() const;

 private:
  const CaseMachines& machines_;
  std::map<std::string, std::string> shares_;  ///< By node.
};

}  // namespace sparkplan::fuzz
