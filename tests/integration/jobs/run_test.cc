// `run` over SSH: ranks, preflight, and that nothing is left behind.
#include <filesystem>

#include "tests/integration/lab/job_hosts.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kNvidiaSmi = "/usr/local/bin/nvidia-smi";

/// All hosts in sync with a file that sets one variable.
struct AllHosts : JobHosts {
  AllHosts() : JobHosts("pkill -KILL -f '[s]leep 32[0-9][0-9]' || true; rm -rf /etc/sparkplan " + kNvidiaSmi) {
    controller.cluster("profile_env: {HF_HOME: /mnt/models/hf}\n" + nodes_of_lab(Lab::kHosts, "operator"));
    require_exit(controller.run({"apply", "--yes"}), 0);
  }
};

/// Sleeps; `before` is a line of shell that the ranks execute first.
Words sleeping_job(const std::string& time, const std::string& before = "") {
  return {"run", "--grace", "1s", "--", "sh", "-c", before + "setsid sleep " + time + " & exec sleep " + time};
}

}  // namespace

TEST_CASE("run: eight ranks know their numbers and where rank 0 is") {
  const AllHosts all;
  const auto run = all.controller.run({"run", "--env", "MINE=x", "--", "sh", "-c",
                                       "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK "
                                       "$MASTER_ADDR:$MASTER_PORT $HF_HOME $MINE"});
  require_exit(run, 0);
  for (int rank = 0; rank < Lab::kHosts; ++rank) {
    const auto number = std::to_string(rank);
    CHECK(contains(run.out, "spark-0" + std::to_string(rank + 1) + ": " + number + "/8 0/1 " + number + " " +
                                all.hosts[0].address() + ":29500 /mnt/models/hf x\n"));
  }
}

TEST_CASE("run: a rank has the secrets of its user, and no command line and no output of sparkplan has them") {
  const AllHosts all;
  const std::string value = "canary-51e2 $HOME";
  all.controller.file("hf.token", value + "\n");
  std::filesystem::permissions(all.controller.directory() / "hf.token",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const std::string sections =
      "profile_env:\n  HF_HOME: /mnt/models/hf\n  HF_TOKEN: {secret: {file: hf.token}, users: [operator]}\n"
      "  OTHER_TOKEN: {secret: {file: hf.token}, users: [root]}\n";
  all.controller.cluster(sections + nodes_of_lab(Lab::kHosts, "operator"));
  require_exit(all.controller.run({"apply", "--yes"}), 0);
  // The process starter forbids its own core dump. The command's is its own: the files of a process that may write one
  // belong to its user. Source: proc(5).
  const std::string prints = "echo \"$HF_TOKEN|${OTHER_TOKEN-none}|$(stat -c %U /proc/$$/environ)\"; exec sleep 3207";
  Terminal terminal(all.controller.command({"run", "--", "sh", "-c", prints}));
  CHECK(terminal.wait_for("spark-02: " + value + "|none|operator"));
  for (const int host : {0, 1}) {
    CHECK(all.hosts[static_cast<std::size_t>(host)].shell("ps -ww -eo args | grep -c '[c]anary' || true") == "0");
  }
  terminal.interrupt();
  CHECK(terminal.finish() == 10);
  const auto given = all.controller.run({"run", "--env", "HF_TOKEN=mine", "--", "sh", "-c", "echo \"$HF_TOKEN\""});
  require_exit(given, 0);
  CHECK(contains(given.out, "spark-01: mine\n"));
  CHECK_FALSE(contains(given.out + given.err, "canary"));
}

TEST_CASE("run: several ranks per node have lines and files of their own") {
  const AllHosts all;
  const auto run = all.controller.run(
      {"run", "--only", "spark-[01-02]", "--ranks-per-node", "2", "--json", "--", "sh", "-c", "echo I am $RANK"});
  require_exit(run, 0);
  const auto report = run.document("job.schema.json");
  REQUIRE(report.at("nodes").size() == 2);
  CHECK(report.at("nodes").at(1).at("ranks").at(1).at("rank") == 3);
  CHECK(report.at("nodes").at(1).at("ranks").at(1).at("output") == "I am 3\n");
  require_exit(all.controller.run({"run", "--only", "spark-01", "--ranks-per-node", "2", "--output-dir", "logs", "--",
                                   "sh", "-c", "echo $RANK"}),
               0);
  CHECK(all.controller.text("logs/spark-01.rank-1.out") == "1\n");
}

TEST_CASE("run: --ranks-per-node gpus starts one rank per GPU, and needs the same number on all nodes") {
  const AllHosts all;
  const auto give_gpus = [&](std::size_t host, int count) {
    std::string lists;
    for (int gpu = 0; gpu < count; ++gpu)
      lists += "echo 'GPU " + std::to_string(gpu) + ": NVIDIA GB10 (UUID: GPU-1)'; ";
    all.hosts[host].write(kNvidiaSmi, "#!/bin/sh\n[ \"$1\" != -L ] || { " + lists + "}\n", 0755);
  };
  for (const std::size_t host : {0U, 1U}) give_gpus(host, 2);
  const Words job{"run",
                  "--only",
                  "spark-[01-02]",
                  "--ranks-per-node",
                  "gpus",
                  "--",
                  "sh",
                  "-c",
                  "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE"};
  const auto run = all.controller.run(job);
  require_exit(run, 0);
  for (const std::string line : {"[spark-01 rank 0] 0/4 0/2\n", "[spark-01 rank 1] 1/4 1/2\n",
                                 "[spark-02 rank 2] 2/4 0/2\n", "[spark-02 rank 3] 3/4 1/2\n"}) {
    CHECK(contains(run.out, line));
  }
  give_gpus(1, 1);
  const auto differ = all.controller.run(job);
  require_exit(differ, 8);
  CHECK(contains(differ.err, "not the same number of GPUs"));
}

TEST_CASE("run: a failing rank ends all others, and the exit code is 10") {
  const AllHosts all;
  auto words = sleeping_job("3201", "test $RANK = 5 && exit 7; ");
  const auto run = all.controller.run(words);
  require_exit(run, 10);
  CHECK(contains(run.err, "! spark-06: exit code 7"));
  CHECK_FALSE(contains(run.err, "! spark-01"));
  CHECK(all.none_left("3201"));
}

TEST_CASE("run: a rank that is killed ends all others, also those that ignore SIGTERM") {
  const AllHosts all;
  Terminal terminal(all.controller.command(sleeping_job("3202", "trap '' TERM; ")));
  REQUIRE(eventually([&] { return all.sleepers("3202") == Lab::kHosts; }));
  all.hosts[2].shell("pkill -KILL -f '[s]leep 3202'");
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 10);
  CHECK(contains(terminal.transcript(), "spark-03: signal 9"));
  CHECK(all.none_left("3202"));
}

TEST_CASE("run: Ctrl-C and a killed controller leave nothing on any node") {
  const AllHosts all;
  {
    Terminal terminal(all.controller.command(sleeping_job("3203")));
    REQUIRE(eventually([&] { return all.sleepers("3203") == Lab::kHosts; }));
    terminal.interrupt();
    CHECK(terminal.finish() == 10);
    CHECK(all.none_left("3203"));
  }
  Terminal terminal(all.controller.command(sleeping_job("3204", "trap '' TERM; ")));
  REQUIRE(eventually([&] { return all.sleepers("3204") == Lab::kHosts; }));
  terminal.kill();
  CHECK(eventually([&] { return all.none_left("3204"); }, std::chrono::seconds(5)));
}

TEST_CASE("run: --watch names the rank that SIGSTOP has stopped, and the others as they are") {
  const AllHosts all;
  auto words = sleeping_job("3206");
  words.insert(words.begin() + 1, {"--watch", "2s"});
  Terminal terminal(all.controller.command(words));
  REQUIRE(eventually([&] { return all.sleepers("3206") == Lab::kHosts; }));
  all.hosts[2].shell("pkill -STOP -f '[s]leep 3206'");
  CHECK(terminal.wait_for("spark-03 rank 2 is stopped"));
  CHECK(terminal.wait_for("fix: kill -CONT "));
  CHECK(contains(terminal.transcript(), "spark-01 rank 0: sleeping"));
  CHECK(contains(terminal.transcript(), "run: no output for "));
  terminal.interrupt();
  CHECK(terminal.finish() == 10);
  CHECK(all.none_left("3206"));
}

TEST_CASE("run: a node that vanishes ends the job on all others within 30 s") {
  const AllHosts all;
  Terminal terminal(all.controller.command(sleeping_job("3205")));
  REQUIRE(eventually([&] { return all.sleepers("3205") == Lab::kHosts; }));
  Lab::get().stop(8);
  const auto code = terminal.finish(std::chrono::seconds(40));
  Lab::get().start(8);
  CHECK(code == 4);
  CHECK(all.none_left("3205"));
}

TEST_CASE("run: the preflight names drift and a busy port, and starts nothing") {
  const AllHosts all;
  all.hosts[1].append(kProfileFile, "export HF_HOME=/elsewhere\n");
  const auto drifted = all.controller.run({"run", "--", "touch", "/tmp/started"});
  require_exit(drifted, 8);
  CHECK(contains(drifted.err, "! spark-02: sync: drifted: "));
  require_exit(all.controller.run({"apply", "--yes"}), 0);
  all.hosts[0].shell("systemd-run --unit busy-port python3 -m http.server 29500");
  REQUIRE(eventually([&] { return !all.hosts[0].shell("ss -Hltn 'sport = :29500'").empty(); }));
  const auto busy = all.controller.run({"run", "--json", "--", "touch", "/tmp/started"});
  all.hosts[0].shell("systemctl stop busy-port");
  require_exit(busy, 8);
  CHECK(contains(busy.err, "! spark-01: port: port 29500 is in use"));
  CHECK(busy.document("job.schema.json").at("preflight").at(0).at("name") == "port");
  for (const Host& host : all.hosts) CHECK_FALSE(host.has("/tmp/started"));
}

TEST_CASE("run: a wrong flag is a usage error") {
  const AllHosts all;
  require_exit(all.controller.run({"run"}), 1);
  require_exit(all.controller.run({"run", "--env", "RANK=1", "--", "true"}), 1);
  require_exit(all.controller.run({"run", "--env", "1=1", "--", "true"}), 1);
  require_exit(all.controller.run({"run", "--ranks-per-node", "many", "--", "true"}), 1);
  require_exit(all.controller.run({"run", "--launcher", "walk", "--", "true"}), 1);
  require_exit(all.controller.run({"run", "--watch", "10ms", "--", "true"}), 1);
  require_exit(all.controller.run({"run", "--image", "--privileged", "--", "true"}), 1);
  require_exit(all.controller.run({"run", "--image", "x", "--launcher", "mpirun", "--", "true"}), 1);
}

}  // namespace sparkplan::test
