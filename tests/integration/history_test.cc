// Past runs, going back, and locks to be broken, on real hosts.
#include "tests/integration/controller.h"
#include "tests/integration/held_agent.h"
#include "tests/integration/host.h"
#include "tests/integration/lock_taker.h"
#include "tests/integration/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

Json json_of(const Run& run) { return Json::parse(run.out); }

}  // namespace

TEST_CASE("history: a rollback puts live values and files back, and the next plan shows them as pending") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster("sysctl: {net.core.somaxconn: 9000}\nhosts: {suffix: -fabric}\nprofile_env: {HF_HOME: /mnt/hf}\n" +
                     nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"rollback"}), 1);  // No terminal to ask on.
  const auto rollback = controller.run({"rollback", "--yes"});
  require_exit(rollback, 0);
  CHECK(contains(rollback.err, "still asks for the other state"));
  for (const Host* host : {&first, &second}) {
    CHECK(host->sysctl("net.core.somaxconn") == "8192");
    CHECK(host->sysctl_at_boot("net.core.somaxconn") == "8192");
    CHECK_FALSE(host->has(kProfileFile));
  }
  require_exit(controller.run({"drift"}), 0);
  const auto plan = controller.run({"plan", "--json", "--detailed-exitcode"});
  require_exit(plan, 2);
  CHECK(change_in(plan.report(), "spark-01/sysctl/net.core.somaxconn").at("origin") == "config");

  const auto runs = json_of(controller.run({"history", "--json"})).at("runs");
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].at("operation") == "rollback");
  CHECK(runs[0].at("undoes") == runs[1].at("run"));
  CHECK(runs[1].at("outcome") == "rolled_back");
  CHECK(runs[2].at("outcome") == "applied");
  const auto one = controller.run({"history", "spark-02"});
  require_exit(one, 0);
  CHECK(contains(one.out, "/etc/profile.d/sparkplan-env.sh"));

  require_exit(controller.run({"rollback", "--yes"}), 0);
  CHECK(first.sysctl("net.core.somaxconn") == "4096");
  CHECK_FALSE(second.has(kSysctlFile));
}

TEST_CASE("history: a run whose agent was killed is broken off, and what it did can be undone") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\nprofile_env: {HF_HOME: /mnt/hf}\n" + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  // The agent has asked for nothing yet when the question stands there.
  Terminal terminal(controller.command({"apply"}));
  REQUIRE(terminal.wait_for("Apply these changes?"));
  HeldAgent agent(host);
  terminal.type("yes\n");
  agent.run_to_journal_sync(3);
  agent.kill();
  (void)terminal.finish();
  const auto runs = json_of(controller.run({"history", "spark-01", "--json"})).at("runs");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].at("outcome") == "broken_off");
  require_exit(controller.run({"rollback", "--yes"}), 0);
  CHECK_FALSE(host.has(kProfileFile));
  CHECK_FALSE(host.has(kSysctlFile));
  CHECK(host.sysctl("net.core.somaxconn") == "4096");
}

TEST_CASE("unlock: names the holder, ends its agent and no other, and says when nobody holds the lock") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  const auto nobody = controller.run({"unlock", "spark-01", "--yes"});
  require_exit(nobody, 0);
  CHECK(contains(nobody.out, "Nobody holds the lock"));
  const LockTaker other(host, "anna@laptop");
  require_exit(controller.run({"unlock", "spark-01"}), 1);  // No terminal to ask on.
  require_exit(controller.run({"apply", "--yes"}), 6);
  host.shell("mkdir -p /var/lib/sparkplan/txn/1 && touch /var/lib/sparkplan/txn/1/armed");
  require_exit(controller.run({"unlock", "spark-01", "--yes"}), 9);
  host.shell("rm -r /var/lib/sparkplan/txn");
  const auto broken = controller.run({"unlock", "spark-01", "--yes"});
  require_exit(broken, 0);
  CHECK(contains(broken.out, "anna@laptop"));
  require_exit(controller.run({"apply", "--yes"}), 0);
}

}  // namespace sparkplan::test
