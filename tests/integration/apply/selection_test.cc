// --only, --exclude, and commands that only report.
#include <algorithm>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections =
    "sysctl: {net.core.somaxconn: 8192, net.ipv4.tcp_syncookies: 2}\nprofile_env: {HF_HOME: /mnt}\n";

struct TwoHosts {
  TwoHosts() { controller.cluster(kSections + nodes_of_lab(2)); }
  const Host first{1};
  const Host second{2};
  const Controller controller;
};

TEST_CASE("selection: --only NODE changes no other node") {
  const TwoHosts hosts;
  const auto run = hosts.controller.run({"apply", "--yes", "--json", "--only", "spark-01"});
  require_exit(run, 0);
  const auto report = run.report();
  CHECK(report.at("partial") == true);
  CHECK(node_in(report, "spark-02").at("status") == "skipped");
  CHECK(hosts.first.sysctl("net.core.somaxconn") == "8192");
  CHECK(hosts.second.sysctl("net.core.somaxconn") == "4096");
  CHECK_FALSE(hosts.second.has(kAgentFile));
}

TEST_CASE("selection: --only NODE/TYPE/NAME makes that change, and all others stay pending") {
  const TwoHosts hosts;
  require_exit(hosts.controller.run({"apply", "--yes", "--only", "spark-01/sysctl/net.core.*"}), 0);
  CHECK(hosts.first.sysctl("net.core.somaxconn") == "8192");
  CHECK(hosts.first.sysctl_at_boot("net.core.somaxconn") == "8192");
  CHECK(hosts.first.sysctl("net.ipv4.tcp_syncookies") == "1");
  CHECK(hosts.first.sysctl_at_boot("net.ipv4.tcp_syncookies").empty());
  CHECK_FALSE(hosts.first.has(kProfileFile));
  require_exit(hosts.controller.run({"plan", "--detailed-exitcode"}), 2);
  require_exit(hosts.controller.run({"apply", "--yes"}), 0);
  require_exit(hosts.controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("selection: --exclude leaves out matching changes") {
  const TwoHosts hosts;
  require_exit(hosts.controller.run({"apply", "--yes", "--exclude", "*/profile_env"}), 0);
  CHECK(hosts.first.sysctl("net.core.somaxconn") == "8192");
  CHECK_FALSE(hosts.first.has(kProfileFile));
  CHECK_FALSE(hosts.second.has(kProfileFile));
  require_exit(hosts.controller.run({"drift", "--exclude", "spark-02"}), 0);
}

TEST_CASE("selection: a glob that matches no node or no resource type is a usage error") {
  const TwoHosts hosts;
  for (const std::string pattern : {"spark-7*", "spark-01/sysctk"}) {
    const auto run = hosts.controller.run({"plan", "--only", pattern});
    require_exit(run, 1);
    CHECK(contains(run.err, pattern));
  }
  CHECK_FALSE(hosts.first.has(kAgentFile));
}

TEST_CASE("selection: excluded resources are not removed") {
  const TwoHosts hosts;
  require_exit(hosts.controller.run({"apply", "--yes"}), 0);
  hosts.controller.cluster("sysctl: {net.core.somaxconn: 9000}\n" + nodes_of_lab(2));
  require_exit(hosts.controller.run({"apply", "--yes", "--only", "spark-0*/sysctl/net.core.somaxconn"}), 0);
  CHECK(hosts.first.sysctl("net.core.somaxconn") == "9000");
  CHECK(hosts.first.sysctl("net.ipv4.tcp_syncookies") == "2");
  CHECK(hosts.first.login_variable("HF_HOME") == "/mnt");
}

TEST_CASE("report: status has a line per node, its errors, and the software once") {
  const TwoHosts hosts;
  require_exit(hosts.controller.run({"apply", "--yes"}), 0);
  Lab::get().stop(2);
  const auto run = hosts.controller.run({"status", "--timeout", "3s"});
  Lab::get().start(2);
  require_exit(run, 4);
  CHECK(contains(run.out, "spark-01  in sync"));
  CHECK(contains(run.out, "spark-02  unreachable"));
  CHECK(contains(run.out, "this build"));
  CHECK(contains(run.out, "Status: 1 in sync, 1 unreachable."));
}

TEST_CASE("report: a node that was never applied is no failure of status, in text and JSON") {
  const TwoHosts hosts;
  const auto run = hosts.controller.run({"status", "--json"});
  require_exit(run, 0);
  const auto status = run.document("status.schema.json");
  CHECK(status.at("command") == "status");
  CHECK(status.at("nodes").at(0).at("status") == "pending");
  CHECK(status.at("nodes").at(0).at("agent") == "none");
  CHECK(contains(hosts.controller.run({"status"}).out, "spark-01  not applied"));
}

TEST_CASE("report: a set of nodes selects as sparkplan prints it") {
  const TwoHosts hosts;
  const auto doctor = Json::parse(hosts.controller.run({"doctor", "--only", "spark-02", "--json"}).out);
  for (const auto& check : doctor.at("checks")) CHECK(check.at("nodes") == Json::array({"spark-02"}));
  const auto run = hosts.controller.run({"plan", "--json", "--only", "spark-[01-02]"});
  require_exit(run, 0);
  CHECK(run.report().at("nodes").size() == 2);
  require_exit(hosts.controller.run({"plan", "--only", "spark-[01-03]"}), 1);
}

TEST_CASE("report: facts are JSON about all nodes, or about the requested node") {
  const TwoHosts hosts;
  require_exit(hosts.controller.run({"plan"}), 0);
  const auto all = hosts.controller.run({"facts", "--json"});
  require_exit(all, 0);
  const auto facts = Json::parse(all.out);
  CHECK(facts.at("format_version") == "1.0");
  REQUIRE(facts.at("nodes").size() == 2);
  CHECK(facts.at("nodes").at(0).at("name") == "spark-01");
  CHECK(contains(facts.dump(), hosts.first.shell("uname -r")));
  CHECK(contains(facts.dump(), "enp1s0f1np1"));
  const auto one = hosts.controller.run({"facts", "spark-02", "--json"});
  require_exit(one, 0);
  CHECK(Json::parse(one.out).at("nodes").size() == 1);
  require_exit(hosts.controller.run({"facts", "spark-77"}), 1);
}

TEST_CASE("report: validate, schema, types and version need no node") {
  const TwoHosts hosts;
  for (const Words& command : {Words{"validate"}, Words{"schema"}, Words{"types"}, Words{"version"}, Words{"--help"}}) {
    const auto run = hosts.controller.run(command);
    require_exit(run, 0);
    CHECK_FALSE(run.out.empty());
  }
  CHECK(Json::accept(hosts.controller.run({"schema"}).out));
  require_exit(hosts.controller.run({"plan", "--no-such-flag"}), 1);
  require_exit(hosts.controller.run({}), 1);
  CHECK_FALSE(hosts.first.has(kAgentFile));
}

}  // namespace
}  // namespace sparkplan::test
