// `doctor` on real hosts: ip, nft and edited files cause the faults, and the tests expect the matching rows.
#include <algorithm>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kCluster = "fabric: {topology: switch, port: 1}\n";
const std::string kHalf = "enp1s0f1np1";

/// Two hosts that have the declared fabric before a case, and no fabric after it.
class DoctoredHosts {
 public:
  DoctoredHosts() {
    reset();
    controller_.cluster(kCluster + nodes_of_lab(2));
    require_exit(controller_.run({"apply", "--yes"}), 0);
  }
  DoctoredHosts(const DoctoredHosts&) = delete;
  DoctoredHosts& operator=(const DoctoredHosts&) = delete;
  ~DoctoredHosts() {
    try {
      reset();
    } catch (const std::exception&) {  // The case has failed already; the next case resets the hosts again.
    }
  }
  const Host& second() const { return second_; }
  Run doctor() const { return controller_.run({"doctor", "--json"}); }
  const Controller& controller() const { return controller_; }

 private:
  void reset() const {
    for (const Host* host : {&first_, &second_}) {
      host->shell(
          "ufw --force reset >/dev/null; rm -f /etc/ufw/*.rules.2*; nft flush ruleset; rm -rf /etc/netplan/*.yaml "
          "/run/netplan/*.yaml /etc/NetworkManager; netplan generate; "
          "networkctl reload; for half in enp1s0f1np1 enP2p1s0f1np1; do ip address flush dev $half; "
          "ip link set dev $half down mtu 1500; done");
    }
  }
  Host first_{1};
  Host second_{2};
  Controller controller_;
};

std::string status_of(const Json& diagnosis, const std::string& node, const std::string& row) {
  for (const auto& check : diagnosis.at("checks")) {
    if (check.at("row") == row && check.at("nodes").at(0) == node) return check.at("status");
  }
  return "";
}

/// Returns the rows with status fail or warn for that node.
std::vector<std::string> problems_of(const Json& diagnosis, const std::string& node) {
  std::vector<std::string> rows;
  for (const auto& check : diagnosis.at("checks")) {
    const auto& names = check.at("nodes");
    const bool bad = check.at("status") == "fail" || check.at("status") == "warn";
    if (bad && names.size() == 1 && names[0] == node) rows.push_back(check.at("row"));
  }
  return rows;
}

/// Removes the rows that the lab itself causes. Its clock has no time server, and earlier cases took its links down and
/// up. Memory, swap and /dev/shm are those of the machine that runs the lab. Its /etc/hosts has the own name at
/// 127.0.1.1, as Debian's installer writes it.
std::vector<std::string> without_the_labs_own(std::vector<std::string> rows) {
  for (const char* own : {"clock-not-synchronised", "link-flapping", "memory-pressure", "swap-used", "shm-small",
                          "shm-full", "host-name-loopback"}) {
    rows.erase(std::remove(rows.begin(), rows.end(), own), rows.end());
  }
  return rows;
}

using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("doctor reports nothing on hosts that match the file, and skips rows for Sparks only", "[doctor]") {
  const DoctoredHosts hosts;
  const auto run = hosts.doctor();
  require_exit(run, 0);
  const auto diagnosis = run.diagnosis();
  CHECK(without_the_labs_own(problems_of(diagnosis, "spark-01")) == Rows{});
  CHECK(without_the_labs_own(problems_of(diagnosis, "spark-02")) == Rows{});
  for (const auto& check : diagnosis.at("checks")) {
    if (check.at("row") == "bios-old") CHECK(check.at("status") == "skip");
    if (check.at("row") == "link-mtu") CHECK(check.at("status") == "pass");
  }
}

TEST_CASE("doctor names an MTU, a firewall and a file mode, each with cause and fix, and exits with 8", "[doctor]") {
  const DoctoredHosts hosts;
  hosts.second().shell("ip link set dev " + kHalf + " mtu 1500");
  hosts.second().shell(
      "nft 'add table inet filter; add chain inet filter in { type filter hook input priority 0; policy drop; }; "
      "add rule inet filter in iifname mgmt0 accept; add rule inet filter in iifname enP2p1s0f1np1 accept'");
  hosts.second().shell(
      "printf 'network: {version: 2}\\n' > /etc/netplan/10-by-hand.yaml; "
      "chmod 644 /etc/netplan/10-by-hand.yaml");
  const auto run = hosts.doctor();
  require_exit(run, 8);
  const auto diagnosis = run.diagnosis();
  CHECK(without_the_labs_own(problems_of(diagnosis, "spark-01")) == Rows{});
  CHECK(without_the_labs_own(problems_of(diagnosis, "spark-02")) == Rows{"link-mtu", "netplan-mode", "firewall-drops"});
  const auto text = hosts.controller().run({"doctor"});
  require_exit(text, 8);
  CHECK(contains(text.out, "enp1s0f1np1 has an MTU of 1500 instead of 9000"));
  CHECK(contains(text.out, "/etc/netplan/10-by-hand.yaml has mode 0644"));
}

TEST_CASE("doctor reports a ufw that drops the fabric's packets, until an apply opens it", "[doctor]") {
  const DoctoredHosts hosts;
  hosts.second().shell("ufw allow 22/tcp && ufw --force enable");
  const auto closed = hosts.doctor();
  require_exit(closed, 8);
  CHECK(status_of(closed.diagnosis(), "spark-01", "firewall-drops") == "pass");
  CHECK(status_of(closed.diagnosis(), "spark-02", "firewall-drops") == "fail");
  hosts.controller().cluster("firewall: {allow_fabric: true}\n" + kCluster + nodes_of_lab(2));
  require_exit(hosts.controller().run({"apply", "--yes"}), 0);
  const auto open = hosts.doctor();
  INFO(open.out);
  CHECK(status_of(open.diagnosis(), "spark-02", "firewall-drops") == "pass");
}

TEST_CASE("doctor finds a DHCP profile of NetworkManager on the fabric", "[doctor]") {
  const DoctoredHosts hosts;
  hosts.second().shell(
      "mkdir -p /etc/NetworkManager/system-connections; cd /etc/NetworkManager/system-connections; umask 077; "
      "printf '[connection]\\nid=Wired connection 2\\ntype=ethernet\\ninterface-name=enp1s0f1np1\\n[ipv4]\\n"
      "method=auto\\n' > 'Wired connection 2.nmconnection'");
  const auto run = hosts.doctor();
  require_exit(run, 8);
  CHECK(without_the_labs_own(problems_of(run.diagnosis(), "spark-02")) == Rows{"profile-dhcp"});
}

TEST_CASE("doctor checks the reachable nodes, names the unreachable one, and exits with 4", "[doctor]") {
  const DoctoredHosts hosts;
  hosts.controller().cluster(kCluster + nodes_of_lab(2) + "  - {name: spark-09, address: 10.77.0.99}\n");
  const auto run = hosts.controller().run({"--timeout", "2s", "doctor", "--json"});
  require_exit(run, 4);
  const auto diagnosis = run.diagnosis();
  CHECK(diagnosis.at("summary").at("nodes_unreachable") == 1);
  CHECK_FALSE(diagnosis.at("checks").empty());
}

TEST_CASE("facts in JSON are valid under their schema", "[doctor]") {
  const DoctoredHosts hosts;
  const auto run = hosts.controller().run({"facts", "--json"});
  require_exit(run, 0);
  const auto facts = run.document("facts.schema.json");
  REQUIRE(facts.at("nodes").size() == 2);
  const auto& host = facts.at("nodes")[0].at("facts").at("host");
  const auto& routes = host.at("routes");
  CHECK(std::any_of(routes.begin(), routes.end(), [](const auto& route) {
    return route.at("destination") == "192.168.100.0/24" && route.at("interface") == kHalf;
  }));
  CHECK_FALSE(host.at("host_keys").empty());
}

}  // namespace sparkplan::test
