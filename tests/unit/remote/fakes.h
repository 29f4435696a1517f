#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/remote/programs/agent_client.h"

namespace sparkplan::test {

/// A program on the other side of a connection: its output, and its reactions to input.
struct Peer {
  // Set by the test.
  std::string output;  ///< The next bytes to read.
  std::string standard_error;
  bool ended = false;  ///< The program ends after `output`.
  std::optional<int> status;
  bool cut = false;                                    ///< The connection breaks after `output`.
  std::function<void(Peer&)> on_write = [](Peer&) {};  ///< Also when its input is closed.
  std::function<void(Peer&)> on_read = [](Peer&) {};   ///< Before each read.
  // Recorded by the fake.
  std::optional<RemoteProgram> program;
  int connection = 0;  ///< Number of the connection that started it; the first is 1.
  Elevation elevation = Elevation::kNone;
  std::string written;
  bool input_closed = false;
};

/// State shared by all connections to one node.
struct RemoteHost {
  std::string key = "SHA256:fake";
  bool key_is_new = false;
  std::string address;  ///< Of the other end of its connections.
  std::string user;     ///< The login user; empty: the node's.
  int connections = 0;
  std::size_t next = 0;  ///< The next program.
};

/// The programs of one node, in the order in which they may be started.
class Remote {
 public:
  Peer& add(Peer peer);
  /// Options with this node as the only transport target, and short deadlines.
  AgentOptions options(InstallPolicy install = InstallPolicy::kIfNeeded) const;

  Peer& peer(std::size_t index) { return *peers_->at(index); }
  std::size_t started() const;
  RemoteHost& host() { return *host_; }

 private:
  std::shared_ptr<std::vector<std::shared_ptr<Peer>>> peers_ = std::make_shared<std::vector<std::shared_ptr<Peer>>>();
  std::shared_ptr<RemoteHost> host_ = std::make_shared<RemoteHost>();
};

using Handler = std::function<Result<Value>(const Request&)>;
/// Answers facts with a hostname, everything else with an empty map.
Result<Value> answer_usually(const Request& request);

/// The hello of this build's own agent.
Hello own_hello();
/// An agent that says hello at once and answers every request.
Peer agent(const Hello& hello = own_hello(), Handler handler = answer_usually);
/// A node without an agent.
Peer no_agent();
/// The installer: it accepts the agent for `architecture` and confirms it.
Peer installer(const std::string& architecture = own_hello().architecture);

/// The program `peer`, started by a sudo that requires the password: it prompts, and refuses any other password.
Peer behind_sudo(Peer peer, const std::string& password = "secret");
Secret secret(std::string_view text);

std::string framed(const Value& message);
NodeSpec node(const std::string& user = "root");

}  // namespace sparkplan::test
