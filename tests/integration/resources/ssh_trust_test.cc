// Logins between real hosts, tried with ssh and checked with sshd and ssh-keygen.
#include <algorithm>
#include <fstream>
#include <set>

#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kOperatorKeys = "/home/operator/.ssh/authorized_keys";
const std::string kRootKeys = "/root/.ssh/authorized_keys";
const std::string kKnownHosts = "/etc/ssh/ssh_known_hosts";
const std::string kConfig = "/etc/ssh/ssh_config.d/60-sparkplan.conf";
const std::string kKey = ".ssh/sparkplan_ed25519";
const std::string kTrust = "ssh_trust: {users: [operator, root]}\n";

std::string home_of(const std::string& user) { return user == "root" ? "/root/" : "/home/" + user + "/"; }

/// A host with the logins of a fresh lab, before and after a case.
class TrustHost {
 public:
  explicit TrustHost(int number) : host_(number), operator_keys_(lab_keys(number)) { restore(); }
  ~TrustHost() { restore(); }
  TrustHost(const TrustHost&) = delete;
  TrustHost& operator=(const TrustHost&) = delete;

  const Host* operator->() const { return &host_; }
  const Host& host() const { return host_; }

  /// The output of `hostname` over a login from this host; the error of ssh when the login fails.
  std::string login(const std::string& user, const std::string& destination, const Words& options = {}) const {
    Words argv{"runuser", "-u", user, "--", "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), {"-o", "StrictHostKeyChecking=yes", "--", destination, "hostname"});
    const auto output = host_.run(argv);
    return std::string(trim(output.exit_status == 0 ? output.standard_output : output.standard_error));
  }

  std::string key_of(const std::string& user) const { return host_.text(home_of(user) + kKey + ".pub").value_or(""); }

  /// Inode, times, mode and owner of every file that ssh_trust may change.
  std::string identities() const {
    return host_.shell(
        "find /etc/ssh /root /home -xdev ! -path '*/.cache*' -printf '%p %i %m %U:%G %s %T@ %C@\\n' | sort");
  }

 private:
  static std::string lab_keys(int number) {
    static std::map<int, std::string> all;
    if (all.count(number) == 0) all[number] = Host(number).text(kOperatorKeys).value();
    return all.at(number);
  }

  void restore() const {
    host_.write(kOperatorKeys, operator_keys_);
    host_.write(kRootKeys, operator_keys_);
    host_.shell("chmod 600 " + kOperatorKeys + " " + kRootKeys + "; rm -rf " + kKnownHosts + " " + kConfig + " /root/" +
                kKey + "* /home/*/" + kKey + "* /home/nobodysudo/.ssh/lab-* /etc/ssh/sshd_config.d/20-lab.conf");
  }

  Host host_;
  std::string operator_keys_;
};

struct TrustHosts {
  TrustHost first{1};
  TrustHost second{2};
  TrustHost third{3};

  std::vector<const TrustHost*> all() const { return {&first, &second, &third}; }
};

std::set<std::string> codes_in(const Json& report) {
  std::set<std::string> codes;
  for (const auto& finding : report.at("diagnostics")) codes.insert(finding.at("code").get<std::string>());
  return codes;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Requires that every host can log in to every host as `user`, under each name that `names` returns.
void check_logins(const std::vector<const TrustHost*>& hosts, const std::string& user,
                  const std::function<Words(const Host&)>& names) {
  for (const TrustHost* from : hosts) {
    for (const TrustHost* to : hosts) {
      for (const std::string& name : names(to->host())) {
        INFO(user << " from " << (*from)->name() << " to " << name);
        CHECK(from->login(user, name) == (*to)->name());
      }
    }
  }
}

TEST_CASE("ssh_trust: after one apply every user can log in from every node to every node, by every name") {
  const TrustHosts hosts;
  const Controller controller;
  controller.cluster("hosts: {suffix: -fabric}\n" + kTrust + nodes_of_lab(3));
  const auto plan = controller.run({"plan", "--json"});
  require_exit(plan, 0);
  CHECK(codes_in(plan.report()).count("ssh_trust.root-on-all") == 1);
  CHECK(hosts.first.key_of("root").empty());

  require_exit(controller.run({"apply", "--yes"}), 0);
  for (const std::string user : {"operator", "root"}) {
    check_logins(hosts.all(), user, [](const Host& host) {
      return Words{host.name(), host.address(), host.name() + "-fabric"};
    });
  }
  // Every node and every user has its own key; no two keys are equal.
  CHECK(std::set<std::string>{hosts.first.key_of("root"), hosts.second.key_of("root"), hosts.third.key_of("root"),
                              hosts.first.key_of("operator")}
            .size() == 4);
  CHECK(hosts.first->shell("stat -c '%a %U' /home/operator/" + kKey) == "600 operator");
  CHECK(hosts.first->shell("ssh-keygen -y -f /home/operator/" + kKey) + "\n" == hosts.first.key_of("operator"));
  CHECK(hosts.first->shell("ls /run/sparkplan").find("try-") == std::string::npos);

  std::vector<std::string> before;
  for (const TrustHost* host : hosts.all()) before.push_back(host->identities());
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(controller.run({"apply", "--yes"}), 0);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(hosts.all()[i]->identities() == before[i]);
  // A node that `--only` leaves out of a run is not treated as departed.
  require_exit(controller.run({"plan", "--only", "spark-01", "--detailed-exitcode"}), 0);
}

TEST_CASE("ssh_trust: logins by the fabric's names and addresses use the fabric") {
  const TrustHosts hosts;
  const Controller controller;
  for (const TrustHost* host : hosts.all()) {
    (*host)->shell("ip link set enp1s0f1np1 up; ip address add 192.168.100.1" + std::to_string((*host)->number()) +
                   "/24 dev enp1s0f1np1");
  }
  controller.cluster("fabric: {topology: switch}\n" + kTrust + nodes_of_lab(3));
  require_exit(controller.run({"apply", "--yes", "--only", "*/ssh_trust/*"}), 0);
  check_logins(hosts.all(), "operator", [](const Host& host) {
    return Words{host.name() + "-fabric", "192.168.100.1" + std::to_string(host.number())};
  });
  const auto client = hosts.first->run({"runuser", "-u", "operator", "--", "ssh", "-G", "spark-02-fabric"});
  CHECK(contains(client.standard_output, "\nhostname 192.168.100.12\n"));
  CHECK(contains(client.standard_output, "\nstricthostkeychecking true\n"));
}

TEST_CASE("ssh_trust: a key is accepted only from its own node's addresses, and other users are unaffected") {
  const TrustHosts hosts;
  const Controller controller;
  controller.cluster(kTrust + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  REQUIRE(hosts.first.login("operator", "spark-02") == "spark-02");
  hosts.second->write("/home/operator/.ssh/lab-stolen", hosts.first->text("/home/operator/" + kKey).value());
  hosts.second->shell("chown operator /home/operator/.ssh/lab-stolen; chmod 600 /home/operator/.ssh/lab-stolen");
  const Words stolen{"-F", "/dev/null", "-i", "/home/operator/.ssh/lab-stolen", "-o", "IdentitiesOnly=yes"};
  CHECK(contains(hosts.second.login("operator", "10.77.0.1", stolen), "Permission denied"));
  hosts.second->remove("/home/operator/.ssh/lab-stolen");

  const auto options = [&](const Words& more) {
    Words argv{"runuser", "-u", "nobodysudo", "--", "ssh", "-G"};
    argv.insert(argv.end(), more.begin(), more.end());
    return hosts.first->shell(join(argv, " "));
  };
  const std::string with = options({"spark-02"});
  hosts.first->remove(kConfig);
  CHECK(options({"spark-02"}) == with);
}

TEST_CASE("ssh_trust: sshd, ssh and ssh-keygen read the written files as intended") {
  const TrustHosts hosts;
  const Controller controller;
  controller.cluster(kTrust + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const std::string known = hosts.first->shell("ssh-keygen -lf " + kKnownHosts);
  for (const TrustHost* host : {&hosts.first, &hosts.second}) {
    for (const std::string type : {"ed25519", "ecdsa"}) CHECK(contains(known, (*host)->fingerprint(type)));
  }
  CHECK(hosts.first->shell("stat -c '%a %U:%G' " + kKnownHosts + " " + kConfig) == "644 root:root\n644 root:root");
  const std::string keys = hosts.first->shell("ssh-keygen -lf " + kRootKeys);
  CHECK(contains(keys, "sparkplan:lab:spark-01"));
  CHECK(contains(keys, "sparkplan:lab:spark-02"));
  CHECK(hosts.first->run({"sshd", "-t"}).exit_status == 0);
}

TEST_CASE("ssh_trust: foreign lines stay unchanged, and removing the section restores all files") {
  const TrustHosts hosts;
  const Controller controller;
  const std::string odd = hosts.first->text(kOperatorKeys).value() +
                          "# a note\n\n\tnot a key at all\r\ncommand=\"echo no\" ssh-rsa AAAA x  y\nno newline";
  hosts.first->write(kOperatorKeys, odd);
  hosts.first->shell("chmod 640 " + kOperatorKeys);
  hosts.first->write(kKnownHosts, "elsewhere ssh-rsa AAAA\n");
  const auto second_before = hosts.second->tree();
  controller.cluster(kTrust + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(hosts.first->text(kOperatorKeys).value().starts_with(odd + "\n# BEGIN sparkplan"));
  CHECK(hosts.first->shell("stat -c '%a %U' " + kOperatorKeys) == "640 operator");
  CHECK(hosts.second.login("operator", "spark-01") == "spark-01");

  controller.cluster(nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(hosts.first->text(kOperatorKeys) == odd);
  CHECK(hosts.first->text(kKnownHosts) == "elsewhere ssh-rsa AAAA\n");
  for (const TrustHost* host : {&hosts.first, &hosts.second}) {
    CHECK_FALSE((*host)->has(kConfig));
    for (const std::string user : {"root", "operator"}) {
      CHECK_FALSE((*host)->has(home_of(user) + kKey));
      CHECK_FALSE((*host)->has(home_of(user) + kKey + ".pub"));
    }
  }
  CHECK_FALSE(hosts.second->has(kKnownHosts));
  CHECK(contains(hosts.first.login("operator", "10.77.0.2"), "Host key verification failed"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("ssh_trust: one apply generates and distributes a deleted key again") {
  const TrustHosts hosts;
  const Controller controller;
  controller.cluster(kTrust + nodes_of_lab(3));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const std::string old_key = hosts.second.key_of("operator");
  hosts.second->shell("rm /home/operator/" + kKey);
  CHECK(contains(hosts.second.login("operator", "spark-01"), "Permission denied"));
  require_exit(controller.run({"drift"}), 2);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(hosts.second.key_of("operator") != old_key);
  for (const TrustHost* host : hosts.all()) {
    CHECK(hosts.second.login("operator", (*host)->name()) == (*host)->name());
    CHECK(count((*host)->text(kOperatorKeys).value(), "sparkplan:lab:") == 3);
    CHECK_FALSE(contains((*host)->text(kOperatorKeys).value(), old_key));
  }
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("ssh_trust: a regenerated host key reaches the known hosts of all users") {
  const TrustHosts hosts;
  const Controller controller;
  controller.cluster(kTrust + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  hosts.second->shell(
      "mkdir /run/lab-keys && cp -p /etc/ssh/ssh_host_* /run/lab-keys && rm /etc/ssh/ssh_host_*_key* && "
      "ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key && systemctl restart ssh");
  CHECK(contains(hosts.first.login("operator", "spark-02"), "REMOTE HOST IDENTIFICATION HAS CHANGED"));
  const std::string trusted = std::string(trim(hosts.second->text("/etc/ssh/ssh_host_ed25519_key.pub").value()));
  {
    std::ofstream known(controller.known_hosts(), std::ios::binary);
    known << "10.77.0.1 " << hosts.first->public_key("ed25519") << "\n10.77.0.2 " << trusted << "\n";
  }
  const auto applied = controller.run({"apply", "--yes"});
  const std::string reached = hosts.first.login("operator", "spark-02");
  hosts.second->shell("cp -p /run/lab-keys/* /etc/ssh && systemctl restart ssh");
  require_exit(applied, 0);
  CHECK(reached == "spark-02");
}

TEST_CASE("ssh_trust: a home that is a link and a missing user are named, and all other changes are made") {
  const TrustHosts hosts;
  const Controller controller;
  hosts.first->shell(
      "mkdir /etc/lab-target && mv /home/nobodysudo /home/nobodysudo.away && "
      "ln -s /etc/lab-target /home/nobodysudo");
  controller.cluster("ssh_trust: {users: [ghost, nobodysudo, operator]}\n" + nodes_of_lab(2));
  const auto run = controller.run({"apply", "--yes", "--json"});
  const auto left_in_target = hosts.first->shell("ls -A /etc/lab-target");
  hosts.first->shell("rm /home/nobodysudo && mv /home/nobodysudo.away /home/nobodysudo && rmdir /etc/lab-target");
  require_exit(run, 9);
  CHECK(left_in_target.empty());
  const auto report = run.report();
  std::map<std::string, std::string> blocked;
  for (const auto& one : node_in(report, "spark-01").at("blocked"))
    blocked[one.at("id").get<std::string>()] = one.at("error").at("message").get<std::string>();
  CHECK(contains(blocked["spark-01/ssh_trust/nobodysudo"], "/home/nobodysudo"));
  CHECK(contains(blocked["spark-01/ssh_trust/ghost"], "no user ghost"));
  CHECK(blocked.size() == 2);
  check_logins({&hosts.first, &hosts.second}, "operator", [](const Host& host) { return Words{host.name()}; });
}

TEST_CASE("ssh_trust: with one node off the others trust each other, and it joins later") {
  const TrustHosts hosts;
  const Controller controller;
  controller.cluster(kTrust + nodes_of_lab(3));
  Lab::get().stop(3);
  const auto run = controller.run({"apply", "--yes", "--timeout", "3s"});
  const auto again = controller.run({"plan", "--json", "--timeout", "3s"});
  Lab::get().start(3);
  require_exit(run, 4);
  CHECK(node_in(again.report(), "spark-01").at("status") == "in_sync");
  check_logins({&hosts.first, &hosts.second}, "operator", [](const Host& host) { return Words{host.name()}; });
  require_exit(controller.run({"apply", "--yes"}), 0);
  check_logins(hosts.all(), "operator", [](const Host& host) { return Words{host.name()}; });
}

TEST_CASE("ssh_trust: an sshd that reads other files is a warning") {
  const TrustHosts hosts;
  const Controller controller;
  hosts.first->write("/etc/ssh/sshd_config.d/20-lab.conf", "AuthorizedKeysFile /etc/ssh/keys/%u\n");
  controller.cluster("ssh_trust: {users: [operator]}\n" + nodes_of_lab(2));
  const auto run = controller.run({"apply", "--yes", "--json"});
  require_exit(run, 0);
  const auto report = run.report();
  REQUIRE(codes_in(report).count("ssh_trust.not_effective") == 1);
  for (const auto& finding : report.at("diagnostics")) {
    if (finding.at("code") != "ssh_trust.not_effective") continue;
    CHECK(finding.at("node") == "spark-01");
    CHECK(contains(finding.at("message").get<std::string>(), "AuthorizedKeysFile"));
  }
}

}  // namespace
}  // namespace sparkplan::test
