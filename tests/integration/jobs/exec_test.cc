// `exec` over SSH: output, exit codes, and that nothing is left behind.
#include <signal.h>

#include <fstream>

#include "tests/integration/lab/job_hosts.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kStarter = "/usr/local/libexec/sparkplan/sparkplan-job";

/// A controller that logs in to all hosts as an ordinary user.
struct AllHosts : JobHosts {
  AllHosts() : JobHosts("pkill -KILL -f '[s]leep 31[0-9][0-9]' || true; rm -f " + kStarter) {
    controller.cluster(nodes_of_lab(Lab::kHosts, "operator"));
  }
};

/// Sleeps in three ways: as itself, in the background, and in a new session.
Words sleep_everywhere(const std::string& time) {
  return {"exec", "--", "sh", "-c", "sleep " + time + " & setsid sleep " + time + " & exec sleep " + time};
}

}  // namespace

TEST_CASE("exec: all nodes run the command as the login user, and each line names its node") {
  const AllHosts all;
  const auto run = all.controller.run({"exec", "--", "sh", "-c", "id -un; uname -n; echo warning >&2"});
  require_exit(run, 0);
  for (const Host& host : all.hosts) {
    CHECK(contains(run.out, host.name() + ": operator\n"));
    CHECK(contains(run.err, host.name() + ": warning\n"));
    CHECK(host.shell("stat -c '%a %U:%G' " + kStarter) == "755 root:root");
    CHECK_FALSE(host.has(kAgentFile));
  }
  CHECK(contains(run.err, "exec: succeeded on 8 nodes."));
}

TEST_CASE("exec: arguments reach the command as they are") {
  const AllHosts all;
  const std::string odd = "a b'\"$(id)`;|& [x,y] *";
  const auto run = all.controller.run({"exec", "--only", "spark-01", "--", "printf", "%s|%s\n", odd, "--only"});
  require_exit(run, 0);
  CHECK(run.out == "spark-01: " + odd + "|--only\n");
}

TEST_CASE("exec: a failure on one node is 10, and the JSON has the end of each rank") {
  const AllHosts all;
  const auto run = all.controller.run({"exec", "--json", "--", "sh", "-c", "echo hi; test $(uname -n) != spark-03"});
  require_exit(run, 10);
  const auto report = run.document("job.schema.json");
  CHECK(report.at("nodes").size() == Lab::kHosts);
  for (const auto& node : report.at("nodes")) {
    const auto& rank = node.at("ranks").at(0);
    CHECK(rank.at("exit_code") == (node.at("name") == "spark-03" ? 1 : 0));
    CHECK(rank.at("output") == "hi\n");
  }
  const auto missing = all.controller.run({"exec", "--", "no-such-command"});
  require_exit(missing, 10);
  CHECK(contains(missing.err, "! spark-[01-08]: command not found: no-such-command\n"));
}

TEST_CASE("exec: a node that is off is 4, and the others are finished") {
  const AllHosts all;
  Lab::get().stop(2);
  const auto run = all.controller.run({"exec", "--timeout", "3s", "--", "uname", "-n"});
  Lab::get().start(2);
  require_exit(run, 4);
  CHECK(contains(run.out, "spark-01: spark-01\n"));
  CHECK(contains(run.err, "! spark-02: "));
}

TEST_CASE("exec: the files have every byte of each stream") {
  const AllHosts all;
  const auto run = all.controller.run(
      {"exec", "--output-dir", "logs", "--", "sh", "-c", "head -c 5000000 /dev/zero; printf 'a\\377b' >&2"});
  require_exit(run, 0);
  CHECK(run.out.empty());
  for (const Host& host : all.hosts) {
    CHECK(std::filesystem::file_size(all.controller.directory() / "logs" / (host.name() + ".out")) == 5'000'000);
    CHECK(all.controller.text("logs/" + host.name() + ".err") ==
          "a\xff"
          "b");
  }
}

TEST_CASE("exec: a gigabyte without a newline arrives, and so do many short lines") {
  const AllHosts all;
  const auto flood = all.controller.run(
      {"exec", "--only", "spark-01", "--output-dir", "logs", "--", "head", "-c", "1000000000", "/dev/zero"},
      std::chrono::minutes(5));
  require_exit(flood, 0);
  CHECK(std::filesystem::file_size(all.controller.directory() / "logs/spark-01.out") == 1'000'000'000);
  const auto lines = all.controller.run({"exec", "--", "seq", "10000"});
  require_exit(lines, 0);
  CHECK(lines_of(lines.out).size() == 10'000 * Lab::kHosts);
}

TEST_CASE("exec: Ctrl-C ends the command on all nodes with 10") {
  const AllHosts all;
  Terminal terminal(all.controller.command(sleep_everywhere("3101")));
  REQUIRE(eventually([&] { return all.sleepers("3101") == Lab::kHosts; }));
  terminal.interrupt();
  CHECK(terminal.finish() == 10);
  CHECK(eventually([&] { return all.none_left("3101"); }));
}

TEST_CASE("exec: the time limit ends the command on all nodes with 10") {
  const AllHosts all;
  auto words = sleep_everywhere("3102");
  words.insert(words.begin() + 1, {"--time-limit", "2s"});
  const auto run = all.controller.run(words);
  require_exit(run, 10);
  CHECK(contains(run.err, ": time limit"));
  CHECK(eventually([&] { return all.none_left("3102"); }));
}

TEST_CASE("exec: a killed controller leaves nothing on any node within 5 s") {
  const AllHosts all;
  Terminal terminal(all.controller.command(sleep_everywhere("3103")));
  REQUIRE(eventually([&] { return all.sleepers("3103") == Lab::kHosts; }));
  terminal.kill();
  CHECK(eventually([&] { return all.none_left("3103"); }, std::chrono::seconds(5)));
}

TEST_CASE("exec: a killed process starter leaves nothing on its node, and the node failed") {
  const AllHosts all;
  Terminal terminal(all.controller.command(sleep_everywhere("3104")));
  REQUIRE(eventually([&] { return all.sleepers("3104") == Lab::kHosts; }));
  all.hosts[4].shell("pkill -KILL -x sparkplan-job");
  CHECK(eventually([&] { return all.hosts[4].shell("pgrep -f '[s]leep 3104' || true").empty(); }));
  CHECK(all.sleepers("3104") == Lab::kHosts - 1);
  terminal.interrupt();
  CHECK(terminal.finish() == 4);
  CHECK(eventually([&] { return all.none_left("3104"); }));
}

TEST_CASE("exec: a lost connection leaves nothing on the node within 30 s") {
  const AllHosts all;
  Terminal terminal(all.controller.command(sleep_everywhere("3105")));
  REQUIRE(eventually([&] { return all.sleepers("3105") == Lab::kHosts; }));
  all.hosts[0].shell(
      "nft 'add table inet cut; add chain inet cut in { type filter hook input priority 0; }; "
      "add rule inet cut in tcp dport 22 drop'");
  CHECK(eventually([&] { return all.hosts[0].shell("pgrep -f '[s]leep 3105' || true").empty(); },
                   std::chrono::seconds(30)));
  all.hosts[0].shell("nft delete table inet cut");
  terminal.interrupt();
  CHECK(terminal.finish() == 4);
  CHECK(all.none_left("3105"));
}

TEST_CASE("exec: without a command or without a node it is a usage error, before any contact") {
  const AllHosts all;
  require_exit(all.controller.run({"exec"}), 1);
  require_exit(all.controller.run({"exec", "--only", "spark-77", "--", "true"}), 1);
  CHECK_FALSE(all.hosts[0].has(kStarter));
}

}  // namespace sparkplan::test
