// Logins that become root with sudo.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = "sysctl: {net.core.somaxconn: 8192}\n";
constexpr const char* kPassword = "lab-password";

TEST_CASE("sudo: a sudo that requires a password is reported with a remedy") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1, "guarded"));
  const auto run = controller.run({"plan"});
  require_exit(run, 4);
  CHECK(contains(run.out, "spark-01"));
  CHECK(contains(run.out, "sudo"));
  CHECK(contains(run.out, "--ask-become-pass"));
  CHECK(run.took < seconds(20));
}

TEST_CASE("sudo: --ask-become-pass asks once, for all nodes, and never shows the password") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2, "guarded"));
  Terminal terminal(controller.command({"apply", "--yes", "--ask-become-pass", "-vv", "--log-file", "log"}));
  REQUIRE(terminal.wait_for("Password"));
  terminal.type(std::string(kPassword) + "\n");
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 0);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(second.sysctl("net.core.somaxconn") == "8192");
  CHECK_FALSE(contains(terminal.transcript(), kPassword));
  CHECK_FALSE(contains(controller.text("log"), kPassword));
  CHECK(host.run({"grep", "-rq", kPassword, "/var/lib/sparkplan", "/var/log"}).exit_status == 1);
}

TEST_CASE("sudo: a password that is not needed has no effect") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1, "operator"));
  Terminal terminal(controller.command({"apply", "--yes", "--ask-become-pass"}));
  REQUIRE(terminal.wait_for("Password"));
  terminal.type("anything\n");
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 0);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("sudo: a wrong password is tried once, and the run ends soon") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1, "guarded"));
  const auto begin = std::chrono::steady_clock::now();
  Terminal terminal(controller.command({"plan", "--ask-become-pass"}));
  REQUIRE(terminal.wait_for("Password"));
  terminal.type("wrong\n");
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 4);
  CHECK(contains(terminal.transcript(), "password"));
  CHECK(std::chrono::steady_clock::now() - begin < seconds(20));
}

TEST_CASE("sudo: --ask-become-pass without a terminal is a usage error") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1, "guarded"));
  auto command = controller.command({"plan", "--ask-become-pass"});
  command.insert(command.begin(), {"setsid", "--wait"});
  CHECK(run_program(command).exit_status == 1);
  CHECK_FALSE(host.has(kAgentFile));
}

TEST_CASE("sudo: a user without permission for sudo is reported") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1, "nobodysudo"));
  const auto run = controller.run({"plan"});
  require_exit(run, 4);
  CHECK(contains(run.out, "sudo"));
  CHECK_FALSE(host.has(kAgentFile));
}

}  // namespace
}  // namespace sparkplan::test
