// Ctrl-C and killed processes in the middle of an apply.
#include <algorithm>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/held_agent.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

// Several steps on one host: four parameters and two files.
const std::string kSections = R"(
sysctl: {net.core.somaxconn: 8192, net.ipv4.tcp_fin_timeout: 30, net.ipv4.tcp_syncookies: 2, net.ipv4.tcp_retries2: 8}
profile_env: {HF_HOME: /mnt/models/hf}
)";

/// The events of all journals of a host: "intent", "result", "commit".
std::vector<std::string> journal_of(const Host& host) {
  std::vector<std::string> events;
  for (const auto& entry : std::filesystem::directory_iterator(host.path(kJournalDirectory))) {
    const auto journal = host.text(kJournalDirectory + "/" + entry.path().filename().string()).value();
    for (const auto line : lines_of(journal)) {
      events.push_back(Json::parse(line).at("event"));
    }
  }
  return events;
}

auto count_of(const std::vector<std::string>& events, const std::string& event) {
  return std::count(events.begin(), events.end(), event);
}

void require_converges(const Controller& controller, const Host& host) {
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.sysctl("net.ipv4.tcp_retries2") == "8");
  CHECK(host.login_variable("HF_HOME") == "/mnt/models/hf");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(controller.run({"drift"}), 0);
}

TEST_CASE("interrupt: Ctrl-C finishes the current step, prints the summary and leaves no lock") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  Terminal terminal(controller.command({"apply"}));
  REQUIRE(terminal.wait_for("Apply these changes?"));
  {
    HeldAgent agent(host);
    terminal.type("y\n");
    agent.run_to_journal_sync(2);  // The first step is done, the second is about to begin.
    terminal.interrupt();
    REQUIRE(terminal.wait_for("stopping"));
    REQUIRE(eventually([&] { return agent.has_input(); }));
  }
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 4);
  CHECK(contains(terminal.transcript(), "not done"));
  CHECK(contains(terminal.transcript(), "done"));
  const auto events = journal_of(host);
  CHECK(count_of(events, "intent") == 2);
  CHECK(count_of(events, "result") == 2);
  require_converges(controller, host);
}

TEST_CASE("interrupt: Ctrl-C at the question changes nothing") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  Terminal terminal(controller.command({"apply"}));
  REQUIRE(terminal.wait_for("Apply these changes?"));
  terminal.interrupt();
  REQUIRE(terminal.wait_for("Nothing was changed", seconds(5)));
  const auto code = terminal.finish(seconds(10));
  INFO(terminal.transcript());
  CHECK(code == 1);
  CHECK_FALSE(host.has("/var/lib/sparkplan"));
}

TEST_CASE("interrupt: Ctrl-C ends a run soon while a node does not answer") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  host.remove(kAgentFile);
  host.write(kAgentFile, "#!/bin/sh\necho $$ >>/run/lab-pids\nexec sleep 1000\n", 0755);
  Terminal terminal(controller.command({"plan"}));
  REQUIRE(eventually([&] { return host.run({"test", "-s", "/run/lab-pids"}).exit_status == 0; }));
  terminal.interrupt();
  const auto code = terminal.finish(seconds(15));
  INFO(terminal.transcript());
  REQUIRE(code.has_value());
  CHECK(code != 0);
}

TEST_CASE("interrupt: a controller that is killed leaves no lock, and the next apply converges") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  Terminal terminal(controller.command({"apply"}));
  REQUIRE(terminal.wait_for("Apply these changes?"));
  {
    HeldAgent agent(host);
    terminal.type("y\n");
    agent.run_to_journal_sync(2);
    terminal.kill();
    REQUIRE(terminal.finish(seconds(10)) == 128 + 9);
    REQUIRE(eventually([&] { return agent.has_input(); }));  // The end of file on the agent's input.
  }
  REQUIRE(eventually([&] {
    const auto plan = controller.run({"plan", "--json"});
    return plan.code == 0 && !node_in(plan.report(), "spark-01").contains("lock_holder");
  }));
  const auto events = journal_of(host);
  CHECK(count_of(events, "intent") == 2);
  CHECK(count_of(events, "result") == 2);
  require_converges(controller, host);
}

TEST_CASE("interrupt: an agent that dies in the middle of a step is reported, and the next apply converges") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  Terminal terminal(controller.command({"apply"}));
  REQUIRE(terminal.wait_for("Apply these changes?"));
  {
    HeldAgent agent(host);
    terminal.type("y\n");
    agent.run_to_journal_sync(3);  // The second step is made; that it is done is not on the disk yet.
    agent.kill();
  }
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 4);
  CHECK(second.sysctl("net.core.somaxconn") == "8192");
  require_converges(controller, host);
  // The manifest still has the value from before sparkplan.
  controller.cluster("profile_env: {HF_HOME: /mnt/models/hf}\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.sysctl("net.core.somaxconn") == "4096");
  CHECK(host.sysctl("net.ipv4.tcp_retries2") == "15");
}

TEST_CASE("interrupt: a node that loses power in the middle of a step is reported, and converges later") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  Terminal terminal(controller.command({"apply"}));
  REQUIRE(terminal.wait_for("Apply these changes?"));
  {
    HeldAgent agent(host);
    terminal.type("y\n");
    agent.run_to_journal_sync(3);
    Lab::get().stop(1);
  }
  terminal.interrupt();
  const auto code = terminal.finish(seconds(90));
  Lab::get().start(1);
  INFO(terminal.transcript());
  CHECK(code == 4);
  require_converges(controller, host);
}

}  // namespace
}  // namespace sparkplan::test
