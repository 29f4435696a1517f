// The logins of a run: of a command that consists of two runs (`apply --verify`), and of a release.
#include "engine/cli/input/load_command.h"

#include <memory>
#include <stop_token>

#include "engine/remote/keys/unlocked_keys.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("a second run of the process has the password and the unlocked keys of the first, and asks for nothing") {
  constexpr std::string_view kText =
      "version: 1\nname: lab\nssh: {user: root}\nnodes:\n  - {name: n1, address: 192.0.2.1}\n";
  const auto loaded = load_cluster(std::string(kText), "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  const auto console = Console::open(0, true, true, "");
  REQUIRE(console);
  GlobalOptions global;
  global.ask_become_pass = true;
  AgentOptions login;
  login.connect.keys = std::make_shared<UnlockedKeys>(
      [](const KeyQuestion&) -> Result<Secret> { return failure(ErrorCode::kBug, "asked again"); });
  auto password = Secret::copy_of("hunter2");
  REQUIRE(password);
  login.become_password = *password;
  const auto second = run_options("verify", *loaded.cluster, {}, global, std::stop_token(), *console, &login);
  REQUIRE(second);
  CHECK(second->agent.become_password.text() == "hunter2");
  CHECK(second->agent.connect.keys == login.connect.keys);
  CHECK(second->agent.connect.recorded == login.connect.recorded);
  CHECK(second->agent.connect.config == login.connect.config);
}

TEST_CASE("release: the only node that needs ssh is reached as the file and the ssh configuration say") {
  auto loaded = load_cluster("version: 1\nname: lab\nnodes:\n  - {name: n1, address: spark-01}\n", "cluster.yaml",
                             builtin_registry());
  REQUIRE(loaded.cluster);
  const NodeSpec released = loaded.cluster->nodes.front();
  // `release` plans the file without the node.
  loaded.cluster->nodes.clear();
  const auto console = Console::open(0, true, true, "");
  REQUIRE(console);
  const auto with = run_options("release", *loaded.cluster, {}, {}, std::stop_token(), *console, nullptr, &released);
  REQUIRE(with);
  CHECK(with->agent.connect.config);
  // The passphrase of a key is asked for.
  CHECK(with->agent.connect.keys);
  const auto without = run_options("release", *loaded.cluster, {}, {}, std::stop_token(), *console);
  REQUIRE(without);
  CHECK_FALSE(without->agent.connect.config);
}

}  // namespace sparkplan
