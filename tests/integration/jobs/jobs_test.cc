// The exports for Open MPI and Slurm, used by the real programs of the distribution on two hosts and on
// eight; and `run` with the real mpirun.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSlurmConf = "/etc/slurm/slurm.conf";
const std::string kTaskProlog = "/etc/slurm/task_prolog.sh";

/// Hosts on one cable or one switch, in which the user can log in from each to each.
struct Cabled {
  explicit Cabled(int count) : controller(Lab::jobs()) {
    for (int number = 1; number <= count; ++number) hosts.emplace_back(number, Lab::jobs());
    controller.cluster("fabric: {topology: " + std::string(count == 2 ? "direct" : "switch") +
                       ", port: 1}\nnccl: {mode: socket}\nhosts: {}\nssh_trust: {users: [operator]}\n" +
                       nodes_of_lab(count, "operator"));
    require_exit(controller.run({"apply", "--yes"}), 0);
    for (const Host& host : hosts) require_fabric_links(host);
  }

  /// The output of `export --format`, for a shell or a configuration file.
  std::string exported(const std::string& format) const {
    const auto run = controller.run({"export", "--format", format});
    require_exit(run, 0);
    return run.out;
  }

  std::vector<Host> hosts;
  Controller controller;
};

struct Pair : Cabled {
  Pair() : Cabled(2), first(hosts[0]), second(hosts[1]) {}
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  const Host& first;
  const Host& second;
};

std::int64_t received(const Host& host, const std::string& interface) {
  return std::stoll(host.shell("cat /sys/class/net/" + interface + "/statistics/rx_bytes"));
}

struct Counters {
  explicit Counters(const Host& host)
      : fabric(received(host, kHalfA) + received(host, kHalfB)), management(received(host, "mgmt0")) {}
  std::int64_t fabric;
  std::int64_t management;
};

std::int64_t sent_over_fabric(const Host& host) {
  const auto sent = [&](const std::string& interface) {
    return std::stoll(host.shell("cat /sys/class/net/" + interface + "/statistics/tx_bytes"));
  };
  return sent(kHalfA) + sent(kHalfB);
}

/// Stops Slurm on both hosts, however the case ends.
class SlurmServices {
 public:
  explicit SlurmServices(const Pair& pair) : pair_(pair) {}
  SlurmServices(const SlurmServices&) = delete;
  SlurmServices& operator=(const SlurmServices&) = delete;
  ~SlurmServices() {
    for (const Host* host : {&pair_.first, &pair_.second}) {
      static_cast<void>(host->run({"systemctl", "stop", "slurmctld", "slurmd", "munge"}));
      static_cast<void>(host->run({"rm", "-f", kSlurmConf, "/etc/slurm/gres.conf", kTaskProlog, "/dev/nvidia0"}));
    }
  }

 private:
  const Pair& pair_;
};

}  // namespace

TEST_CASE("jobs: the exported hostfile and environment start one rank on each host", "[jobs]") {
  const Pair pair;
  pair.first.write("/home/operator/lab-hostfile", pair.exported("hostfile"));
  pair.first.write("/home/operator/lab-env.sh", pair.exported("env"));
  CHECK(
      pair.first.shell(
          "su - operator -c '. /home/operator/lab-env.sh; mpirun --hostfile /home/operator/lab-hostfile --bind-to none "
          "uname -n' | sort") == "spark-01\nspark-02");
}

TEST_CASE("jobs: data of an exported mpirun passes through the fabric, not the management network", "[jobs]") {
  const Pair pair;
  pair.first.write("/home/operator/lab-mpirun.sh", pair.exported("mpirun"));
  const std::string program = pair.first.shell("dpkg -L netpipe-openmpi | grep -m 1 '/bin/NP'");
  const Counters before_first(pair.first);
  const Counters before_second(pair.second);
  // NetPIPE sends messages of growing size there and back: some ten megabytes each way.
  pair.first.shell("cd /tmp && timeout 120 su - operator -c 'sh /home/operator/lab-mpirun.sh " + program +
                   " -u 1048576 -n 10 -o /home/operator/lab-netpipe.out'");
  const Counters after_first(pair.first);
  const Counters after_second(pair.second);
  constexpr std::int64_t kData = 4'000'000;
  constexpr std::int64_t kOther = 1'000'000;
  CHECK(after_first.fabric - before_first.fabric > kData);
  CHECK(after_second.fabric - before_second.fabric > kData);
  CHECK(after_first.management - before_first.management < kOther);
  CHECK(after_second.management - before_second.management < kOther);
}

TEST_CASE("jobs: each rank of an exported mpirun has the variables of its own node", "[jobs]") {
  const Pair pair;
  pair.first.write("/home/operator/lab-mpirun.sh", pair.exported("mpirun"));
  const std::string said = pair.first.shell(
      "su - operator -c 'sh /home/operator/lab-mpirun.sh sh -c \"echo \\$(uname -n) \\$VLLM_HOST_IP \\$NODE_RANK "
      "\\$WORLD_SIZE\"' | "
      "sort");
  CHECK(said == "spark-01 192.168.100.11 0 2\nspark-02 192.168.100.12 1 2");
}

TEST_CASE("jobs: Slurm accepts the exported configuration and runs a job on both hosts", "[jobs]") {
  const Pair pair;
  const SlurmServices services(pair);
  // A container has no control groups for Slurm.
  const std::string conf = pair.exported("slurm") + "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n" +
                           "SlurmUser=slurm\nStateSaveLocation=/var/lib/slurm/slurmctld\n" +
                           "SlurmdSpoolDir=/var/lib/slurm/slurmd\n";
  for (const Host* host : {&pair.first, &pair.second}) {
    host->shell("mkdir -p /etc/slurm && ln -sf /dev/null /dev/nvidia0");
    host->write(kSlurmConf, conf);
    // As the export says it.
    host->shell("cd /etc/slurm && sed -n 's/^#gres //p' slurm.conf >gres.conf && test -s gres.conf");
    host->shell("cd /etc/slurm && sed -n 's/^#prolog //p' slurm.conf >task_prolog.sh && chmod 755 task_prolog.sh");
    host->shell("systemctl start munge");
  }
  pair.first.shell("systemctl start slurmctld");
  for (const Host* host : {&pair.first, &pair.second}) host->shell("systemctl start slurmd");
  const bool idle =
      eventually([&] { return pair.first.shell("sinfo --noheader --format=%T,%D") == "idle,2"; }, seconds(60));
  INFO(pair.first.shell("scontrol show nodes; journalctl --no-pager -n 20 -u slurmctld -u slurmd"));
  REQUIRE(idle);
  CHECK(pair.first.shell("timeout 60 srun -N2 --gres=gpu:1 hostname 2>&1 | sort") == "spark-01\nspark-02");
  // srun passes on the environment that it has, with the first host's address. The prolog of each task replaces it.
  const std::string srun = "export VLLM_HOST_IP=192.168.100.11 OWN=x; timeout 60 srun -N2 --gres=gpu:1 ";
  const std::string prints = "'echo $(uname -n) $VLLM_HOST_IP $GLOO_SOCKET_IFNAME $OWN' | sort";
  const std::string of_each =
      "spark-01 192.168.100.11 " + std::string(kHalfA) + " x\nspark-02 192.168.100.12 " + kHalfA + " x";
  CHECK(pair.first.shell(srun + "sh -c " + prints) == of_each);
  CHECK(pair.first.shell(srun + "bash -lc " + prints) == of_each);
}

TEST_CASE("jobs: the exported hostfile and environment start eight ranks, whose data passes through the fabric",
          "[jobs]") {
  const Cabled all(Lab::kHosts);
  const Host& head = all.hosts.front();
  head.write("/home/operator/lab-hostfile", all.exported("hostfile"));
  head.write("/home/operator/lab-env.sh", all.exported("env"));
  const std::string mpirun =
      ". /home/operator/lab-env.sh; mpirun --hostfile /home/operator/lab-hostfile --bind-to none ";
  CHECK(head.shell("timeout 120 su - operator -c '" + mpirun + "uname -n' | sort") ==
        "spark-01\nspark-02\nspark-03\nspark-04\nspark-05\nspark-06\nspark-07\nspark-08");

  std::vector<std::int64_t> before;
  for (const Host& host : all.hosts) before.push_back(sent_over_fabric(host));
  const Counters head_before(head);
  // The daemons of Open MPI send the output of their ranks to mpirun.
  constexpr std::int64_t kOfRank = 2'000'000;
  const auto flood = "head -c " + std::to_string(kOfRank) + " /dev/zero";
  const auto arrived = head.shell("timeout 120 su - operator -c '" + mpirun + flood + "' | wc -c");
  CHECK(std::stoll(arrived) == kOfRank * Lab::kHosts);
  for (std::size_t i = 1; i < all.hosts.size(); ++i) {
    INFO(all.hosts[i].name());
    CHECK(sent_over_fabric(all.hosts[i]) - before[i] >= kOfRank);
  }
  const Counters head_after(head);
  CHECK(head_after.fabric - head_before.fabric >= kOfRank * (Lab::kHosts - 1));
  CHECK(head_after.management - head_before.management < kOfRank);
}

TEST_CASE("jobs: run --launcher mpirun numbers eight ranks, and a killed rank ends all on all hosts", "[jobs]") {
  const Cabled all(Lab::kHosts);
  const auto run = all.controller.run(
      {"run", "--launcher", "mpirun", "--", "sh", "-c", "echo $RANK/$WORLD_SIZE $NODE_RANK $(uname -n) $VLLM_HOST_IP"});
  require_exit(run, 0);
  for (int rank = 0; rank < Lab::kHosts; ++rank) {
    const auto number = std::to_string(rank);
    CHECK(contains(run.out, number + "/8 " + number + " spark-0" + std::to_string(rank + 1) + " 192.168.100.1" +
                                std::to_string(rank + 1) + "\n"));
  }
  const auto hosts_with = [&](const std::string& pattern) {
    return std::count_if(all.hosts.begin(), all.hosts.end(),
                         [&](const Host& host) { return !host.shell("pgrep -f '" + pattern + "' || true").empty(); });
  };
  Terminal terminal(all.controller.command({"run", "--launcher", "mpirun", "--grace", "1s", "--", "sleep", "3501"}));
  REQUIRE(eventually([&] { return hosts_with("^sleep 3501") == Lab::kHosts; }));
  all.hosts[4].shell("pkill -KILL -f '^sleep 3501'");
  const auto code = terminal.finish(seconds(60));
  INFO(terminal.transcript());
  CHECK(code == 10);
  CHECK(eventually([&] { return hosts_with("[s]leep 3501|^[^ ]*(or|pr)ted|[s]parkplan-job") == 0; }));
}

}  // namespace sparkplan::test
