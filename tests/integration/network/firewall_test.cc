// ufw on real hosts. The tests check ufw's status, the kernel's rules, and whether connections are accepted.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kRules = "/etc/ufw/user.rules";
const std::string kFabric = "fabric: {topology: direct, port: 1}\n";
const std::string kAllow = "firewall: {allow_fabric: true}\n";

/// A host without fabric. Its ufw accepts only SSH once it is enabled.
class FilteredHost {
 public:
  explicit FilteredHost(int number) : host_(number) { reset(); }
  FilteredHost(const FilteredHost&) = delete;
  FilteredHost& operator=(const FilteredHost&) = delete;
  ~FilteredHost() {
    try {
      reset();
    } catch (const std::exception&) {  // The case has failed already; the next case resets the host again.
    }
  }
  const Host* operator->() const { return &host_; }

  void filter() const { host_.shell("ufw allow 22/tcp && ufw --force enable"); }
  /// Listens on TCP port 5001 until the host is reset.
  void listen() const {
    host_.shell("systemd-run --quiet --collect --unit lab-ear python3 -m http.server 5001");
    REQUIRE(eventually([&] { return !host_.shell("ss -Hltn 'sport = 5001'").empty(); }));
  }
  bool reaches(const std::string& address) const {
    return host_.run({"timeout", "2", "bash", "-c", "exec 3<>/dev/tcp/" + address + "/5001"}).exit_status == 0;
  }
  std::string status() const { return host_.shell("ufw status"); }

 private:
  void reset() const {
    host_.shell(
        "systemctl stop lab-ear.service 2>/dev/null; ufw --force reset >/dev/null; rm -f /etc/ufw/*.rules.2*; "
        "nft flush ruleset; rm -f /etc/netplan/*.yaml /run/netplan/*.yaml; netplan generate; networkctl reload; "
        "for half in " +
        kHalfA + " " + kHalfB + "; do ip address flush dev $half; ip link set dev $half down mtu 1500; done");
  }
  Host host_;
};

/// ufw's own rules. Blank lines are left out, because their number varies.
std::string rules_of(const FilteredHost& host) { return host->shell("grep -v '^$' " + kRules); }

}  // namespace

TEST_CASE("firewall: an active ufw accepts both halves of the fabric in both directions, all else is unchanged") {
  const FilteredHost first(1);
  const FilteredHost second(2);
  const Controller controller;
  controller.cluster(kFabric + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  for (const auto* host : {&first, &second}) {
    host->listen();
    host->filter();
  }
  CHECK_FALSE(first.reaches("192.168.100.12"));
  const std::string before = rules_of(first);

  controller.cluster(kFabric + kAllow + nodes_of_lab(2));
  const auto plan = controller.run({"plan", "--json"});
  require_exit(plan, 0);
  CHECK(contains(change_in(plan.report(), "spark-01/firewall/allow_fabric").dump(),
                 "allow in on " + kHalfA + " from 192.168.100.0/24 comment sparkplan:lab"));
  CHECK(rules_of(first) == before);
  require_exit(controller.run({"apply", "--yes"}), 0);

  CHECK(contains(first.status(), "# sparkplan:lab"));
  CHECK(contains(first->shell("nft list chain ip filter ufw-user-input"), "192.168.101.0/24"));
  CHECK(first.reaches("192.168.100.12"));
  CHECK(first.reaches("192.168.101.12"));
  CHECK(second.reaches("192.168.100.11"));
  CHECK(second.reaches("192.168.101.11"));
  CHECK_FALSE(first.reaches("10.77.0.2"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  first->shell("ufw delete allow in on " + kHalfB + " from 192.168.101.0/24");
  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  CHECK(change_in(drift.report(), "spark-01/firewall/allow_fabric").at("origin") == "drift");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(second.reaches("192.168.101.11"));

  controller.cluster(kFabric + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(rules_of(first) == before);
  CHECK_FALSE(contains(first.status(), "sparkplan"));
  CHECK_FALSE(second.reaches("192.168.100.11"));
}

TEST_CASE("firewall: an inactive ufw is reported, and nothing is changed") {
  const FilteredHost host(1);
  const Controller controller;
  controller.cluster("fabric: {topology: switch, port: 1}\n" + kAllow + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto plan = controller.run({"plan", "--detailed-exitcode"});
  require_exit(plan, 0);
  CHECK(contains(plan.out, "ufw is not active there and filters nothing"));
  CHECK_FALSE(contains(host->text(kRules).value_or(""), "enp1s0f1np1"));
}

TEST_CASE("firewall: an nftables chain that drops is named after an apply, with the rule that it needs") {
  const FilteredHost host(1);
  const Controller controller;
  host->shell(
      "nft 'add table inet lab; add chain inet lab input { type filter hook input priority 0; policy drop; }; "
      "add rule inet lab input iifname mgmt0 accept; add rule inet lab input iifname lo accept'");
  controller.cluster("fabric: {topology: switch, port: 1}\n" + kAllow + nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 0);
  CHECK(contains(run.err, "inet lab input"));
  CHECK(contains(run.err, "192.168.100.0/24 on " + kHalfA));
}

TEST_CASE("firewall: a foreign rule that blocks the fabric is named, and not changed") {
  const FilteredHost host(1);
  const Controller controller;
  host.filter();
  host->shell("ufw deny in on " + kHalfA + " from 192.168.100.0/24");
  const std::string before = rules_of(host);
  controller.cluster("fabric: {topology: switch, port: 1}\n" + kAllow + nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  CHECK(run.code != 0);
  CHECK(contains(run.out, "ufw has a foreign rule for the same traffic: deny in on " + kHalfA));
  CHECK(rules_of(host) == before);
}

}  // namespace sparkplan::test
