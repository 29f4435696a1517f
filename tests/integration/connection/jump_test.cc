// Nodes that the controller reaches only through a jump host.
#include <fstream>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kJumpAddress = "10.77.0.1";
const std::string kNodeAddress = "192.168.100.2";
const std::string kThroughTheFirst = "jump: \"operator@10.77.0.1\"";

/// spark-02 at an address that spark-01 can reach and the controller cannot.
struct BehindTheFirst {
  BehindTheFirst() {
    for (const auto* host : {&jump, &node}) {
      host->shell("ip address replace 192.168.100." + std::to_string(host->number()) +
                  "/24 dev enp1s0f1np1 && ip link set enp1s0f1np1 up");
    }
    REQUIRE(eventually([&] { return jump.run({"ping", "-c1", "-W1", kNodeAddress}).exit_status == 0; }));
    know({{kJumpAddress, jump.public_key()}, {kNodeAddress, node.public_key()}});
    cluster(kThroughTheFirst);
  }

  /// Writes cluster.yaml with spark-02 alone.
  void cluster(const std::string& ssh_of_node, const std::string& more_node = "") const {
    controller.cluster(
        "sysctl: {net.core.somaxconn: 8192}\nssh: {user: root}\n"
        "nodes:\n  - {name: spark-02, address: " +
        kNodeAddress + ", ssh: {" + ssh_of_node + "}" + more_node + "}\n");
  }

  /// Replaces the controller's known hosts with `keys`.
  void know(const std::map<std::string, std::string>& keys) const {
    std::ofstream file(controller.known_hosts(), std::ios::binary);
    for (const auto& [address, key] : keys) file << address << " " << key << "\n";
  }

  std::string known() const {
    std::ifstream file(controller.known_hosts(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Runs `plan` and expects a refused host key, before any login on the node.
  Run refused_plan() const {
    const auto before = known();
    auto run = controller.run({"plan"});
    require_exit(run, 4);
    CHECK(contains(run.out, "spark-02"));
    CHECK(contains(run.out, "host key"));
    CHECK_FALSE(node.has(kAgentFile));
    CHECK(known() == before);
    return run;
  }

  const Host jump{1};
  const Host node{2};
  const Controller controller;
};

TEST_CASE("jump: a node behind a jump host is planned and applied") {
  const BehindTheFirst lab;
  lab.cluster("");
  require_exit(lab.controller.run({"plan", "--timeout", "2s"}), 4);

  lab.cluster(kThroughTheFirst);
  const auto plan = lab.controller.run({"plan"});
  require_exit(plan, 0);
  CHECK(contains(plan.out, "4096 -> 8192"));
  CHECK(lab.node.sysctl("net.core.somaxconn") == "4096");
  require_exit(lab.controller.run({"apply", "--yes"}), 0);
  CHECK(lab.node.sysctl("net.core.somaxconn") == "8192");
  CHECK(lab.node.sysctl_at_boot("net.core.somaxconn") == "8192");
  require_exit(lab.controller.run({"drift"}), 0);
  // The jump host only forwards encrypted data, so nothing on it changes.
  CHECK_FALSE(lab.jump.has(kAgentFile));
  CHECK(lab.jump.sysctl("net.core.somaxconn") == "4096");
}

TEST_CASE("jump: a jump host whose key is unknown is refused and named") {
  const BehindTheFirst lab;
  lab.know({{kNodeAddress, lab.node.public_key()}});
  CHECK(contains(lab.refused_plan().out, "jump host 10.77.0.1"));
}

TEST_CASE("jump: a jump host with a changed key is refused and named, also under accept-new") {
  const BehindTheFirst lab;
  lab.know({{kJumpAddress, lab.node.public_key()}, {kNodeAddress, lab.node.public_key()}});
  for (const std::string policy : {"", ", host_keys: accept-new"}) {
    lab.cluster(kThroughTheFirst + policy);
    const auto run = lab.refused_plan();
    CHECK(contains(run.out, "jump host 10.77.0.1"));
    CHECK(contains(run.out, "ssh-keygen -R 10.77.0.1"));
  }
}

TEST_CASE("jump: the node's own key is checked as well") {
  const BehindTheFirst lab;
  for (const auto& known_of_node : {std::string(), lab.jump.public_key()}) {
    std::map<std::string, std::string> keys{{kJumpAddress, lab.jump.public_key()}};
    if (!known_of_node.empty()) keys.emplace(kNodeAddress, known_of_node);
    lab.know(keys);
    CHECK_FALSE(contains(lab.refused_plan().out, "jump host"));
  }
}

TEST_CASE("jump: the node's pinned key applies to the node, not to the jump host") {
  const BehindTheFirst lab;
  lab.know({{kJumpAddress, lab.jump.public_key()}});
  lab.cluster(kThroughTheFirst, ", host_key: \"" + lab.jump.fingerprint() + "\"");
  CHECK(contains(lab.refused_plan().out, "pinned"));
  for (const std::string type : {"ed25519", "ecdsa"}) {
    INFO(type);
    lab.cluster(kThroughTheFirst, ", host_key: \"" + lab.node.fingerprint(type) + "\"");
    require_exit(lab.controller.run({"plan"}), 0);
  }
}

TEST_CASE("jump: accept-new records the keys of both machines") {
  const BehindTheFirst lab;
  lab.know({});
  lab.cluster(kThroughTheFirst + ", host_keys: accept-new");
  require_exit(lab.controller.run({"plan"}), 0);
  CHECK(contains(lab.known(), kJumpAddress + " "));
  CHECK(contains(lab.known(), kNodeAddress + " "));
}

TEST_CASE("jump: `trust` also connects through the jump host") {
  const BehindTheFirst lab;
  lab.know({{kJumpAddress, lab.jump.public_key()}});
  CHECK(contains(lab.refused_plan().out, "sparkplan trust spark-02"));
  require_exit(lab.controller.run({"trust", "spark-02", "--yes"}), 0);
  require_exit(lab.controller.run({"plan"}), 0);
}

TEST_CASE("jump: `trust` begins with the jump host, and without --yes and a terminal it records nothing") {
  const BehindTheFirst lab;
  lab.know({});
  const auto refused = lab.controller.run({"trust", "spark-02"});
  require_exit(refused, 1);
  CHECK(contains(refused.out, "jump host 10.77.0.1 of spark-02"));
  CHECK_FALSE(contains(refused.out, kNodeAddress));
  CHECK(lab.known().empty());
  const auto trusted = lab.controller.run({"trust", "spark-02", "--yes"});
  require_exit(trusted, 0);
  CHECK(contains(lab.known(), kJumpAddress + " "));
  CHECK(contains(lab.known(), kNodeAddress + " "));
  require_exit(lab.controller.run({"plan"}), 0);
}

TEST_CASE("jump: a node that the jump host cannot reach is reported with both names") {
  const BehindTheFirst lab;
  lab.cluster(kThroughTheFirst + ", port: 2222");
  const auto run = lab.controller.run({"plan"});
  require_exit(run, 4);
  CHECK(contains(run.out, "jump host 10.77.0.1 cannot reach 192.168.100.2 port 2222"));
  CHECK(run.took < seconds(10));
}

}  // namespace
}  // namespace sparkplan::test
