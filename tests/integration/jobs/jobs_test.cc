// The exports for Open MPI and Slurm, used by the real programs of the distribution on two hosts.
#include <cstdint>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSlurmConf = "/etc/slurm/slurm.conf";

/// Two hosts on one cable, in which the user can log in from each to each.
struct Pair {
  Pair() : first(1, Lab::jobs()), second(2, Lab::jobs()), controller(Lab::jobs()) {
    controller.cluster(
        "fabric: {topology: direct, port: 1}\nnccl: {mode: socket}\nhosts: {}\n"
        "ssh_trust: {users: [operator]}\n" +
        nodes_of_lab(2, "operator"));
    require_exit(controller.run({"apply", "--yes"}), 0);
    require_fabric_links(first);
    require_fabric_links(second);
  }

  /// The output of `export --format`, for a shell or a configuration file.
  std::string exported(const std::string& format) const {
    const auto run = controller.run({"export", "--format", format});
    require_exit(run, 0);
    return run.out;
  }

  Host first;
  Host second;
  Controller controller;
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

/// Stops Slurm on both hosts, however the case ends.
class SlurmServices {
 public:
  explicit SlurmServices(const Pair& pair) : pair_(pair) {}
  SlurmServices(const SlurmServices&) = delete;
  SlurmServices& operator=(const SlurmServices&) = delete;
  ~SlurmServices() {
    for (const Host* host : {&pair_.first, &pair_.second}) {
      static_cast<void>(host->run({"systemctl", "stop", "slurmctld", "slurmd", "munge"}));
      static_cast<void>(host->run({"rm", "-f", kSlurmConf, "/etc/slurm/gres.conf", "/dev/nvidia0"}));
    }
  }

 private:
  const Pair& pair_;
};

}  // namespace

TEST_CASE("jobs: the exported hostfile and environment start one rank on each host", "[jobs]") {
  const Pair pair;
  pair.first.write("/tmp/lab-hostfile", pair.exported("hostfile"));
  pair.first.write("/tmp/lab-env.sh", pair.exported("env"));
  CHECK(pair.first.shell("su - operator -c '. /tmp/lab-env.sh; mpirun --hostfile /tmp/lab-hostfile --bind-to none "
                         "uname -n' | sort") == "spark-01\nspark-02");
}

TEST_CASE("jobs: data of an exported mpirun passes through the fabric, not the management network", "[jobs]") {
  const Pair pair;
  pair.first.write("/tmp/lab-mpirun.sh", pair.exported("mpirun"));
  const std::string program = pair.first.shell("dpkg -L netpipe-openmpi | grep -m 1 '/bin/NP'");
  const Counters before_first(pair.first);
  const Counters before_second(pair.second);
  // NetPIPE sends messages of growing size there and back: some ten megabytes each way.
  pair.first.shell("cd /tmp && timeout 120 su - operator -c 'sh /tmp/lab-mpirun.sh " + program +
                   " -u 1048576 -n 10 -o /tmp/lab-netpipe.out'");
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
  pair.first.write("/tmp/lab-mpirun.sh", pair.exported("mpirun"));
  const std::string said = pair.first.shell(
      "su - operator -c 'sh /tmp/lab-mpirun.sh sh -c \"echo \\$(uname -n) \\$VLLM_HOST_IP \\$NODE_RANK "
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
    host->shell("systemctl start munge");
  }
  pair.first.shell("systemctl start slurmctld");
  for (const Host* host : {&pair.first, &pair.second}) host->shell("systemctl start slurmd");
  const bool idle =
      eventually([&] { return pair.first.shell("sinfo --noheader --format=%T,%D") == "idle,2"; }, seconds(60));
  INFO(pair.first.shell("scontrol show nodes; journalctl --no-pager -n 20 -u slurmctld -u slurmd"));
  REQUIRE(idle);
  CHECK(pair.first.shell("timeout 60 srun -N2 --gres=gpu:1 hostname | sort") == "spark-01\nspark-02");
}

}  // namespace sparkplan::test
