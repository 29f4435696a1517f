// The connection behind a running sparkplan-copy.
#include "engine/remote/programs/copy_client.h"

#include "tests/support/catch.h"
#include "tests/unit/sync/copy_nodes.h"

namespace sparkplan {
namespace {

using test::CopyNode;

/// The address of a node whose connection leads to `of_connection`.
std::string management_address(const std::string& of_connection, const std::string& in_file) {
  std::vector<CopyNode> nodes(1);
  nodes[0].remote.host().address = of_connection;
  Cluster cluster = test::on_a_switch(1);
  cluster.nodes[0].address = in_file;
  const auto client = CopyClient::open(cluster.nodes[0], test::options_for(nodes, 1));
  REQUIRE(client);
  return client->management_address();
}

}  // namespace

TEST_CASE("copy client: the management address is the connection's, so that no name has to be looked up") {
  CHECK(management_address("10.0.0.5", "spark-01.invalid") == "10.0.0.5");
  CHECK(management_address("fd00::5", "10.0.0.7") == "fd00::5");
}

TEST_CASE("copy client: behind a jump host or a forwarded port, only an address in the file is known") {
  for (const std::string of_connection : {"", "127.0.0.1", "::1", "fe80::1%eth0"}) {
    INFO(of_connection);
    CHECK(management_address(of_connection, "10.0.0.7") == "10.0.0.7");
    CHECK(management_address(of_connection, "localhost").empty());
  }
}

TEST_CASE("copy client: a program that could not be started again takes no commands") {
  std::vector<CopyNode> nodes(1);
  const Cluster cluster = test::on_a_switch(1);
  auto client = CopyClient::open(cluster.nodes[0], test::options_for(nodes, 1));
  REQUIRE(client);
  REQUIRE_FALSE(client->restart());
  const auto sent = client->send(CopyAlive{});
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == ErrorCode::kUnreachable);
  CHECK_FALSE(client->receive(std::chrono::milliseconds(0)));
}

TEST_CASE("copy client: the login user is known after a new connection has failed") {
  CopyNode host;
  host.remote.host().user = "nvidia";
  host.remote.add(test::behind_sudo(test::copy_program(test::honest)));
  AgentOptions options = host.remote.options(InstallPolicy::kNever);
  options.become_password = test::secret("secret");
  const auto connect = options.connector;
  options.connector = [&, connect](const NodeSpec& spec,
                                   const ConnectOptions& how) -> Result<std::unique_ptr<Connection>> {
    if (host.remote.host().connections > 0) return failure(ErrorCode::kUnreachable, "no route to host");
    return connect(spec, how);
  };
  const Cluster cluster = test::on_a_switch(1);
  auto client = CopyClient::open(cluster.nodes[0], options);
  REQUIRE(client);
  REQUIRE_FALSE(client->restart());
  CHECK(client->user() == "nvidia");
}

}  // namespace sparkplan
