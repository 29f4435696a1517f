// Past runs, rollback to them, and forced unlocking, on real hosts.
#include <filesystem>
#include <fstream>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/held_agent.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/lock_taker.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

Json json_of(const Run& run) { return run.document("history.schema.json"); }

}  // namespace

TEST_CASE("history: a rollback restores live values and files, and the next plan lists them as pending") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster("sysctl: {net.core.somaxconn: 9000}\nhosts: {suffix: -fabric}\nprofile_env: {HF_HOME: /mnt/hf}\n" +
                     nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"rollback"}), 1);  // Fails: there is no terminal to ask on.
  const auto rollback = controller.run({"rollback", "--yes"});
  require_exit(rollback, 0);
  CHECK(contains(rollback.err, "the next plan shows the difference as pending"));
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

TEST_CASE("history: a run whose agent was killed is broken off, and a rollback undoes its changes") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\nprofile_env: {HF_HOME: /mnt/hf}\n" + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  // The question appears before the agent is asked for any change, so no step is missed.
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

TEST_CASE("history: a rollback of network, unit and trust is on trial like an apply, and leaves nothing") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  const std::string keep = "sysctl: {net.core.somaxconn: 8192}\n";
  controller.cluster(keep + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  // Earlier cases may have changed the interfaces and the user's keys.
  const auto state = [](const Host& host) {
    return std::to_string(mtu_of(host, "enP2p1s0f1np1")) +
           host.shell("ls -A /home/operator/.ssh | sort; cat /home/operator/.ssh/authorized_keys");
  };
  const auto before = state(first) + state(second);
  const std::string all = keep + R"(fabric: {topology: switch, port: 1}
ssh_trust: {users: [operator]}
units: [{name: sparkplan-test-tune.service, content: "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n", state: started}]
)" + nodes_of_lab(2);
  controller.cluster(all);
  require_exit(controller.run({"apply", "--yes"}), 0);
  REQUIRE(addresses_of(first, "enp1s0f1np1") == Addresses{"192.168.100.11/24"});
  const auto history = json_of(controller.run({"history", "spark-01", "--json"}));
  CHECK(history.at("runs").at(0).at("artifacts").size() > 4);

  require_exit(controller.run({"rollback", "--yes", "--confirm-timeout", "1s"}), 1);
  require_exit(controller.run({"rollback", "--yes", "--confirm-timeout", "30s", "--max-parallel", "1"}), 0);
  for (const Host* host : {&first, &second}) {
    INFO("on " << host->name());
    CHECK(addresses_of(*host, "enp1s0f1np1").empty());
    CHECK_FALSE(host->has("/etc/netplan/60-sparkplan-fabric.yaml"));
    CHECK_FALSE(host->has("/etc/systemd/system/sparkplan-test-tune.service"));
    CHECK(host->sysctl("net.core.somaxconn") == "8192");
    CHECK(host->shell("systemctl list-timers --all --no-legend 'sparkplan-rollback*'").empty());
    CHECK_FALSE(host->has("/var/lib/sparkplan/txn"));
  }
  CHECK(state(first) + state(second) == before);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 2);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(addresses_of(first, "enp1s0f1np1") == Addresses{"192.168.100.11/24"});
  controller.cluster(nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
}

TEST_CASE("history: runs on a node that left are listed from the controller's own log") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  const std::string settings = "sysctl: {net.core.somaxconn: 8192}\n";
  controller.cluster(settings + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"release", "spark-02", "--yes"}), 0);
  controller.cluster(settings + nodes_of_lab(1));
  const auto runs = json_of(controller.run({"history", "--json"})).at("runs");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].at("operation") == "release");
  CHECK(runs[0].at("left_nodes") == Json::array({"spark-02"}));
  CHECK(runs[1].at("operation") == "apply");
  CHECK(runs[1].at("nodes") == Json::array({"spark-01", "spark-02"}));
  CHECK(runs[1].at("left_nodes") == Json::array({"spark-02"}));
  const auto text = controller.run({"history", "spark-02"});
  require_exit(text, 0);
  CHECK(contains(text.out, "on spark-02 (no longer in the cluster, from this controller's log)"));
  CHECK(contains(text.out, "today "));
  const auto unknown = controller.run({"history", "spark-07"});
  require_exit(unknown, 1);

  // Without the log, the journals remain. A log that cannot be written changes no exit code.
  const auto log = controller.home() / ".local/state/sparkplan";
  REQUIRE(std::filesystem::exists(log / "runs.jsonl"));
  std::filesystem::remove_all(log);
  std::ofstream(log) << "";
  controller.cluster("sysctl: {net.core.somaxconn: 9000}\n" + nodes_of_lab(1));
  const auto apply = controller.run({"apply", "--yes", "-v"});
  require_exit(apply, 0);
  CHECK(contains(apply.err, "the run is not in this controller's log"));
  const auto without = controller.run({"history", "--json"});
  require_exit(without, 0);
  CHECK(json_of(without).at("runs").size() == 3);
}

TEST_CASE("unlock: names the holder, ends only its agent, and reports a lock that is free") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  const auto nobody = controller.run({"unlock", "spark-01", "--yes"});
  require_exit(nobody, 0);
  CHECK(contains(nobody.out, "No run holds the lock"));
  const LockTaker other(host, "anna@laptop");
  require_exit(controller.run({"unlock", "spark-01"}), 1);  // Fails: there is no terminal to ask on.
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
