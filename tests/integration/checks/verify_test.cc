// `verify` on real hosts with a real fabric: ip, nft and the lab's switch cause the faults.
#include <iterator>
#include <memory>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kMeasurements = "/var/lib/sparkplan/verify/history.jsonl";
const std::string kFabric = "fabric: {topology: switch, port: 1}\n";
const std::string kTrust = "hosts: {suffix: -fabric}\nssh_trust: {users: [operator]}\n";

/// A host without fabric and trust, before a case and after it.
class VerifiedHost {
 public:
  explicit VerifiedHost(int number) : host_(number) { reset(); }
  VerifiedHost(const VerifiedHost&) = delete;
  VerifiedHost& operator=(const VerifiedHost&) = delete;
  ~VerifiedHost() {
    try {
      reset();
    } catch (const std::exception&) {  // The case has failed already; the next case resets the host again.
    }
  }
  const Host& operator*() const { return host_; }
  const Host* operator->() const { return &host_; }

  void narrow(const std::string& half, int mtu) const { Lab::get().narrow(host_.number(), half, mtu); }
  /// Silently drops incoming packets that fit `match`.
  void drop(const std::string& match) const {
    host_.shell(
        "nft 'add table inet verify; add chain inet verify in { type filter hook input priority 0; }; "
        "add rule inet verify in " +
        match + " drop'");
  }
  std::string fabric_address() const { return "192.168.100." + std::to_string(10 + host_.number()); }
  /// True when no process of verify remains and no port is open on a fabric address.
  bool is_safe() const {
    return host_.shell("pgrep -x 'agent|ssh' || true").empty() &&
           host_.shell("ss -Hltun '( src 192.168.0.0/16 )'").empty();
  }

 private:
  void reset() const {
    host_.shell(
        "nft flush ruleset; rm -f /etc/netplan/*.yaml /run/netplan/*.yaml; netplan generate; networkctl reload; "
        "for half in " +
        kHalfA + " " + kHalfB +
        "; do ip address flush dev $half; ip link set dev $half down mtu 1500; "
        "done; rm -rf /etc/ssh/ssh_known_hosts /etc/ssh/ssh_config.d/60-sparkplan.conf "
        "/home/operator/.ssh/sparkplan_ed25519* ; "
        "sed -i '/# sparkplan: begin/,/# sparkplan: end/d' /home/operator/.ssh/authorized_keys");
    for (const auto& half : {kHalfA, kHalfB}) narrow(half, 9000);
  }
  Host host_;
};

Words only_level(const std::string& level) { return {"verify", "--json", "--level", level}; }

void apply_all(const Controller& controller, const std::string& sections, int nodes) {
  controller.cluster(sections + nodes_of_lab(nodes));
  require_exit(controller.run({"apply", "--yes"}), 0);
}

Json verify(const Controller& controller, const Words& arguments, int code) {
  const auto run = controller.run(arguments, seconds(300));
  require_exit(run, code);
  return run.verification();
}

void require_only(const Json& report, const std::vector<std::string>& troubles) {
  INFO(report.at("checks").dump(1));
  CHECK(troubles_in(report) == troubles);
}

}  // namespace

TEST_CASE("verify: two hosts as declared pass, and only their measurements remain") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const Controller controller;
  apply_all(controller, kFabric + kTrust, 2);
  const auto before = first->tree();
  const auto report = verify(controller, {"verify", "--json"}, 0);
  require_only(report, {});
  CHECK(passed_at(report, "link") == 8);
  CHECK(passed_at(report, "mtu") == 4);
  CHECK(passed_at(report, "ssh") == 4);
  CHECK(passed_at(report, "tcp") == 4);
  const auto tcp = check_in(report, "tcp/spark-01/spark-02/A");
  CHECK(tcp.at("unit") == "Gb/s");
  CHECK(tcp.at("value") > 0);
  CHECK(check_in(report, "mtu/spark-02/spark-01/B").at("value") == 9000);
  CHECK(check_in(report, "storage/spark-01").at("cause") == "no storage declared");
  for (const auto* host : {&first, &second}) {
    CHECK(eventually([&] { return host->is_safe(); }));
    CHECK((*host)->shell("stat -c '%a %U' " + kMeasurements) == "600 root");
  }
  auto after = first->tree();
  for (auto at = after.begin(); at != after.end();) {
    at = before.contains(at->first) && before.at(at->first) == at->second ? after.erase(at) : std::next(at);
  }
  for (const auto& [path, state] : after) {
    INFO(path);
    const bool of_the_nccl_test = path.starts_with("/usr/local/libexec/sparkplan/sparkplan-nccl");
    CHECK((of_the_nccl_test || path.starts_with("/var/lib/sparkplan")));
  }
}

TEST_CASE("verify: eight hosts are measured in all pairs") {
  std::vector<std::unique_ptr<VerifiedHost>> hosts;
  for (int i = 1; i <= Lab::kHosts; ++i) hosts.push_back(std::make_unique<VerifiedHost>(i));
  const Controller controller;
  apply_all(controller, kFabric + kTrust, Lab::kHosts);
  const auto report = verify(controller, {"verify", "--json"}, 0);
  require_only(report, {});
  CHECK(passed_at(report, "link") == 32);
  CHECK(passed_at(report, "mtu") == 112);
  CHECK(passed_at(report, "ssh") == 64);
  CHECK(passed_at(report, "tcp") == 112);
}

TEST_CASE("verify: a switch port with a smaller MTU is found, and its largest frame is named") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const VerifiedHost third(3);
  const Controller controller;
  apply_all(controller, kFabric, 3);
  second.narrow(kHalfA, 1500);
  const auto report = verify(controller, only_level("tcp"), 8);
  require_only(report, {"fail mtu/spark-01/spark-02/A", "fail mtu/spark-02/spark-01/A", "fail mtu/spark-02/spark-03/A",
                        "fail mtu/spark-03/spark-02/A"});
  const auto narrow = check_in(report, "mtu/spark-01/spark-02/A");
  CHECK(narrow.at("value") == 1500);
  CHECK(narrow.at("threshold") == 9000);
  CHECK(contains(narrow.at("cause").get<std::string>(), "the cable or the switch port of spark-02"));
  CHECK(contains(narrow.at("fix").get<std::string>(), "9216"));
  // Levels above a failed check are skipped for that pair and half, and measured for the others.
  CHECK(check_in(report, "tcp/spark-01/spark-02/A").at("cause") == "mtu/spark-01/spark-02/A failed");
  CHECK(check_in(report, "tcp/spark-01/spark-02/B").at("status") == "pass");
  CHECK(check_in(report, "tcp/spark-01/spark-03/A").at("status") == "pass");
}

TEST_CASE("verify: a firewall that blocks one direction is found, and the direction is named") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const Controller controller;
  apply_all(controller, kFabric, 2);
  second.drop("iifname " + kHalfB + " ip saddr 192.168.101.11");
  const auto report = verify(controller, only_level("tcp"), 8);
  require_only(report, {"fail mtu/spark-01/spark-02/B"});
  const auto cause = check_in(report, "mtu/spark-01/spark-02/B").at("cause").get<std::string>();
  INFO(cause);
  CHECK(contains(cause, "no packet gets from spark-01 to spark-02 through " + kHalfB + "; the other direction works"));
  CHECK(contains(cause, "firewall"));
  CHECK(check_in(report, "mtu/spark-02/spark-01/B").at("status") == "pass");
  CHECK(check_in(report, "tcp/spark-01/spark-02/A").at("status") == "pass");
}

TEST_CASE("verify: a firewall that drops TCP is distinguished from one that rejects it") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const Controller controller;
  apply_all(controller, kFabric, 2);
  second.drop("iifname " + kHalfA + " ct state new ip protocol tcp");
  second->shell("nft 'add rule inet verify in iifname " + kHalfB +
                " ct state new ip protocol tcp reject with tcp reset'");
  const auto report = verify(controller, only_level("tcp"), 8);
  require_only(report, {"fail tcp/spark-01/spark-02/A", "fail tcp/spark-01/spark-02/B"});
  CHECK(contains(check_in(report, "tcp/spark-01/spark-02/A").at("cause").get<std::string>(), "drops connections"));
  CHECK(contains(check_in(report, "tcp/spark-01/spark-02/B").at("cause").get<std::string>(), "rejects connections"));
}

TEST_CASE("verify: a half that is down, a different MTU and a pulled cable are found") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const VerifiedHost third(3);
  const Controller controller;
  apply_all(controller, kFabric, 3);
  first->shell("ip link set dev " + kHalfB + " down");
  second->shell("ip link set dev " + kHalfA + " mtu 1500");
  Lab::get().cut(3, kHalfB);
  const auto run = controller.run(only_level("mtu"));
  Lab::get().join(3, kHalfB);
  require_exit(run, 8);
  const auto report = run.verification();
  require_only(report, {"fail link/spark-01/B", "fail link/spark-02/A", "fail link/spark-03/B"});
  const auto cause = [&](const std::string& id) { return check_in(report, id).at("cause").get<std::string>(); };
  CHECK(contains(cause("link/spark-01/B"), kHalfB + " is down"));
  CHECK(contains(cause("link/spark-02/A"), "1500 instead of 9000"));
  CHECK(contains(cause("link/spark-03/B"), "no carrier"));
  CHECK(cause("mtu/spark-01/spark-03/B") == "link/spark-01/B failed");
  CHECK(check_in(report, "mtu/spark-01/spark-03/A").at("status") == "pass");
}

TEST_CASE("verify: a cable in the wrong port is named with its other end, and the plan stays empty") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const Controller controller;
  apply_all(controller, kFabric, 2);
  require_only(verify(controller, {"verify", "--json", "--level", "link"}, 0), {});

  Lab::get().plug(1, kHalfA, kHalfB);
  Lab::get().plug(1, kHalfB, kHalfA);
  const auto run = controller.run({"verify", "--json", "--level", "link"});
  const auto plan = controller.run({"plan", "--detailed-exitcode"});
  Lab::get().plug(1, kHalfA, kHalfA);
  Lab::get().plug(1, kHalfB, kHalfB);
  require_exit(run, 8);
  const auto report = run.verification();
  require_only(report, {"fail link/spark-01/A/cable", "fail link/spark-01/B/cable", "fail link/spark-02/A/cable",
                        "fail link/spark-02/B/cable"});
  CHECK(contains(check_in(report, "link/spark-01/A/cable").at("cause").get<std::string>(),
                 kHalfA + " reaches spark-02 " + kHalfB + " instead of spark-02 " + kHalfA));
  require_exit(plan, 0);
}

TEST_CASE("verify: a failed login is reported with ssh's reason") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const Controller controller;
  apply_all(controller, kFabric + kTrust, 2);
  first->shell("sed -i '/sparkplan:lab:spark-02/d' /home/operator/.ssh/authorized_keys");
  second->shell("sed -i '/spark-01/d' /etc/ssh/ssh_known_hosts");
  auto report = verify(controller, only_level("ssh"), 8);
  require_only(report, {"fail ssh/spark-02/spark-01/operator"});
  const auto unknown = check_in(report, "ssh/spark-02/spark-01/operator").at("cause").get<std::string>();
  INFO(unknown);
  CHECK(contains(unknown, "operator to spark-01-fabric"));
  CHECK(contains(unknown, "ssh_known_hosts"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  first->shell("chmod 777 /home/operator/.ssh/authorized_keys");
  report = verify(controller, only_level("ssh"), 8);
  first->shell("chmod 600 /home/operator/.ssh/authorized_keys");
  require_only(report, {"fail ssh/spark-01/spark-01/operator", "fail ssh/spark-02/spark-01/operator"});
  CHECK(
      contains(check_in(report, "ssh/spark-02/spark-01/operator").at("cause").get<std::string>(), "Permission denied"));
}

TEST_CASE("verify: a result slower than earlier runs is a warning, and damaged measurements are set aside") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const Controller controller;
  apply_all(controller, kFabric, 2);
  first->shell("mkdir -m 700 /var/lib/sparkplan/verify");
  first->write(kMeasurements,
               R"({"id":"tcp/spark-01/spark-02/A","values":[1e9,1e9,1e9]})"
               "\n"
               R"({"id":"tcp/spark-01/spark-02/B","values":[0.001,0.001,0.001]})"
               "\n",
               0600);
  auto report = verify(controller, only_level("tcp"), 0);
  require_only(report, {"warn tcp/spark-01/spark-02/A"});
  const auto slow = check_in(report, "tcp/spark-01/spark-02/A");
  CHECK(contains(slow.at("cause").get<std::string>(),
                 "the median of 3 earlier runs in the record of spark-01 is 1000000000 Gb/s"));
  const auto kept = first->text(kMeasurements).value();
  REQUIRE(lines_of(kept).size() == 2);
  for (const auto line : lines_of(kept)) CHECK(Json::parse(line).at("values").size() == 4);
  const auto history = controller.run({"verify", "--history"});
  require_exit(history, 0);
  CHECK(contains(history.out, "tcp/spark-01/spark-02/A"));
  CHECK(contains(history.out, ", one run"));
  controller.run({"verify", "--history", "--json"}).document("verify-history.schema.json");

  first->write(kMeasurements, "no history\n", 0600);
  report = verify(controller, only_level("tcp"), 0);
  require_only(report, {});
  CHECK(contains(report.at("diagnostics").dump(), "verify.history-damaged"));
  CHECK(first->text(kMeasurements + ".damaged") == "no history\n");
  CHECK(contains(first->text(kMeasurements).value(), "tcp/spark-01/spark-02/A"));
  require_exit(controller.run({"release", "spark-02", "--yes"}), 0);
  CHECK_FALSE(second->has("/var/lib/sparkplan"));
}

TEST_CASE("verify: text, JUnit and apply --verify report the checks") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const Controller controller;
  controller.cluster(kFabric + kTrust + nodes_of_lab(2));
  const auto applied = controller.run({"apply", "--yes", "--verify", "--json"});
  require_exit(applied, 0);
  CHECK(passed_at(applied.report().at("verification"), "ssh") == 4);
  first->shell("ip link set dev " + kHalfA + " down");
  const auto run = controller.run({"verify", "--junit", "junit.xml"});
  require_exit(run, 8);
  INFO(run.out);
  CHECK(contains(run.out, "FAIL  link     spark-01  A"));
  CHECK(contains(run.out, "        fix: "));
  CHECK(contains(run.out, "Verify: "));
  CHECK(contains(run.out, "tcp B, Gb/s"));
  const auto judged = run_program({"python3", "-c",
                                   "import sys, xml.etree.ElementTree as tree\n"
                                   "root = tree.parse(sys.argv[1]).getroot()\n"
                                   "cases = root.findall('./testsuite/testcase')\n"
                                   "assert len(cases) == int(root.get('tests')), 'tests'\n"
                                   "print(*[c.get('name') for c in cases if c.find('failure') is not None])",
                                   (controller.directory() / "junit.xml").string()});
  INFO(judged.standard_error);
  CHECK(judged.exit_status == 0);
  CHECK(contains(judged.standard_output, "link/spark-01/A"));
}

TEST_CASE("verify: a run that measured nothing fails, also after an apply, and names what is missing") {
  const VerifiedHost first(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  const auto applied = controller.run({"apply", "--yes", "--verify", "--json"});
  require_exit(applied, 8);
  const auto missing = check_in(applied.report().at("verification"), "link/measured");
  CHECK(missing.at("status") == "fail");
  CHECK(contains(missing.at("cause").get<std::string>(), "no fabric declared"));
  CHECK(contains(missing.at("fix").get<std::string>(), "fabric"));
  CHECK(first->sysctl("net.core.somaxconn") == "8192");
  CHECK(check_in(verify(controller, only_level("rdma"), 8), "rdma/measured").at("status") == "fail");
}

TEST_CASE("verify: wrong arguments are exit 1, and an unreachable node is exit 4") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const Controller controller;
  apply_all(controller, kFabric, 2);
  const auto level = controller.run({"verify", "--level", "rmda"});
  require_exit(level, 1);
  CHECK(contains(level.err, "did you mean rdma?"));
  const auto path = controller.run({"verify", "--junit", "no/such/directory/junit.xml"});
  require_exit(path, 1);
  CHECK(path.out.empty());
  require_exit(controller.run({"verify", "--only", "spark-9*"}), 1);

  controller.cluster(kFabric + nodes_of_lab(2) + "  - {name: spark-03, address: 10.77.0.99}\n");
  const auto report = verify(controller, {"verify", "--json", "--level", "mtu", "--timeout", "2s"}, 4);
  CHECK(node_in(report, "spark-03").at("status") == "unreachable");
  CHECK(check_in(report, "mtu/spark-03").at("cause") == "the node is not connected");
  CHECK(passed_at(report, "mtu") == 4);
  const auto one = verify(controller, {"verify", "--json", "--level", "mtu", "--only", "spark-01"}, 8);
  CHECK(check_in(one, "mtu/spark-01").at("cause") == "spark-[02-03] are not part of this run");
  CHECK(passed_at(one, "link") == 2);
}

TEST_CASE("verify: Ctrl-C ends it, prints the results so far, and leaves nothing running") {
  const VerifiedHost first(1);
  const VerifiedHost second(2);
  const Controller controller;
  apply_all(controller, kFabric, 2);
  Terminal terminal(controller.command({"verify", "--level", "tcp"}));
  REQUIRE(terminal.wait_for("measuring TCP"));
  terminal.interrupt();
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 4);
  CHECK(contains(terminal.transcript(), "Interrupted"));
  CHECK(contains(terminal.transcript(), "link"));
  for (const auto* host : {&first, &second}) CHECK(eventually([&] { return host->is_safe(); }));
}

}  // namespace sparkplan::test
