// Departing nodes: sparkplan restores their earlier state, and the other nodes remove them.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kEverything = R"(profile: dgx-spark
fabric: {topology: switch, port: 1}
sysctl: {net.core.rmem_max: null, net.core.wmem_max: null, net.core.somaxconn: 8192}
limits: [{domain: "*", item: memlock, value: 4096}, {domain: root, item: memlock, value: 4096}]
profile_env: {HF_HOME: /mnt/models/hf}
units:
  - name: sparkplan-test.service
    content: "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    enabled: true
    state: started
ssh_trust: {users: [operator]}
)";

std::vector<Host> hosts_of_lab(int count) {
  std::vector<Host> hosts;
  for (int i = 1; i <= count; ++i) hosts.emplace_back(i);
  return hosts;
}

/// Paths with owner, mode and digest; without times.
std::map<std::string, std::string> contents(const Host& host) {
  std::map<std::string, std::string> contents;
  for (const auto& [path, told] : host.tree()) {
    // Earlier cases have left that directory behind, empty.
    if (path.starts_with("/run/") || path == "/usr/local/libexec") continue;
    const bool is_digest = path.ends_with('#');
    const auto owner = told.find(' ', told.find(' ') + 1);
    contents[path] = is_digest ? told : told.substr(0, told.find(' ', owner + 1));
  }
  return contents;
}

/// Returns the paths that differ from before.
Words differences(const std::map<std::string, std::string>& before, const std::map<std::string, std::string>& after) {
  Words differences;
  for (const auto& [path, told] : before) {
    const auto now = after.find(path);
    if (now == after.end()) differences.push_back("gone: " + path);
    if (now != after.end() && now->second != told) differences.push_back("changed: " + path + " " + now->second);
  }
  for (const auto& [path, told] : after) {
    if (!before.contains(path)) differences.push_back("new: " + path);
  }
  return differences;
}

bool logs_in(const Host& from, const Host& to) {
  return from.run({"su", "-l", "operator", "-c",
                   "ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o ConnectTimeout=3 " + to.address() + " true"})
             .exit_status == 0;
}

void require_no_trace(const Host& host) {
  INFO("on " << host.name());
  CHECK_FALSE(host.has("/var/lib/sparkplan"));
  CHECK_FALSE(host.has("/usr/local/libexec/sparkplan"));
  CHECK(host.shell("ls -d /run/sparkplan 2>/dev/null || true").empty());
  CHECK(host.sysctl("net.core.somaxconn") != "8192");
  CHECK_FALSE(contains(host.text(kHostsFile).value_or(""), "-fabric"));
  CHECK(host.shell("systemctl is-active sparkplan-test.service || true") == "inactive");
  CHECK(contains(host.shell("cat /sys/class/net/enp1s0f1np1/mtu"), "1500"));
}

}  // namespace

TEST_CASE("release: a cluster grows from two to eight and shrinks to three by editing the file") {
  const auto hosts = hosts_of_lab(8);
  std::vector<std::map<std::string, std::string>> before;
  for (const Host& host : hosts) before.push_back(contents(host));
  const Controller controller;
  for (const int members : {2, 8}) {
    controller.cluster(kEverything + nodes_of_lab(members));
    require_exit(controller.run({"apply", "--yes"}), 0);
  }
  REQUIRE(logs_in(hosts[7], hosts[0]));

  controller.cluster(kEverything + nodes_of_lab(3));
  const auto unasked_plan = controller.run({"plan", "--json", "--detailed-exitcode"});
  require_exit(unasked_plan, 2);
  CHECK(node_in(unasked_plan.report(), "spark-08").at("membership") == "leaving");
  CHECK(node_in(unasked_plan.report(), "spark-08").at("changes").empty());
  const auto plan = controller.run({"plan", "--yes-prune", "--json", "--detailed-exitcode"});
  require_exit(plan, 2);
  CHECK(node_in(plan.report(), "spark-08").at("membership") == "leaving");
  CHECK(change_in(plan.report(), "spark-08/sysctl/net.core.somaxconn").at("action") == "remove");
  const auto manifest = hosts[0].identity(kManifestFile);
  const auto unasked = controller.run({"apply", "--yes"});
  require_exit(unasked, 9);
  CHECK(contains(unasked.out, "--yes-prune"));
  CHECK(hosts[0].identity(kManifestFile) == manifest);
  CHECK(hosts[7].sysctl("net.core.somaxconn") == "8192");

  const auto run = controller.run({"apply", "--yes", "--yes-prune", "--json"});
  require_exit(run, 0);
  for (int leaver = 4; leaver <= 8; ++leaver) {
    const Host& host = hosts[static_cast<std::size_t>(leaver - 1)];
    CHECK(node_in(run.report(), host.name()).at("status") == "released");
    require_no_trace(host);
    CHECK(differences(before[static_cast<std::size_t>(leaver - 1)], contents(host)) == Words{});
    CHECK_FALSE(logs_in(host, hosts[0]));
  }
  for (int member = 1; member <= 3; ++member) {
    const Host& host = hosts[static_cast<std::size_t>(member - 1)];
    INFO("on " << host.name());
    CHECK(host.resolve("spark-03-fabric") == "192.168.100.13");
    CHECK(host.resolve("spark-04-fabric").empty());
    CHECK_FALSE(contains(host.text("/etc/ssh/ssh_known_hosts").value_or(""), "spark-08"));
    CHECK_FALSE(contains(host.text(kManifestFile).value_or(""), "spark-08"));
    CHECK(logs_in(host, hosts[1]));
  }
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  // The last member is released as well; after it no node has data of the cluster.
  for (int member = 3; member >= 1; --member) {
    const Host& host = hosts[static_cast<std::size_t>(member - 1)];
    require_exit(controller.run({"release", host.name(), "--yes"}), 0);
    require_no_trace(host);
    CHECK(differences(before[static_cast<std::size_t>(member - 1)], contents(host)) == Words{});
  }
}

TEST_CASE("release: an unreachable departing node stays listed, stops no other, and is released later with consent") {
  const auto hosts = hosts_of_lab(2);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\nhosts: {suffix: -fabric}\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster("sysctl: {net.core.somaxconn: 9000}\nhosts: {suffix: -fabric}\n" + nodes_of_lab(1));
  Lab::get().stop(2);
  const auto run = controller.run({"apply", "--yes", "--yes-prune", "--timeout", "2s", "--json"});
  const auto drift = controller.run({"drift", "--timeout", "2s", "--json"});
  const auto again = controller.run({"apply", "--yes", "--timeout", "2s", "--json"});
  Lab::get().start(2);
  require_exit(run, 4);
  CHECK(node_in(run.report(), "spark-02").at("status") == "unreachable");
  CHECK(hosts[0].sysctl("net.core.somaxconn") == "9000");
  CHECK(hosts[0].resolve("spark-02-fabric").empty());
  // No value has changed on the departing node.
  require_exit(drift, 0);
  CHECK(node_in(drift.report(), "spark-02").at("membership") == "leaving");
  // Without consent in this run the departing node is not contacted, and the other nodes are applied.
  require_exit(again, 0);
  CHECK(node_in(again.report(), "spark-02").at("status") == "pending");

  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(hosts[1].has(kSysctlFile));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK_FALSE(hosts[1].has("/var/lib/sparkplan"));
  CHECK_FALSE(hosts[1].has(kSysctlFile));
  const auto plan = controller.run({"plan", "--json", "--detailed-exitcode"});
  require_exit(plan, 0);
  CHECK(plan.report().at("nodes").size() == 1);
}

TEST_CASE("release: --only and maintenance release no node") {
  const auto hosts = hosts_of_lab(2);
  const Controller controller;
  const std::string sections = "sysctl: {net.core.somaxconn: 8192}\n";
  controller.cluster(sections + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster("sysctl: {net.core.somaxconn: 9000}\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune", "--only", "spark-01"}), 0);
  CHECK(hosts[0].sysctl("net.core.somaxconn") == "9000");
  CHECK(hosts[1].has(kManifestFile));
  CHECK(hosts[1].sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("release: a file edited by the user stays, and all other changes are undone") {
  const auto hosts = hosts_of_lab(2);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\nprofile_env: {HF_HOME: /mnt/hf}\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  auto text = hosts[1].text(kProfileFile).value();
  text.replace(text.find("/mnt/hf"), 7, "/mine/a");
  hosts[1].write(kProfileFile, text);
  const auto run = controller.run({"release", "spark-02", "--yes"});
  require_exit(run, 0);
  CHECK(contains(run.out, "HF_HOME"));
  CHECK(contains(hosts[1].text(kProfileFile).value_or(""), "/mine/a"));
  CHECK_FALSE(hosts[1].has(kSysctlFile));
  CHECK_FALSE(hosts[1].has("/var/lib/sparkplan"));
}

TEST_CASE("release: a node is released by name while the file lists it, and the other nodes forget it") {
  const auto hosts = hosts_of_lab(3);
  const auto before = contents(hosts[2]);
  const Controller controller;
  controller.cluster(kEverything + nodes_of_lab(3));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"release", "spark-03"}), 1);  // Fails: there is no terminal to ask on.
  require_exit(controller.run({"release", "spark-09", "--yes"}), 1);
  CHECK(hosts[2].has(kManifestFile));
  const auto run = controller.run({"release", "spark-03", "--yes"});
  require_exit(run, 0);
  CHECK(contains(run.out + run.err, "cluster.yaml still contains this node"));
  require_no_trace(hosts[2]);
  CHECK(differences(before, contents(hosts[2])) == Words{});
  CHECK(hosts[0].resolve("spark-03-fabric").empty());
  CHECK_FALSE(logs_in(hosts[2], hosts[0]));
  CHECK(logs_in(hosts[0], hosts[1]));
  // The released node is unmanaged, so a plan lists it as joining.
  const auto plan = controller.run({"plan", "--json"});
  CHECK(node_in(plan.report(), "spark-03").at("membership") == "joining");
  for (const std::string name : {"spark-02", "spark-01"}) require_exit(controller.run({"release", name, "--yes"}), 0);
}

TEST_CASE("release: a node that changes its name is renamed, not released") {
  const auto hosts = hosts_of_lab(2);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster(
      "sysctl: {net.core.somaxconn: 8192}\nssh: {user: root}\nnodes:\n"
      "  - {name: spark-01, address: 10.77.0.1}\n  - {name: head, id: 7, address: 10.77.0.2}\n");
  const auto run = controller.run({"apply", "--yes", "--json"});
  require_exit(run, 0);
  CHECK(run.report().at("nodes").size() == 2);
  CHECK(hosts[1].sysctl("net.core.somaxconn") == "8192");
  CHECK(contains(hosts[1].text(kManifestFile).value(), "\"head\""));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

}  // namespace sparkplan::test
