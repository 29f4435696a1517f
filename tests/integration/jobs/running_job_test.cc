// Changes beside a running job, and what `status` shows of it.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSafe = "sysctl: {net.core.somaxconn: 8192}\n";
const std::string kDisruptive = "fabric: {topology: direct, port: 1}\n";

/// Two hosts with an agent, and with a fabric that is not configured.
struct Pair {
  Pair() : first(1), second(2) {
    bare();
    controller.cluster("profile_env: {A: b}\n" + nodes_of_lab(2, "operator"));
    require_exit(controller.run({"apply", "--yes"}), 0);
    controller.cluster("profile_env: {A: b}\n" + kSafe + kDisruptive + nodes_of_lab(2, "operator"));
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    try {
      bare();
    } catch (const std::exception&) {  // The case has failed already.
    }
  }

  void bare() const {
    for (const Host* host : {&first, &second}) {
      host->shell("pkill -KILL -f '[s]leep 33[0-9][0-9]' || true; rm -f " + kFabricFile +
                  " /run/netplan/*.yaml; netplan generate; networkctl reload; for half in " + kHalfA + " " + kHalfB +
                  "; do ip address flush dev $half; ip link set dev $half down mtu 1500; done");
    }
  }
  bool sleeps(const std::string& time) const { return !first.shell("pgrep -f '[s]leep " + time + "' || true").empty(); }

  Host first;
  Host second;
  Controller controller;
};

Words sleeping(const std::string& time) { return {"exec", "--only", "spark-01", "--", "sleep", time}; }

}  // namespace

TEST_CASE("job: apply refuses disruptive changes beside a job, names it, and makes all others") {
  const Pair pair;
  Terminal job(pair.controller.command(sleeping("3301")));
  REQUIRE(eventually([&] { return pair.sleeps("3301"); }));
  const auto plan = pair.controller.run({"plan"});
  require_exit(plan, 0);
  CHECK(contains(plan.out + plan.err, "disruptive changes are refused while a job runs"));
  const auto run = pair.controller.run({"apply", "--yes"});
  require_exit(run, 6);
  for (const std::string part :
       {"spark-01", "of operator (process ", "sleep 3301", "--ignore-jobs", "spark-01, at the other end of its cable"})
    CHECK(contains(run.out + run.err, part));
  CHECK(pair.first.sysctl("net.core.somaxconn") == "8192");
  CHECK(mtu_of(pair.first, kHalfA) == 1500);
  CHECK_FALSE(pair.first.has(kFabricFile));
  // A larger MTU on the other end alone would cut the job's own traffic.
  CHECK(mtu_of(pair.second, kHalfA) == 1500);
  CHECK(pair.second.sysctl("net.core.somaxconn") == "8192");
  CHECK(pair.sleeps("3301"));
  job.interrupt();
  CHECK(job.finish() == 10);
  require_exit(pair.controller.run({"apply", "--yes"}), 0);
  require_fabric_links(pair.first);
}

TEST_CASE("job: --all-or-nothing changes no node, and --ignore-jobs changes all") {
  const Pair pair;
  Terminal job(pair.controller.command(sleeping("3302")));
  REQUIRE(eventually([&] { return pair.sleeps("3302"); }));
  require_exit(pair.controller.run({"apply", "--yes", "--all-or-nothing"}), 6);
  CHECK(pair.first.sysctl("net.core.somaxconn") == "4096");
  CHECK(mtu_of(pair.second, kHalfA) == 1500);
  // Without the safety net, the changes are sent in one request.
  const auto run = pair.controller.run({"apply", "--yes", "--no-safety-net"});
  require_exit(run, 6);
  CHECK(pair.first.sysctl("net.core.somaxconn") == "8192");
  CHECK(mtu_of(pair.first, kHalfA) == 1500);
  require_exit(pair.controller.run({"apply", "--yes", "--ignore-jobs"}), 0);
  require_fabric_links(pair.first);
  CHECK(pair.sleeps("3302"));
  const auto rollback = pair.controller.run({"rollback", "--yes"});
  require_exit(rollback, 6);
  CHECK(contains(rollback.out + rollback.err, "sleep 3302"));
  CHECK(mtu_of(pair.first, kHalfA) == 9000);
  require_exit(pair.controller.run({"release", "spark-01", "--yes"}), 6);
  CHECK(pair.first.has(kManifestFile));
}

TEST_CASE("job: status shows the job with its user, and its end") {
  const Pair pair;
  {
    Terminal job(pair.controller.command(sleeping("3303")));
    REQUIRE(eventually([&] { return pair.sleeps("3303"); }));
    CHECK(contains(pair.controller.run({"status"}).out, ": sleep 3303\n"));
    const auto status = pair.controller.run({"status", "--json"}).document("status.schema.json");
    const auto& jobs = node_in(status, "spark-01").at("jobs");
    REQUIRE(jobs.size() == 1);
    CHECK(jobs.at(0).at("user") == "operator");
    CHECK(jobs.at(0).at("command") == "sleep 3303");
    CHECK_FALSE(node_in(status, "spark-02").contains("jobs"));
    job.interrupt();
    CHECK(job.finish() == 10);
  }
  const auto status = pair.controller.run({"status", "--json"}).document("status.schema.json");
  CHECK_FALSE(node_in(status, "spark-01").contains("jobs"));
}

TEST_CASE("job: another user's job is named as theirs, and its text cannot control the terminal") {
  const Pair pair;
  const Controller other;
  other.cluster(nodes_of_lab(1, "nobodysudo"));
  // Installs the process starter, which needs sudo.
  require_exit(pair.controller.run({"exec", "--", "true"}), 0);
  Terminal job(other.command({"exec", "--", "sh", "-c", "exec sleep 3304", "\x1b[2J\nof operator: rm"}));
  REQUIRE(eventually([&] { return pair.sleeps("3304"); }));
  const auto run = pair.controller.run({"apply", "--yes"});
  require_exit(run, 6);
  CHECK(contains(run.out + run.err, "of nobodysudo ("));
  CHECK_FALSE(contains(run.out + run.err, "\x1b"));
  CHECK_FALSE(contains(pair.controller.run({"status"}).out, "\x1b"));
  require_exit(pair.controller.run({"apply", "--yes", "--ignore-jobs"}), 0);
}

}  // namespace sparkplan::test
