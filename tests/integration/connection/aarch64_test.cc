// Nodes with aarch64 programs, as on a DGX Spark. The lab emulates the processor, but not every system call. These
// tests leave out features that need a missing call: ssh_trust (openat2) and netplan (networkd's netlink).
#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kUnit = "lab-own.service";
const std::string kUnitFile = "/etc/systemd/system/" + kUnit;
const std::string kLimitsFile = "/etc/security/limits.d/90-sparkplan.conf";
const std::string kNcclConf = "/etc/nccl.conf";

const std::string kEverything = R"(
sysctl: {net.core.somaxconn: 8192, net.ipv4.tcp_fin_timeout: 30}
profile_env: {HF_HOME: /mnt/models/hf}
hosts: {suffix: -fabric}
limits:
  - {domain: operator, item: nofile, value: 5000}
nccl: {mode: auto, env: {NCCL_DEBUG: WARN}}
units:
  - name: lab-own.service
    content: |
      [Service]
      ExecStart=/bin/sleep 1000
      [Install]
      WantedBy=multi-user.target
    enabled: true
    state: started
)";

/// Starts each case without the units of earlier cases.
class ArmHost : public Host {
 public:
  ArmHost() : Host(1, Lab::aarch64()) {
    shell("systemctl stop " + kUnit +
          " 2>/dev/null; rm -rf /etc/systemd/system/lab-* /etc/systemd/system/*.wants/lab-*");
    shell("systemctl daemon-reload");
  }
  std::string nofile() const { return shell("su -l operator -c 'ulimit -Hn'"); }
  std::string unit(const std::string& question) const {
    return std::string(trim(run({"systemctl", question, kUnit}).standard_output));
  }
};

/// The processor of a program's ELF header, as readelf on this machine prints it.
std::string machine_of(const std::filesystem::path& program) {
  const auto header = run_program({"readelf", "--file-header", program});
  for (const auto line : lines_of(header.standard_output)) {
    const auto text = trim(line);
    if (text.starts_with("Machine:")) return std::string(trim(text.substr(text.find(':') + 1)));
  }
  return header.standard_error;
}

void check_everything_is_there(const ArmHost& host) {
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.sysctl_at_boot("net.core.somaxconn") == "8192");
  CHECK(host.sysctl("net.ipv4.tcp_fin_timeout") == "30");
  CHECK(host.login_variable("HF_HOME") == "/mnt/models/hf");
  CHECK(host.login_variable("NCCL_DEBUG") == "WARN");
  CHECK(contains(host.text(kNcclConf).value_or(""), "NCCL_DEBUG=WARN\n"));
  CHECK(host.resolve("spark-01-fabric") == "10.77.0.1");
  CHECK(host.nofile() == "5000");
  CHECK(host.unit("is-active") == "active");
  CHECK(host.unit("is-enabled") == "enabled");
}

TEST_CASE("aarch64: a node gets the agent that its processor can run", "[aarch64]") {
  const ArmHost host;
  const Controller controller(Lab::aarch64());
  REQUIRE(host.shell("uname -m") == "aarch64");
  const auto version = controller.run({"version"});
  CHECK(contains(version.out, "\nagent aarch64 "));
  CHECK(contains(version.out, "\nagent x86_64 "));

  controller.cluster(kEverything + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  CHECK(machine_of(host.path(kAgentFile)) == "AArch64");
  CHECK(host.shell("stat -c '%a %U:%G' " + kAgentFile) == "755 root:root");
}

TEST_CASE("aarch64: applied settings are in effect, and a second plan is empty", "[aarch64]") {
  const ArmHost host;
  const Controller controller(Lab::aarch64());
  for (const std::string user : {"root", "operator"}) {
    INFO(user);
    controller.cluster(kEverything + nodes_of_lab(1, user));
    require_exit(controller.run({"apply", "--yes"}), 0);
    check_everything_is_there(host);
    require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
    require_exit(controller.run({"drift"}), 0);
  }
}

TEST_CASE("aarch64: damage is reported as drift and repaired", "[aarch64]") {
  const ArmHost host;
  const Controller controller(Lab::aarch64());
  controller.cluster(kEverything + nodes_of_lab(1, "operator"));
  require_exit(controller.run({"apply", "--yes"}), 0);

  host.set_sysctl("net.core.somaxconn", "128");
  host.remove(kProfileFile);
  host.shell("sed -i '/spark-01-fabric/d' /etc/hosts");
  host.shell("sed -i s/5000/5001/ " + kLimitsFile);
  host.shell("sed -i s/WARN/INFO/ " + kNcclConf);
  host.shell("systemctl disable --now " + kUnit);

  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  const auto report = drift.report();
  for (const std::string id : {"sysctl/net.core.somaxconn", "profile_env/HF_HOME", "hosts/spark-01-fabric",
                               "limits/operator:nofile", "nccl_env/NCCL_DEBUG", "systemd_unit/lab-own.service"}) {
    INFO(id);
    const auto change = change_in(report, "spark-01/" + id);
    REQUIRE_FALSE(change.is_null());
    CHECK(change.at("origin") == "drift");
  }
  CHECK(change_in(report, "spark-01/sysctl/net.ipv4.tcp_fin_timeout").is_null());

  require_exit(controller.run({"apply", "--yes"}), 0);
  check_everything_is_there(host);
  require_exit(controller.run({"drift"}), 0);
}

TEST_CASE("aarch64: settings removed from the file are removed, and the earlier values are restored", "[aarch64]") {
  const ArmHost host;
  const Controller controller(Lab::aarch64());
  controller.cluster(kEverything + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.sysctl("net.core.somaxconn") == "4096");
  CHECK(host.login_variable("HF_HOME").empty());
  CHECK(host.resolve("spark-01-fabric").empty());
  CHECK(host.unit("is-active") != "active");
  for (const auto& file : {kSysctlFile, kProfileFile, kLimitsFile, kNcclConf, kUnitFile}) {
    INFO(file);
    CHECK_FALSE(host.has(file));
  }
}

}  // namespace
}  // namespace sparkplan::test
