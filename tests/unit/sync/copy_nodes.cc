#include "tests/unit/sync/copy_nodes.h"

#include <sys/utsname.h>

#include <memory>
#include <utility>
#include <variant>

#include "engine/remote/programs/agent_image.h"
#include "engine/wire/frame.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

FabricPort port(int half, const std::string& address) {
  FabricPort made;
  made.half = half;
  made.address = address;
  made.prefix_length = 24;
  return made;
}

}  // namespace

void say(Peer& self, const CopyAnswer& answer) { self.output += framed(encode(answer)); }

Peer copy_program(CopyReaction reaction) {
  utsname machine{};
  ::uname(&machine);
  const auto image = copy_image(machine.machine);
  REQUIRE(image);
  Peer peer;
  peer.output = std::string(kPreamble) + framed(encode(CopyAnswer(CopyHello{image->build, machine.machine})));
  auto reader = std::make_shared<FrameReader>();
  peer.on_write = [reader, reaction = std::move(reaction)](Peer& self) {
    reader->feed(std::exchange(self.written, ""));
    for (auto message = reader->next(); message && *message; message = reader->next()) {
      if (const auto command = decode<CopyCommand>(**message)) reaction(*command, self);
    }
  };
  return peer;
}

void honest(const CopyCommand& command, Peer& self) {
  if (std::holds_alternative<CopyBegin>(command)) say(self, CopyBegun{0, 0, std::int64_t{1} << 40U});
  if (const auto* serve = std::get_if<CopyServe>(&command)) say(self, CopyServing{serve->link, 1234});
  // Both halves have a link.
  const auto* fetch = std::get_if<CopyFetch>(&command);
  if (fetch != nullptr && fetch->address.starts_with("192.168.100.")) say(self, CopyComplete{0});
}

CopyReaction that_lists(const std::vector<CopyEntry>& before, const std::vector<CopyEntry>& after) {
  return [before, after](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyOpen>(command)) {
      CopyOpened opened;
      opened.exists = true;
      say(self, opened);
    } else if (const auto* look = std::get_if<CopyLook>(&command)) {
      say(self, CopyEntries{look->read || look->chunks ? after : before});
      say(self, CopyLooked{});
    } else {
      honest(command, self);
    }
  };
}

CopyReaction that_lists(const std::vector<CopyEntry>& always) { return that_lists(always, always); }

Cluster on_a_switch(std::size_t nodes) {
  Cluster cluster;
  for (std::size_t i = 1; i <= nodes; ++i) {
    const auto id = std::to_string(10 + i);
    NodeSpec made{*NodeName::parse("n" + std::to_string(i)),
                  static_cast<int>(i),
                  {},
                  {},
                  TransportKind::kSsh,
                  {},
                  false,
                  {},
                  {},
                  {}};
    made.ssh.user = "root";
    made.fabric = {port(0, "192.168.100." + id), port(1, "192.168.101." + id)};
    cluster.nodes.push_back(std::move(made));
  }
  return cluster;
}

AgentOptions options_for(std::vector<CopyNode>& nodes, std::size_t programs) {
  std::vector<Connector> connectors;
  for (CopyNode& node : nodes) {
    for (std::size_t i = 0; i < programs; ++i) {
      node.remote.add(copy_program([&node](const CopyCommand& command, Peer& self) {
        node.commands.push_back(command);
        node.reaction(command, self);
      }));
    }
    connectors.push_back(node.remote.options(InstallPolicy::kNever).connector);
  }
  AgentOptions options = nodes.front().remote.options(InstallPolicy::kNever);
  options.connector = [connectors](const NodeSpec& spec,
                                   const ConnectOptions& connect) -> Result<std::unique_ptr<Connection>> {
    const auto place = static_cast<std::size_t>(std::stoi(spec.name.str().substr(1))) - 1;
    return connectors.at(place)(spec, connect);
  };
  return options;
}

}  // namespace sparkplan::test
