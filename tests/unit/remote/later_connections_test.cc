// The later connections of a run may do the same as its first one to the node, or less.
#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/remote/programs/installation.h"
#include "engine/remote/transport/transport.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"
#include "tests/unit/remote/sshd.h"

namespace sparkplan {
namespace {

using test::ClientKeys;
using test::HomeWithoutKeys;
using test::Sshd;

/// Long enough for the key exchange on a busy machine.
constexpr std::chrono::seconds kBusyMachine{10};

/// Writes ~/.ssh/id_ed25519. Returns its path.
std::string make_usual_key(const char* passphrase) {
  const std::string directory = std::string(std::getenv("HOME")) + "/.ssh";
  REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
  test::write_private_key(directory + "/id_ed25519", passphrase);
  return directory + "/id_ed25519";
}

NodeSpec accepted_when_new(const Sshd& server) {
  NodeSpec node = server.node();
  node.ssh.host_key.clear();
  node.ssh.host_keys = HostKeyPolicy::kAcceptNew;
  return node;
}

ConnectOptions of_a_run() {
  ConnectOptions options;
  options.timeout = kBusyMachine;
  return options;
}

}  // namespace

TEST_CASE("accept-new: a host key stays new for the whole run that recorded it, so that sudo gets no password") {
  const HomeWithoutKeys home;
  make_usual_key(nullptr);
  const Sshd server(test::ask_as_pam_does, test::serve_programs, ClientKeys::kAccepted);
  const NodeSpec node = accepted_when_new(server);
  const auto password = test::secret("secret");
  const auto first_run = of_a_run();
  for (int i = 0; i < 2; ++i) {
    const auto connection = connect_ssh(node, ConnectOptions(first_run));
    REQUIRE(connection);
    CHECK((*connection)->host_key_is_new());
    CHECK(elevation_for(node, **connection, password) == Elevation::kSudo);
  }
  const auto connection = connect_ssh(node, of_a_run());
  REQUIRE(connection);
  CHECK_FALSE((*connection)->host_key_is_new());
  CHECK(elevation_for(node, **connection, password) == Elevation::kSudoPassword);
}

TEST_CASE("accept-new: a machine whose host key the run has recorded gets no login password, at no connection") {
  const HomeWithoutKeys home;
  int asked = 0;
  const Sshd server([&](ssh_session session, ssh_message message) {
    ++asked;
    test::ask_as_pam_does(session, message);
  });
  const NodeSpec node = accepted_when_new(server);
  auto first_run = of_a_run();
  first_run.password = test::secret(test::kSshdPassword);
  for (int i = 0; i < 2; ++i) {
    const auto refused = connect_ssh(node, ConnectOptions(first_run));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kPermissionDenied);
  }
  CHECK(asked == 0);
  auto second_run = of_a_run();
  second_run.password = first_run.password;
  CHECK(connect_ssh(node, second_run));
}

TEST_CASE("keys: a node causes no question for a passphrase once it was connected to, and the question names it") {
  const HomeWithoutKeys home;
  const auto key = make_usual_key("correct horse");
  const Sshd server(test::ask_as_pam_does, test::serve_programs, ClientKeys::kAccepted);
  NodeSpec node = server.node();
  std::vector<std::string> questions;
  auto run = of_a_run();
  run.keys = std::make_shared<UnlockedKeys>([&](const KeyQuestion& question) {
    questions.push_back(question.server + ": " + question.file);
    return Secret::copy_of("correct horse");
  });
  for (int i = 0; i < 2; ++i) CHECK(connect_ssh(node, run));
  CHECK(questions == std::vector<std::string>{"spark-01: ~/.ssh/id_ed25519"});

  // Later it accepts another key only.
  const auto other = key + "_other";
  test::write_private_key(other, "correct horse");
  node.ssh.identity = other;
  const auto refused = connect_ssh(node, run);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kPermissionDenied);
  CHECK(refused.error().message.find("which has a passphrase") != std::string::npos);
  CHECK(refused.error().hint.starts_with("sparkplan asks for a passphrase only until it has connected to the node"));
  CHECK(questions.size() == 1);
}

TEST_CASE("a node that refuses the connection after the password was sent is an error, and nothing worse") {
  test::Remote remote;
  auto older = test::own_hello();
  older.build = std::string(40, '0');
  remote.add(test::behind_sudo(test::agent(older)));
  auto options = remote.options(InstallPolicy::kExactBuild);
  options.become_password = test::secret("secret");
  options.connector = [usual = options.connector, met = false](
                          const NodeSpec& node,
                          const ConnectOptions& connect) mutable -> Result<std::unique_ptr<Connection>> {
    if (std::exchange(met, true)) return failure(ErrorCode::kUnreachable, "connection refused");
    return usual(node, connect);
  };
  const auto client = AgentClient::open(test::node("anna"), options, {});
  REQUIRE_FALSE(client);
  CHECK(client.error().message == "connection refused");
}

}  // namespace sparkplan
