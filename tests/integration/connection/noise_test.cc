// Nodes that print garbage, flood the connection or hang: each run ends in time and reports the cause.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = "sysctl: {net.core.somaxconn: 8192}\n";
constexpr auto kBound = seconds(90);

/// A shell script that records its process id, so that the next case can kill it.
std::string script(const std::string& body) { return "#!/bin/sh\necho $$ >>/run/lab-pids\n" + body; }

void replace_agent(const Host& host, const std::string& body) {
  host.remove(kAgentFile);
  host.write(kAgentFile, script(body), 0755);
}

void require_bounded_failure(const Run& run) {
  require_exit(run, 4);
  CHECK(run.took < kBound);
  CHECK(contains(run.out, "spark-01"));
  CHECK(run.out.size() + run.err.size() < 20'000);
  for (const char c : run.out + run.err) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\n') FAIL_CHECK("a control character reached the terminal");
  }
}

TEST_CASE("noise: a greeting that a shell prints on every command is ignored") {
  for (const std::string user : {"root", "operator"}) {
    const Host host(1);
    const Controller controller;
    const std::string home = user == "root" ? "/root" : "/home/operator";
    host.write(home + "/.bashrc", "echo 'Welcome to spark!'; echo 'mind the gap' >&2; printf '\\001\\033[31mred'\n");
    controller.cluster(kSections + nodes_of_lab(1, user));
    const auto run = controller.run({"apply", "--yes"});
    require_exit(run, 0);
    CHECK(host.sysctl("net.core.somaxconn") == "8192");
    require_exit(controller.run({"drift"}), 0);
  }
}

TEST_CASE("noise: a shell that prints without end is disconnected") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  host.write("/root/.bashrc", script("while :; do echo 'all work and no play makes spark a dull node'; done\n"));
  controller.cluster(kSections + nodes_of_lab(2));
  const auto run = controller.run({"apply", "--yes"});
  require_bounded_failure(run);
  CHECK(second.sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("noise: shells and agents that hang or flood end a run within its deadline") {
  const Host first(1);
  const Host second(2);
  const Host third(3);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(3));
  require_exit(controller.run({"apply", "--yes"}), 0);
  // The three faults run in parallel, because each one lasts until the reply deadline.
  first.write("/root/.bashrc", script("exec sleep 1000\n"));
  replace_agent(second, "exec sleep 1000\n");
  replace_agent(third, "while :; do echo 'disk on fire' >&2; done\n");
  const auto run = controller.run({"drift", "--json"}, seconds(120));
  require_exit(run, 4);
  CHECK(run.took < kBound);
  const auto report = run.report();
  for (const std::string name : {"spark-01", "spark-02", "spark-03"}) {
    INFO(name);
    const auto& node = node_in(report, name);
    CHECK((node.at("status") == "unreachable" || node.at("status") == "failed"));
    CHECK_FALSE(node.at("error").at("message").get<std::string>().empty());
  }
  CHECK(run.out.size() < 20'000);
}

TEST_CASE("noise: an agent that prints garbage is reported with its output") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  replace_agent(host, "printf '\\000\\033[2J\\007I am no agent\\n'\n");
  const auto run = controller.run({"plan"});
  require_bounded_failure(run);
  CHECK(contains(run.out, "I am no agent"));
}

TEST_CASE("noise: an agent that floods its output is disconnected") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  replace_agent(host, "while :; do echo 'y'; done\n");
  const auto run = controller.run({"plan"});
  require_bounded_failure(run);
  CHECK(run.took < seconds(20));
}

TEST_CASE("noise: an agent that announces an oversized frame is disconnected") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  replace_agent(host, "printf '\\000\\001SPARKPLAN-FRAMES\\n\\377\\377\\377\\377'; exec cat /dev/zero\n");
  const auto run = controller.run({"plan"});
  require_bounded_failure(run);
  CHECK(run.took < seconds(20));
}

TEST_CASE("noise: an agent that fails at once is reported with its last output") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  replace_agent(host, "echo 'Exec format error' >&2; exit 3\n");
  const auto run = controller.run({"plan"});
  require_bounded_failure(run);
  CHECK(contains(run.out, "Exec format error"));
}

TEST_CASE("noise: plan works with another build of the agent, and apply updates the agent") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  const auto ours = host.text(kAgentFile);
  // The build id is in an ELF note near the beginning of the file; one changed byte makes another build.
  auto other = *ours;
  const std::string note("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
  const auto at = other.find(note);
  REQUIRE(at != std::string::npos);
  other[at + note.size()] = static_cast<char>(~other[at + note.size()]);
  host.remove(kAgentFile);
  host.write(kAgentFile, other, 0755);
  require_exit(controller.run({"plan"}), 0);
  CHECK((host.text(kAgentFile) == other));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK((host.text(kAgentFile) == ours));
}

TEST_CASE("noise: a shell that ends every command at once is reported") {
  const Host host(1);
  const Controller controller;
  host.write("/root/.bashrc", "exit 7\n");
  controller.cluster(kSections + nodes_of_lab(1));
  const auto run = controller.run({"plan"});
  require_bounded_failure(run);
}

}  // namespace
}  // namespace sparkplan::test
