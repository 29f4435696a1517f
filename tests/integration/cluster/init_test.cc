// `init` writes cluster.yaml from the machines alone: it restores what was applied, and asks before it trusts a new
// host key.
#include <fstream>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

std::vector<Host> hosts_of_lab(int count) {
  std::vector<Host> hosts;
  for (int i = 1; i <= count; ++i) hosts.emplace_back(i);
  return hosts;
}

/// The argv of `init` for the first `count` hosts of the lab, as `user`, writing new.yaml.
Words init_of(int count, const std::string& user) {
  Words arguments{"init", "-o", "new.yaml"};
  for (int i = 1; i <= count; ++i) arguments.push_back(user + "@10.77.0." + std::to_string(i));
  return arguments;
}

/// Applies the sections, deletes the file, and lets `init` write it again. A plan of the new file must contain no
/// change; a missing setting would appear as a removal.
void require_round_trip(const std::string& sections, const std::string& nodes, int count, const std::string& user) {
  const auto hosts = hosts_of_lab(count);
  const Controller controller;
  controller.cluster(sections + nodes);
  require_exit(controller.run({"apply", "--yes"}), 0);
  std::filesystem::remove(controller.directory() / "cluster.yaml");

  const auto run = controller.run(init_of(count, user));
  INFO(controller.text("new.yaml"));
  require_exit(run, 0);
  CHECK(contains(run.out, "Wrote new.yaml: name lab, " + std::to_string(count) + " nodes."));
  require_exit(controller.run({"validate", "new.yaml"}), 0);
  require_exit(controller.run({"plan", "--detailed-exitcode", "new.yaml"}), 0);

  controller.cluster(nodes_of_lab(count, user));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
}

const std::string kMuch = R"(
sysctl: {net.core.somaxconn: 8192, net.ipv4.tcp_retries2: 12}
limits:
  - {domain: "*", item: memlock, value: 4096}
  - {domain: root, item: nofile, type: soft, value: 1024}
profile_env: {HF_HOME: /mnt/models/hf, ODD: "a: b # \"c\""}
hosts: {suffix: -fabric}
ssh_trust: {users: [operator]}
nccl: {mode: safe, env: {NCCL_DEBUG: WARN}}
units:
  - {name: lab-init.service, content: "[Service]\nType=oneshot\nExecStart=/bin/true\n\n[Install]\nWantedBy=multi-user.target\n", enabled: true}
)";

}  // namespace

TEST_CASE("init: two nodes on one cable are written as they were applied", "[init]") {
  require_round_trip(kMuch + "fabric: {topology: direct, port: 1}\n", nodes_of_lab(2, "operator"), 2, "operator");
}

TEST_CASE("init: eight nodes on a switch are written as they were applied", "[init]") {
  require_round_trip(kMuch + "fabric: {topology: switch, port: 1}\n", nodes_of_lab(8, "operator"), 8, "operator");
}

TEST_CASE("init: addresses set by the user are written word for word", "[init]") {
  require_round_trip(
      "hosts: {}\nnccl: {}\nfabric: {topology: direct}\n",
      "ssh: {user: root}\nnodes:\n"
      "  - {name: left, id: 5, address: 10.77.0.1, fabric: {interfaces: [{name: enp1s0f1np1, address: "
      "10.20.0.1/30, mtu: 9000}, {name: enP2p1s0f1np1, mtu: 4200}]}, sysctl: {net.core.somaxconn: 8192}}\n"
      "  - {name: right, id: 3, address: 10.77.0.2, fabric: {interfaces: [{name: enp1s0f1np1, address: "
      "10.20.0.2/30, mtu: 9000}, {name: enP2p1s0f1np1, mtu: 4200}]}}\n",
      2, "root");
}

TEST_CASE("init: unmanaged hosts get a file for them, and only the agent is installed on them", "[init]") {
  const auto hosts = hosts_of_lab(2);
  const Controller controller;
  const auto before = hosts[0].tree();
  const auto run = controller.run(init_of(2, "root"));
  const std::string text = controller.text("new.yaml");
  INFO(text);
  require_exit(run, 0);
  CHECK(text.starts_with("# yaml-language-server: $schema="));
  CHECK(contains(text, "fabric: {topology: direct, port: 1}"));
  CHECK(contains(text, "- {name: spark-01, address: 10.77.0.1}"));
  // Beside the file, for editors.
  CHECK(controller.text("cluster.schema.json") == controller.run({"schema"}).out);
  require_exit(controller.run({"validate", "new.yaml"}), 0);
  require_exit(controller.run({"plan", "new.yaml"}), 0);
  auto after = hosts[0].tree();
  std::erase_if(after, [&](const auto& file) {
    const auto old = before.find(file.first);
    return (old != before.end() && old->second == file.second) || contains(file.first, "/usr/local/libexec");
  });
  for (const auto& [file, what] : after) FAIL_CHECK(file << " " << what);
}

TEST_CASE("init: a host that is off is reported and left out", "[init]") {
  const auto hosts = hosts_of_lab(3);
  const Controller controller;
  Lab::get().stop(3);
  auto arguments = init_of(3, "root");
  arguments.insert(arguments.end(), {"--timeout", "3s"});
  const auto run = controller.run(arguments);
  Lab::get().start(3);
  require_exit(run, 4);
  CHECK(contains(run.err, "10.77.0.3"));
  const std::string text = controller.text("new.yaml");
  INFO(text);
  CHECK(contains(text, "# Could not be read: "));
  CHECK(contains(text, "# - {name: NAME, address: 10.77.0.3}"));
  CHECK(contains(text, "fabric: {topology: direct, port: 1}"));
  require_exit(controller.run({"validate", "new.yaml"}), 0);
}

TEST_CASE("init: without a terminal an unknown host key is refused, and nothing is written", "[init]") {
  const Host host(1);
  const Controller controller;
  std::filesystem::remove(controller.known_hosts());
  const auto run = controller.run(init_of(1, "root"));
  require_exit(run, 4);
  CHECK(contains(run.err, "sparkplan trust"));
  CHECK(contains(run.err, "SHA256:"));
  CHECK_FALSE(std::filesystem::exists(controller.directory() / "new.yaml"));
  CHECK_FALSE(std::filesystem::exists(controller.known_hosts()));
  CHECK_FALSE(host.has(kAgentFile));
}

TEST_CASE("init: on a terminal, one question covers all unknown host keys", "[init]") {
  const auto hosts = hosts_of_lab(2);
  const Controller controller;
  std::filesystem::remove(controller.known_hosts());
  {
    Terminal terminal(controller.command(init_of(2, "root")));
    REQUIRE(terminal.wait_for("[y/N]"));
    INFO(terminal.transcript());
    for (const Host& host : hosts) {
      const bool shown = contains(terminal.transcript(), host.fingerprint("ed25519")) ||
                         contains(terminal.transcript(), host.fingerprint("ecdsa"));
      CHECK(shown);
    }
    CHECK(contains(terminal.transcript(), "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"));
    terminal.type("n\n");
    CHECK(terminal.finish() == 1);
    CHECK_FALSE(std::filesystem::exists(controller.known_hosts()));
  }
  Terminal terminal(controller.command(init_of(2, "root")));
  REQUIRE(terminal.wait_for("[y/N]"));
  terminal.type("y\n");
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 0);
  CHECK(contains(terminal.transcript(), "Wrote cluster.schema.json"));
  require_exit(controller.run({"plan", "new.yaml"}), 0);
}

TEST_CASE("init: an existing file is never replaced without being asked to", "[init]") {
  const Host host(1);
  const Controller controller;
  controller.file("new.yaml", "mine\n");
  controller.file("cluster.schema.json", "mine as well\n");
  const auto refused = controller.run(init_of(1, "root"));
  require_exit(refused, 1);
  CHECK(contains(refused.err, "new.yaml already exists"));
  CHECK(controller.text("new.yaml") == "mine\n");
  CHECK_FALSE(host.has(kAgentFile));

  Terminal terminal(controller.command(init_of(1, "root")));
  REQUIRE(terminal.wait_for("Replace it? [y/N]"));
  terminal.type("y\n");
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 0);
  CHECK(contains(controller.text("new.yaml"), "address: 10.77.0.1"));
  // A file that is no schema of sparkplan stays.
  CHECK(controller.text("cluster.schema.json") == "mine as well\n");
  CHECK(contains(terminal.transcript(), "cluster.schema.json is no schema of sparkplan"));
}

TEST_CASE("init: -o - prints the file and nothing else to standard output", "[init]") {
  const Host host(1);
  const Controller controller;
  const auto run = controller.run({"init", "-o", "-", "root@10.77.0.1"});
  require_exit(run, 0);
  CHECK(run.out.starts_with("# yaml-language-server: $schema="));
  controller.file("piped.yaml", run.out);
  require_exit(controller.run({"validate", "piped.yaml"}), 0);
}

TEST_CASE("init: an invalid host, a repeated host and an empty list are exit 1", "[init]") {
  const Controller controller;
  for (const Words& hosts : {Words{}, Words{"10.77.0.1:0"}, Words{"a b"}, Words{"-x@h"}, Words{"[::1"},
                             Words{"256.1.1.1"}, Words{"root@10.77.0.1", "operator@10.77.0.1"}}) {
    Words arguments{"init"};
    if (!hosts.empty()) arguments.emplace_back("--");
    arguments.insert(arguments.end(), hosts.begin(), hosts.end());
    const auto run = controller.run(arguments);
    require_exit(run, 1);
    CHECK(contains(run.err, "hint: "));
  }
}

TEST_CASE("init: one machine at two addresses is refused, and both are named", "[init]") {
  const Host host(1);
  host.shell("ip address add 10.77.0.201/24 dev mgmt0");
  const Controller controller;
  std::ofstream(controller.known_hosts(), std::ios::app) << "10.77.0.201 " << host.public_key() << "\n";
  const auto run = controller.run({"init", "-o", "new.yaml", "root@10.77.0.1", "root@10.77.0.201"});
  host.shell("ip address del 10.77.0.201/24 dev mgmt0");
  require_exit(run, 1);
  CHECK(contains(run.err, "10.77.0.1 and root@10.77.0.201"));
  CHECK(contains(run.err, "machine-id"));
}

namespace {

/// Two hosts that accept the password of `guarded`, and a controller whose key the hosts do not know.
class HostsWithPassword {
 public:
  HostsWithPassword() {
    for (const Host& host : hosts_) {
      host.write("/etc/ssh/sshd_config.d/05-lab-password.conf", "PasswordAuthentication yes\n");
      host.shell("systemctl reload ssh");
      host.shell("cp -p /home/guarded/.ssh/authorized_keys /run/lab-guarded-keys");
    }
    for (const char* file : {"id_ed25519", "id_ed25519.pub"}) {
      std::filesystem::remove(controller_.home() / ".ssh" / file);
    }
    const auto key = controller_.home() / ".ssh/id_ed25519";
    REQUIRE(run_program({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "newcomer", "-f", key}).exit_status == 0);
  }
  HostsWithPassword(const HostsWithPassword&) = delete;
  HostsWithPassword& operator=(const HostsWithPassword&) = delete;
  ~HostsWithPassword() {
    for (const Host& host : hosts_) {
      host.shell("rm -rf /home/guarded/.ssh/authorized_keys");
      host.shell("cp -p /run/lab-guarded-keys /home/guarded/.ssh/authorized_keys");
      host.remove("/etc/ssh/sshd_config.d/05-lab-password.conf");
      host.shell("systemctl reload ssh");
    }
  }

  const std::vector<Host>& hosts() const { return hosts_; }
  const Controller& controller() const { return controller_; }

  /// Types the password, and answers yes to the host key.
  int init(std::string& transcript) const {
    Terminal terminal(controller_.command(init_of(2, "guarded")));
    REQUIRE(terminal.wait_for("Password for "));
    terminal.type("lab-password\n");
    REQUIRE(terminal.wait_for("[y/N]"));
    terminal.type("y\n");
    const int code = terminal.finish().value_or(-1);
    transcript = terminal.transcript();
    return code;
  }

 private:
  std::vector<Host> hosts_ = hosts_of_lab(2);
  Controller controller_;
};

}  // namespace

TEST_CASE("init: a password logs in where no key is accepted, and the key is installed if allowed", "[init]") {
  const HostsWithPassword lab;
  const auto refused = lab.controller().run(init_of(2, "guarded"));
  require_exit(refused, 4);
  CHECK(contains(refused.err, "accepts none of our keys"));

  std::string transcript;
  const int code = lab.init(transcript);
  INFO(transcript);
  CHECK(code == 0);
  CHECK_FALSE(contains(transcript, "lab-password"));
  CHECK(contains(lab.controller().text("new.yaml"), "ssh: {user: guarded}"));
  for (const Host& host : lab.hosts()) {
    const auto keys = host.text("/home/guarded/.ssh/authorized_keys").value_or("");
    CHECK(contains(keys, " newcomer\n"));
    CHECK(lines_of(keys).size() == 2);
    CHECK(contains(host.shell("stat -c '%a %U' /home/guarded/.ssh/authorized_keys"), "600 guarded"));
  }
  const auto by_key = lab.controller().run({"plan", "new.yaml"});
  CHECK_FALSE(contains(by_key.out + by_key.err, "accepts none of our keys"));
}

TEST_CASE("init: a key that cannot be installed is exit 4, and the file is written", "[init]") {
  const HostsWithPassword lab;
  lab.hosts()[1].shell("rm /home/guarded/.ssh/authorized_keys; mkdir /home/guarded/.ssh/authorized_keys");
  std::string transcript;
  const int code = lab.init(transcript);
  INFO(transcript);
  CHECK(code == 4);
  CHECK(contains(transcript, "guarded@10.77.0.2: "));
  CHECK(contains(lab.controller().text("new.yaml"), "address: 10.77.0.2"));
}

}  // namespace sparkplan::test
