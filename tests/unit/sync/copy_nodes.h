#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/remote/programs/copy_client.h"
#include "engine/wire/copy_messages.h"
#include "tests/unit/remote/fakes.h"

/// Nodes with a sparkplan-copy that answers as its test says.
namespace sparkplan::test {

/// Reacts to a command of the controller; answers with say().
using CopyReaction = std::function<void(const CopyCommand& command, Peer& self)>;

void say(Peer& self, const CopyAnswer& answer);

/// This build's program.
Peer copy_program(CopyReaction reaction);

/// Answers as an honest node that has begun with nothing: it is complete as soon as it may fetch.
void honest(const CopyCommand& command, Peer& self);

/// Lists these files, and others once it has read its files. Takes part in a transfer.
CopyReaction that_lists(const std::vector<CopyEntry>& before, const std::vector<CopyEntry>& after);
CopyReaction that_lists(const std::vector<CopyEntry>& always);

/// One node and its commands.
struct CopyNode {
  CopyReaction reaction = honest;
  std::vector<CopyCommand> commands = {};
  Remote remote = {};

  template <class Command>
  std::vector<Command> all() const {
    std::vector<Command> found;
    for (const CopyCommand& command : commands) {
      if (const auto* one = std::get_if<Command>(&command)) found.push_back(*one);
    }
    return found;
  }
};

/// n1, n2 ... with both halves on one switch: 192.168.100.11 and 192.168.101.11 belong to n1.
Cluster on_a_switch(std::size_t nodes);

/// Connects to the node of that name. `programs`: how many times each node may start its program.
AgentOptions options_for(std::vector<CopyNode>& nodes, std::size_t programs);

}  // namespace sparkplan::test
