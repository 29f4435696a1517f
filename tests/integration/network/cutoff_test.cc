// Changes that make a node unreachable: the node rolls back by itself, and the report explains the failure. Each case
// first checks that the node really became unreachable.
#include <fstream>
#include <future>
#include <iterator>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kTransactions = "/var/lib/sparkplan/txn";
constexpr std::chrono::seconds kWindow{12};
/// The longest time until a node is reachable again, as promised to the user.
constexpr std::chrono::seconds kBackAfter = kWindow + std::chrono::seconds(15);

/// A host whose management interface is managed by networkd. Each case starts and ends with the initial configuration.
class CutHost {
 public:
  explicit CutHost(int number) : host_(number) { tidy(); }
  CutHost(const CutHost&) = delete;
  CutHost& operator=(const CutHost&) = delete;
  ~CutHost() {
    try {
      tidy();
    } catch (const std::exception&) {  // The case has failed already; the next case resets the host again.
    }
  }
  const Host& operator*() const { return host_; }
  const Host* operator->() const { return &host_; }

  std::string management() const {
    return host_.shell("ip -4 -o address show dev mgmt0 | awk '{print $4}' | sort | paste -sd ' '");
  }
  std::string mtu(const std::string& interface) const {
    return host_.shell("cat /sys/class/net/" + interface + "/mtu");
  }
  bool reached_from(const Host& other) const {
    return other.run({"ping", "-c", "1", "-W", "1", host_.address()}).exit_status == 0;
  }
  /// Fails the case if a rollback timer or a file of a change on trial remains.
  void require_safe() const {
    INFO("on " << host_.name());
    CHECK(host_.shell("systemctl list-timers --all --no-legend 'sparkplan-rollback*'").empty());
    CHECK_FALSE(host_.has("/etc/systemd/system/sparkplan-recover.service"));
    CHECK_FALSE(host_.has("/run/netplan/60-sparkplan-fabric.yaml"));
    CHECK(host_.shell("ls " + kTransactions + "/*/armed 2>/dev/null || true").empty());
  }

 private:
  void tidy() const {
    host_.shell(
        "systemctl stop 'sparkplan-rollback*' 2>/dev/null; rm -rf /var/lib/sparkplan/txn; "
        "rm -f /etc/netplan/*.yaml /run/netplan/*.yaml; netplan generate; networkctl reload; "
        "nft flush ruleset; ip link set dev mgmt0 up mtu 1500; networkctl reconfigure mgmt0; "
        "for half in enp1s0f1np1 enP2p1s0f1np1; do ip address flush dev $half; ip link set dev $half down mtu 1500; "
        "done");
    REQUIRE(eventually([&] { return management() == host_.address() + "/24"; }));
  }
  Host host_;
};

std::string one_node_with(const std::string& fabric) {
  return "fabric: {topology: custom}\nssh: {user: root}\nnodes:\n"
         "  - {name: spark-01, address: 10.77.0.1, fabric: {interfaces: [" +
         fabric + "]}}\n  - {name: spark-02, address: 10.77.0.2}\n";
}

std::string unit_of(const std::string& node, const std::string& command) {
  return "ssh: {user: root}\nnodes:\n  - name: " + node + "\n    address: 10.77.0." + node.substr(node.size() - 1) +
         "\n    units:\n      - name: sparkplan-test-cut.service\n        content: \"[Service]\\nType=oneshot\\n"
         "RemainAfterExit=yes\\nExecStart=" +
         command + "\\n\"\n        state: started\n  - {name: spark-02, address: 10.77.0.2}\n";
}

Words apply_and_try(const std::string& extra = "--yes") {
  return {"apply", "--yes", "--json", "--confirm-timeout", std::to_string(kWindow.count()) + "s", extra};
}

/// Runs the program in the background while the case watches the host.
std::future<Run> begin(const Controller& controller, const Words& arguments) {
  return std::async(std::launch::async, [&controller, arguments] { return controller.run(arguments); });
}

void require_rolled_back(const Run& run, const std::string& node, const std::string& told) {
  require_exit(run, 7);
  const auto report = run.report();
  CHECK(node_in(report, node).at("status") == "rolled_back");
  const auto error = node_in(report, node).at("error").dump();
  INFO(error);
  CHECK(contains(error, told));
}

}  // namespace

TEST_CASE("cutoff: the node rolls back an unreachable management address") {
  const CutHost first(1);
  const CutHost second(2);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster("sysctl: {net.core.somaxconn: 9000}\n" +
                     one_node_with("{name: mgmt0, address: 10.99.0.1/24, mtu: 1500}"));
  require_exit(controller.run({"apply", "--yes"}), 9);
  auto running = begin(controller, apply_and_try("--allow-mgmt-change"));
  REQUIRE(eventually([&] { return first.management() == "10.99.0.1/24"; }));
  CHECK_FALSE(first.reached_from(*second));
  CHECK(eventually([&] { return first.reached_from(*second); }, kBackAfter));
  require_rolled_back(running.get(), "spark-01", "could not be reached at 10.77.0.1");
  CHECK(first.management() == "10.77.0.1/24");
  CHECK_FALSE(first->has(kFabricFile));
  first.require_safe();
  // The safe change stays applied. It is of the last run, so a rollback undoes it, and not the run before.
  CHECK(first->sysctl("net.core.somaxconn") == "9000");
  require_exit(controller.run({"rollback", "--yes", "spark-01"}), 0);
  CHECK(first->sysctl("net.core.somaxconn") == "8192");
  // No leftover blocks the next run.
  controller.cluster("sysctl: {net.core.somaxconn: 9000}\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first->shell("ls " + kTransactions + " 2>/dev/null | wc -l") == "0");
}

TEST_CASE("cutoff: a trial replaces another file's settings of the management interface, the rollback restores them") {
  const CutHost first(1);
  const CutHost second(2);
  const Controller controller;
  const std::string other = "/etc/netplan/50-cloud-init.yaml";
  const std::string text =
      "network:\n  version: 2\n  ethernets:\n    mgmt0:\n      addresses: [10.77.0.1/24, 10.98.0.1/24]\n";
  first->write(other, text);
  first->shell("chmod 600 " + other + " && netplan apply");
  REQUIRE(eventually([&] { return first.management() == "10.77.0.1/24 10.98.0.1/24"; }));
  controller.cluster(one_node_with("{name: mgmt0, address: 10.99.0.1/24, mtu: 1500}"));
  require_exit(controller.run({"apply", "--yes"}), 9);
  CHECK(first->text(other) == text);

  auto running = begin(controller, apply_and_try("--allow-mgmt-change"));
  // If netplan merged both files, the interface would have the addresses of both.
  REQUIRE(eventually([&] { return first.management() == "10.99.0.1/24"; }));
  CHECK_FALSE(first.reached_from(*second));
  CHECK(eventually([&] { return first.reached_from(*second); }, kBackAfter));
  require_rolled_back(running.get(), "spark-01", "could not be reached at 10.77.0.1");
  CHECK(first->text(other) == text);
  CHECK(first.management() == "10.77.0.1/24 10.98.0.1/24");
  first.require_safe();
}

TEST_CASE("cutoff: a change of the SSH server that keeps the node reachable is kept") {
  const CutHost first(1);
  const Controller controller;
  const auto before = first->shell("systemctl show --property=MainPID --value ssh.service");
  controller.cluster("units: [{name: ssh.service, drop_in: \"[Service]\\nNice=1\\n\"}]\n" + nodes_of_lab(1));
  require_exit(controller.run(apply_and_try()), 0);
  CHECK(first->shell("systemctl show --property=MainPID --value ssh.service") != before);
  CHECK(first->has("/etc/systemd/system/ssh.service.d/90-sparkplan.conf"));
  first.require_safe();
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run(apply_and_try()), 0);
  CHECK_FALSE(first->has("/etc/systemd/system/ssh.service.d/90-sparkplan.conf"));
}

TEST_CASE("cutoff: a unit that takes the link down is rolled back") {
  const CutHost first(1);
  const CutHost second(2);
  const Controller controller;
  controller.cluster(unit_of("spark-01", "/sbin/ip link set dev mgmt0 down"));
  auto running = begin(controller, apply_and_try());
  REQUIRE(eventually([&] { return contains(first->shell("ip link show dev mgmt0"), "state DOWN"); }));
  CHECK_FALSE(first.reached_from(*second));
  CHECK(eventually([&] { return first.reached_from(*second); }, kBackAfter));
  require_rolled_back(running.get(), "spark-01", "could not be reached");
  CHECK_FALSE(first->has("/etc/systemd/system/sparkplan-test-cut.service"));
  first.require_safe();
}

TEST_CASE("cutoff: a firewall rule that drops SSH is rolled back") {
  const CutHost first(1);
  const Controller controller;
  controller.cluster(unit_of("spark-01",
                             "/usr/sbin/nft 'add table inet cut; add chain inet cut input { type filter hook input "
                             "priority 0 ; } ; add rule inet cut input tcp dport 22 drop'"));
  auto running = begin(controller, apply_and_try());
  REQUIRE(eventually([&] { return contains(first->shell("nft list ruleset"), "dport 22 drop"); }));
  require_rolled_back(running.get(), "spark-01", "could not be reached");
  CHECK(first->shell("nft list ruleset").empty());
  first.require_safe();
  controller.cluster(nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
}

TEST_CASE("cutoff: an SSH server that fails to start is rolled back") {
  const CutHost first(1);
  const Controller controller;
  const auto before = first->shell("systemctl show --property=MainPID --value ssh.service");
  controller.cluster("units: [{name: ssh.service, drop_in: \"[Service]\\nExecStartPre=/bin/false\\n\"}]\n" +
                     nodes_of_lab(1));
  const auto run = controller.run(apply_and_try());
  // systemd restarted ssh.service, and the drop-in made the restart fail.
  CHECK(contains(first->shell("journalctl -u ssh.service --no-pager"), "Failed to start"));
  CHECK(first->shell("systemctl show --property=MainPID --value ssh.service") != before);
  REQUIRE((run.code == 7 || run.code == 4));
  CHECK(contains(run.out, "ssh.service"));
  CHECK(first->shell("systemctl is-active ssh.service") == "active");
  CHECK(first->shell("ls /etc/systemd/system/ssh.service.d 2>/dev/null | wc -l") == "0");
  first.require_safe();
}

TEST_CASE("cutoff: an MTU that the switch does not forward is rolled back") {
  const CutHost first(1);
  const CutHost second(2);
  const Controller controller;
  const auto fabric = [](int mtu) {
    return "fabric: {topology: direct, port: 1, mtu: " + std::to_string(mtu) + "}\n" + nodes_of_lab(2);
  };
  controller.cluster(fabric(1500));
  require_exit(controller.run(apply_and_try()), 0);
  // No file contains this route. A renderer drops it when it reconfigures the interface.
  const std::string route = "10.50.0.0/16 via 192.168.100.12 dev enp1s0f1np1";
  first->shell("ip route add " + route);
  Lab::get().narrow(1, "enp1s0f1np1", 1500);
  controller.cluster(fabric(9000));
  const auto run = controller.run(apply_and_try());
  Lab::get().narrow(1, "enp1s0f1np1", 9000);
  require_exit(run, 7);
  const auto report = run.report();
  // Both ends of a cable are rolled back together.
  for (const CutHost* host : {&first, &second}) {
    CHECK(node_in(report, (*host)->name()).at("status") == "rolled_back");
    CHECK(host->mtu("enp1s0f1np1") == "1500");
    CHECK(host->mtu("enP2p1s0f1np1") == "1500");
    host->require_safe();
  }
  CHECK(contains(run.out, "packets of 9000 bytes do not reach"));
  CHECK(contains(first->shell("ip route"), route));
  require_exit(controller.run(apply_and_try()), 0);
  CHECK(first.mtu("enp1s0f1np1") == "9000");
  CHECK(second.mtu("enp1s0f1np1") == "9000");
}

TEST_CASE("cutoff: a boot within the window rolls the change back") {
  const CutHost first(1);
  const CutHost second(2);
  const Controller controller;
  controller.cluster(one_node_with("{name: mgmt0, address: 10.99.0.1/24, mtu: 1500}"));
  auto running = begin(controller, {"apply", "--yes", "--json", "--confirm-timeout", "60s", "--allow-mgmt-change"});
  REQUIRE(eventually([&] { return first.management() == "10.99.0.1/24"; }));
  CHECK_FALSE(first.reached_from(*second));
  REQUIRE(first->has("/etc/systemd/system/sparkplan-recover.service"));
  Lab::get().reboot(1);
  CHECK(first.management() == "10.77.0.1/24");
  require_rolled_back(running.get(), "spark-01", "booted");
  CHECK(eventually([&] { return !first->has("/etc/systemd/system/sparkplan-recover.service"); }, seconds(40)));
  first.require_safe();
  CHECK_FALSE(first->has(kFabricFile));
}

TEST_CASE("cutoff: an unreachable first node prevents changes on all other nodes") {
  const CutHost first(1);
  const CutHost second(2);
  const Controller controller;
  controller.cluster(R"(
fabric: {topology: custom}
ssh: {user: root}
nodes:
  - {name: spark-01, address: 10.77.0.1, fabric: {interfaces: [{name: mgmt0, address: 10.99.0.1/24}]}}
  - {name: spark-02, address: 10.77.0.2, fabric: {interfaces: [{name: enp1s0f1np1, address: 192.168.177.12/24}]}}
)");
  const auto run = controller.run(apply_and_try("--allow-mgmt-change"));
  require_rolled_back(run, "spark-01", "could not be reached");
  const auto report = run.report();
  CHECK(node_in(report, "spark-02").at("status") == "failed");
  CHECK(contains(node_in(report, "spark-02").at("error").dump(), "rolled back on spark-01"));
  CHECK_FALSE(second->has(kFabricFile));
}

TEST_CASE("cutoff: a change whose controller has died keeps the node locked until its rollback") {
  const CutHost first(1);
  const Controller controller;
  const Controller other;
  controller.cluster(unit_of("spark-01", "/bin/sh -c 'sleep 3; ip link show'"));
  const auto argv = controller.command({"apply", "--yes", "--confirm-timeout", "15s"});
  auto child = ChildProcess::start("/usr/bin/env", {argv.begin() + 1, argv.end()}).value();
  REQUIRE(eventually([&] { return !first->shell("ls " + kTransactions + "/*/armed 2>/dev/null || true").empty(); }));
  child.kill();
  other.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(2));
  // When the connection ends, the agent exits and releases its lock; the change is still on trial.
  Run refused;
  REQUIRE(eventually([&] {
    refused = other.run({"apply", "--yes"});
    return contains(refused.out + refused.err, "waits for confirmation");
  }));
  CHECK(refused.code == 6);
  CHECK(contains(refused.out + refused.err, "apply since"));
  require_exit(other.run({"apply", "--yes", "--lock-timeout", "40s"}), 0);
  CHECK(first->sysctl("net.core.somaxconn") == "8192");
  CHECK_FALSE(first->has("/etc/systemd/system/sparkplan-test-cut.service"));
  first.require_safe();
}

TEST_CASE("cutoff: a controller that is itself a node asks its neighbour to test the connection") {
  const CutHost first(1);
  const CutHost second(2);
  const auto home = Lab::get().home() / ".ssh";
  const auto read = [](const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  first->write("/root/.ssh/id_ed25519", read(home / "id_ed25519"), 0600);
  first->write("/root/.ssh/known_hosts", read(home / "known_hosts"), 0600);
  // The program needs its linked libraries: the host has no packages of a controller.
  const auto libraries = run_program({"/usr/bin/ldd", SPARKPLAN_PROGRAM}).standard_output;
  std::filesystem::create_directories(first->path("/root/controller"));
  const auto copy = [&](const std::string& file) {
    std::filesystem::copy_file(file, first->path("/root/controller/" + std::filesystem::path(file).filename().string()),
                               std::filesystem::copy_options::overwrite_existing);
  };
  copy(SPARKPLAN_PROGRAM);
  for (const auto line : lines_of(libraries)) {
    const auto arrow = line.find("=> /");
    if (arrow == std::string_view::npos) continue;
    const auto begin = arrow + 3;
    copy(std::string(line.substr(begin, line.find(' ', begin) - begin)));
  }
  // Connections from the node to itself use the loopback interface, so the rule cuts off only other nodes.
  first->write("/root/cluster.yaml",
               "version: 1\nname: lab\n" +
                   unit_of("spark-01",
                           "/usr/sbin/nft 'add table inet cut; add chain inet cut input { type filter hook input "
                           "priority 0 ; } ; add rule inet cut input iifname mgmt0 tcp dport 22 drop'"));
  auto running = std::async(std::launch::async, [&] {
    return first->run({"/usr/bin/env", "HOME=/root", "LD_LIBRARY_PATH=/root/controller", "/root/controller/sparkplan",
                       "apply", "--yes", "--json", "--confirm-timeout", "20s", "/root/cluster.yaml"});
  });
  REQUIRE(eventually([&] { return contains(first->shell("nft list ruleset"), "dport 22 drop"); }));
  const auto run = running.get();
  INFO(run.standard_output << run.standard_error);
  CHECK(run.exit_status == 7);
  CHECK(contains(run.standard_output, "no other node reaches it at 10.77.0.1"));
  CHECK(first->shell("nft list ruleset").empty());
  first.require_safe();
  first->shell("rm -rf /root/controller /root/cluster.yaml /root/.ssh/id_ed25519 /root/.ssh/known_hosts");
}

}  // namespace sparkplan::test
