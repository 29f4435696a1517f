// Two runs at the same time.
#include <memory>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/lock_taker.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = "sysctl: {net.core.somaxconn: 8192}\n";

/// Two hosts with the agent installed and nothing applied.
struct Planned {
  Planned() {
    controller.cluster(kSections + nodes_of_lab(2));
    require_exit(controller.run({"plan"}), 0);
  }
  const Host first{1};
  const Host second{2};
  const Controller controller;
};

TEST_CASE("lock: apply ends at once while another run is active, names it and writes nothing") {
  const Planned planned;
  const LockTaker other(planned.first, "anna@laptop");
  const auto run = planned.controller.run({"apply", "--yes"});
  require_exit(run, 6);
  CHECK(run.took < seconds(10));
  CHECK(contains(run.out, "anna@laptop"));
  CHECK(contains(run.out, "spark-01"));
  CHECK(planned.first.sysctl("net.core.somaxconn") == "4096");
  CHECK(planned.second.sysctl("net.core.somaxconn") == "4096");
  CHECK_FALSE(planned.second.has(kManifestFile));
}

TEST_CASE("lock: --lock-timeout waits until the other run has ended") {
  const Planned planned;
  auto other = std::make_unique<LockTaker>(planned.first, "anna@laptop");
  Terminal terminal(planned.controller.command({"apply", "--yes", "--lock-timeout", "60s"}));
  // The run has reached the lock by then. It is still running three seconds later, so it waits.
  REQUIRE(terminal.wait_for("spark-01"));
  CHECK_FALSE(terminal.finish(seconds(3)).has_value());
  other.reset();
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 0);
  CHECK(planned.first.sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("lock: --lock-timeout ends the wait after its time") {
  const Planned planned;
  const LockTaker other(planned.second, "anna@laptop");
  const auto run = planned.controller.run({"apply", "--yes", "--lock-timeout", "2s"});
  require_exit(run, 6);
  CHECK(run.took < seconds(15));
  CHECK(contains(run.out, "anna@laptop"));
}

TEST_CASE("lock: plan, drift and status read despite a lock, and name its holder") {
  const Planned planned;
  const LockTaker other(planned.first, "anna@laptop");
  const auto plan = planned.controller.run({"plan", "--json"});
  require_exit(plan, 0);
  CHECK(contains(node_in(plan.report(), "spark-01").at("lock_holder").get<std::string>(), "anna@laptop"));
  require_exit(planned.controller.run({"drift"}), 0);
  const auto status = planned.controller.run({"status"});
  require_exit(status, 0);
  CHECK(contains(status.out, "anna@laptop"));
}

TEST_CASE("lock: the holder's name cannot control the terminal") {
  const Planned planned;
  const LockTaker other(planned.first, "anna\033[2J@laptop");
  const auto run = planned.controller.run({"apply", "--yes"});
  require_exit(run, 6);
  CHECK_FALSE(contains(run.out + run.err, "\033"));
}

TEST_CASE("lock: an apply leaves no lock behind") {
  const Planned planned;
  require_exit(planned.controller.run({"apply", "--yes"}), 0);
  const auto plan = planned.controller.run({"plan", "--json"});
  CHECK_FALSE(node_in(plan.report(), "spark-01").contains("lock_holder"));
}

}  // namespace
}  // namespace sparkplan::test
