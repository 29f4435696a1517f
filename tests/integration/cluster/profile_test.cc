// The smallest cluster.yaml for two and for eight Sparks: one file and one command replace all manual steps of a guide.
// The file excludes settings that a host in a namespace lacks. The socket buffers belong to the machine, and memlock
// cannot be raised.
#include <algorithm>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

std::string smallest_file(const std::string& topology, int nodes, const std::string& user) {
  return "profile: dgx-spark\nfabric: {topology: " + topology + R"(, port: 1}
sysctl: {net.core.rmem_max: null, net.core.wmem_max: null, net.core.somaxconn: 8192}
limits:
  - {domain: "*", item: memlock, value: 4096}
  - {domain: root, item: memlock, value: 4096}
)" + nodes_of_lab(nodes, user);
}

/// All files in configuration directories, with inode and times: one line each.
std::string configuration(const Host& host) {
  return host.shell("find /etc /root /home /run/systemd/network -printf '%p %i %m %u %T@ %C@\n' | sort");
}

CapturedOutput ssh(const Host& from, const std::string& user, const std::string& to) {
  return from.run({"su", "-l", user, "-c", "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes " + to + " hostname"});
}

void require_member(const Host& host, const std::string& user, int nodes) {
  INFO("on " << host.name() << " as " << user);
  const std::string last = "." + std::to_string(10 + host.number()) + "/24";
  CHECK(contains(host.shell("ip -br address show dev enp1s0f1np1"), "192.168.100" + last));
  CHECK(contains(host.shell("ip -br address show dev enP2p1s0f1np1"), "192.168.101" + last));
  CHECK(contains(host.shell("cat /sys/class/net/enP2p1s0f1np1/mtu"), "9000"));
  CHECK(host.shell("su -l " + user + " -c 'ulimit -l'") == "4096");
  CHECK(host.login_variable("NCCL_SOCKET_IFNAME", user) == "=enp1s0f1np1");
  CHECK(contains(host.text("/etc/nccl.conf").value_or(""), "NCCL_SOCKET_IFNAME==enp1s0f1np1"));
  std::string others;  // Both halves of every other node.
  for (int other = 1; other <= nodes; ++other) {
    const std::string name = "spark-0" + std::to_string(other);
    INFO("to " << name);
    CHECK(host.resolve(name + "-fabric") == "192.168.100." + std::to_string(10 + other));
    const auto answer = ssh(host, user, name + "-fabric");
    CHECK(answer.exit_status == 0);
    CHECK(contains(answer.standard_output, name));
    if (other == host.number()) continue;
    for (const std::string half : {"192.168.100.", "192.168.101."}) others += " " + half + std::to_string(10 + other);
  }
  std::string silent;
  const bool all_answer = eventually([&] {
    silent = host.shell("for address in" + others +
                        "; do ping -q -M do -s 8972 -c 1 -W 1 $address >/dev/null || echo $address; done");
    return silent.empty();
  });
  INFO("no answer from " << silent);
  CHECK(all_answer);
}

void play(const std::string& topology, int nodes, const std::string& user) {
  std::vector<Host> hosts;
  for (int i = 1; i <= nodes; ++i) hosts.emplace_back(i);
  const Controller controller;
  controller.cluster(smallest_file(topology, nodes, user));
  require_exit(controller.run({"validate"}), 0);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 2);
  require_exit(controller.run({"apply", "--yes"}), 0);
  for (const Host& host : hosts) require_member(host, user, nodes);

  std::vector<std::string> before;
  for (const Host& host : hosts) before.push_back(configuration(host));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(controller.run({"apply", "--yes"}), 0);
  for (const Host& host : hosts) {
    INFO("on " << host.name());
    CHECK(configuration(host) == before[static_cast<std::size_t>(host.number() - 1)]);
  }
  controller.cluster(nodes_of_lab(nodes, user));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
}

/// Without a terminal of that width; 0: of no known width.
Run run_at(int columns, const Controller& controller, const Words& arguments) {
  Words words = controller.command(arguments);
  const std::string width = columns == 0 ? "" : std::to_string(columns);
  std::replace(words.begin(), words.end(), std::string("COLUMNS=1000"), "COLUMNS=" + width);
  auto output = run_program(words, seconds(100));
  return {output.exit_status, std::move(output.standard_output), std::move(output.standard_error), {}};
}

/// The result, with the progress and the warnings, is on one screen. The result ends with the verdict.
void require_screen(const Run& run, std::size_t columns, std::string_view verdict) {
  INFO("stdout:\n" << run.out << "\nstderr:\n" << run.err);
  require_exit(run, 0);
  const std::string all = run.err + run.out;
  CHECK(std::count(all.begin(), all.end(), '\n') <= 60);
  for (const std::string_view line : lines_of(all)) {
    INFO(line);
    CHECK(line.size() <= columns);
  }
  CHECK(lines_of(run.out).back().starts_with(verdict));
}

TEST_CASE("profile: two Sparks on one cable, as the SSH user root") { play("direct", 2, "root"); }

TEST_CASE("profile: two Sparks on one cable, as an ordinary user with sudo") { play("direct", 2, "operator"); }

TEST_CASE("profile: eight Sparks on a switch, as an ordinary user with sudo") { play("switch", 8, "operator"); }

TEST_CASE("profile: six more lines turn two Sparks into eight, and the two keep their addresses") {
  std::vector<Host> hosts;
  for (int i = 1; i <= 8; ++i) hosts.emplace_back(i);
  const Controller controller;
  controller.cluster(smallest_file("direct", 2, "operator"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const std::string netplan = "/etc/netplan/60-sparkplan-fabric.yaml";
  const auto first = hosts[0].identity(netplan);
  const auto second = hosts[1].identity(netplan);
  controller.cluster(smallest_file("switch", 8, "operator"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(hosts[0].identity(netplan) == first);
  CHECK(hosts[1].identity(netplan) == second);
  require_member(hosts[0], "operator", 8);
  require_member(hosts[7], "operator", 8);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  controller.cluster(nodes_of_lab(8, "operator"));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
}

TEST_CASE("profile: the first plan of eight bare Sparks, and its apply, fit on 60 lines with their progress") {
  std::vector<Host> hosts;
  for (int i = 1; i <= 8; ++i) hosts.emplace_back(i);
  const Controller controller;
  controller.cluster(smallest_file("switch", 8, "operator"));
  const Run piped = run_at(0, controller, {"plan"});
  require_screen(piped, 100, "Plan: ");
  CHECK(contains(piped.out, "192.168.100.[11-18] one each"));
  CHECK(contains(piped.out, "192.168.101.[11-18]/24 one each"));
  require_screen(run_at(120, controller, {"plan"}), 120, "Plan: ");
  // The JSON has what the lines summarise.
  const Json report = controller.run({"plan", "--json"}).report();
  for (int i = 1; i <= 8; ++i) {
    const std::string node = "spark-0" + std::to_string(i);
    const Json change = change_in(report, node + "/netplan/enP2p1s0f1np1");
    REQUIRE_FALSE(change.is_null());
    CHECK(contains(change.dump(), "192.168.101." + std::to_string(10 + i) + "/24"));
  }
  const Run applied = run_at(0, controller, {"apply", "--yes"});
  require_screen(applied, 100, "Applied: ");
  // One line per resource with its outcome, and not the plan a second time.
  for (const char* plan : {"Plan: ", "joining the cluster", "@@", "per node", "one each"}) {
    INFO(plan);
    CHECK_FALSE(contains(applied.out + applied.err, plan));
  }
  const auto lines = lines_of(applied.out);
  CHECK(std::count_if(lines.begin(), lines.end(), [](std::string_view line) {
          return contains(line, "net.core.somaxconn") && contains(line, "  done");
        }) == 1);
  controller.cluster(nodes_of_lab(8, "operator"));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
}

}  // namespace
}  // namespace sparkplan::test
