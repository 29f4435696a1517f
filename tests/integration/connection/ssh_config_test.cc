// Nodes that are reached as the user's ~/.ssh/config describes it.
#include <fstream>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kPassphrase = "correct horse";

void write_private(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

/// A controller whose only key has another name than the usual ones, and a configuration that names it.
struct Configured {
  explicit Configured(const std::string& passphrase = "") {
    std::filesystem::rename(ssh() / "id_ed25519", ssh() / "lab_key");
    std::filesystem::remove(ssh() / "id_ed25519.pub");
    const auto changed =
        run_program({"ssh-keygen", "-q", "-p", "-P", "", "-N", passphrase, "-f", (ssh() / "lab_key").string()});
    REQUIRE(changed.exit_status == 0);
  }

  std::filesystem::path ssh() const { return controller.home() / ".ssh"; }
  void config(const std::string& text) const { write_private(ssh() / "config", text); }
  /// cluster.yaml with one node and no SSH settings.
  void cluster(const std::string& address, const std::string& name = "spark-01") const {
    controller.cluster("sysctl: {net.core.somaxconn: 8192}\nnodes:\n  - {name: " + name + ", address: " + address +
                       "}\n");
  }

  const Controller controller;
};

TEST_CASE("ssh config: an alias is enough, and cluster.yaml wins over it") {
  const Host host(1);
  const Configured lab;
  lab.cluster("spark1");
  lab.config("Host spark1\n  HostName 10.77.0.1\n  User root\n  IdentityFile ~/.ssh/lab_key\n");
  require_exit(lab.controller.run({"apply", "--yes"}), 0);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  require_exit(lab.controller.run({"drift"}), 0);
  lab.controller.cluster("ssh: {user: games}\nnodes:\n  - {name: spark-01, address: spark1}\n");
  const auto other_user = lab.controller.run({"plan"});
  require_exit(other_user, 4);
  CHECK(contains(other_user.out, "games@10.77.0.1"));
}

TEST_CASE("ssh config: an exported configuration works without the alias that it was made from") {
  const Host host(1);
  const Configured lab;
  lab.cluster("spark1");
  lab.config("Host spark1\n  HostName 10.77.0.1\n  User root\n  IdentityFile ~/.ssh/lab_key\n");
  const auto exported = lab.controller.run({"export", "--format", "ssh-config"});
  require_exit(exported, 0);
  CHECK(contains(exported.out, "Host spark-01\n  HostName 10.77.0.1\n  User root\n"));
  const auto file = lab.controller.directory() / "exported";
  // ssh itself expands "~" by the account, not by HOME.
  auto text = exported.out;
  const auto home = text.find("~/.ssh/lab_key");
  REQUIRE(home != std::string::npos);
  write_private(file, text.replace(home, 14, (lab.ssh() / "lab_key").string()));
  const auto said = run_program(Lab::get().in_controller(
      {"ssh", "-F", file.string(), "-o", "UserKnownHostsFile=" + lab.controller.known_hosts().string(), "-o",
       "GlobalKnownHostsFile=/dev/null", "-o", "BatchMode=yes", "spark-01", "uname", "-n"}));
  INFO(said.standard_error);
  CHECK(said.standard_output == "spark-01\n");
  CHECK(lab.controller.run({"export", "--format", "hostfile"}).out == "10.77.0.1 slots=1\n");
}

TEST_CASE("ssh config: the host key is looked up by HostKeyAlias, and in UserKnownHostsFile") {
  const Host host(1);
  const Configured lab;
  lab.cluster("spark1");
  lab.config(
      "Host spark1\n  HostName 10.77.0.1\n  User root\n  IdentityFile ~/.ssh/lab_key\n  HostKeyAlias the-spark\n"
      "  UserKnownHostsFile ~/.ssh/lab_hosts\n");
  require_exit(lab.controller.run({"plan"}), 4);
  write_private(lab.ssh() / "lab_hosts", "the-spark " + host.public_key() + "\n");
  require_exit(lab.controller.run({"plan"}), 0);
  std::filesystem::remove(lab.ssh() / "lab_hosts");
  require_exit(lab.controller.run({"trust", "spark-01", "--yes"}), 0);
  require_exit(lab.controller.run({"plan"}), 0);
}

TEST_CASE("ssh config: the passphrase of a key is asked for once, for the jump host and the node") {
  const Host jump(1);
  const Host node(2);
  for (const auto* host : {&jump, &node}) {
    host->shell("ip address replace 192.168.100." + std::to_string(host->number()) +
                "/24 dev enp1s0f1np1 && ip link set enp1s0f1np1 up");
  }
  REQUIRE(eventually([&] { return jump.run({"ping", "-c1", "-W1", "192.168.100.2"}).exit_status == 0; }));
  const Configured lab(kPassphrase);
  write_private(lab.controller.known_hosts(),
                "10.77.0.1 " + jump.public_key() + "\n192.168.100.2 " + node.public_key() + "\n");
  lab.cluster("spark2", "spark-02");
  lab.config(
      "Host spark2\n  HostName 192.168.100.2\n  User root\n  ProxyJump operator@gate\n"
      "Host gate\n  HostName 10.77.0.1\n"
      "Host *\n  IdentityFile ~/.ssh/lab_key\n  IdentitiesOnly yes\n");

  const auto without_terminal = lab.controller.run({"plan"});
  require_exit(without_terminal, 4);
  CHECK(contains(without_terminal.out, "~/.ssh/lab_key has a passphrase"));
  const auto drift = lab.controller.run({"drift"});
  require_exit(drift, 4);
  CHECK(contains(drift.out, "this command never asks: load the key into ssh-agent with `ssh-add ~/.ssh/lab_key`"));
  CHECK(contains(drift.out, "`eval $(ssh-agent)`"));

  Terminal terminal(lab.controller.command({"plan"}));
  REQUIRE(terminal.wait_for("Passphrase for the key ~/.ssh/lab_key: "));
  terminal.type("wrong\n");
  REQUIRE(terminal.wait_for("That was not the passphrase."));
  terminal.type(kPassphrase + "\n");
  const auto code = terminal.finish();
  INFO(terminal.transcript());
  CHECK(code == 0);
  CHECK(contains(terminal.transcript(), "4096 -> 8192"));
  CHECK_FALSE(contains(terminal.transcript(), kPassphrase));
  const auto second = terminal.transcript().rfind("Passphrase for the key");
  CHECK(terminal.transcript().find("Passphrase for the key") != second);
  CHECK(terminal.transcript().substr(0, second).find("That was not the passphrase.") != std::string::npos);
}

TEST_CASE("ssh config: apply --verify asks for the passphrase of a key once") {
  const Host host(1);
  const Configured lab(kPassphrase);
  lab.cluster("10.77.0.1");
  lab.config("User root\nIdentityFile ~/.ssh/lab_key\n");
  Terminal terminal(lab.controller.command({"apply", "--yes", "--verify"}));
  REQUIRE(terminal.wait_for("Passphrase for the key"));
  terminal.type(kPassphrase + "\n");
  (void)terminal.finish();
  INFO(terminal.transcript());
  CHECK(contains(terminal.transcript(), "Applied: "));
  CHECK(contains(terminal.transcript(), "passed"));
  const auto first = terminal.transcript().find("Passphrase for the key");
  CHECK(terminal.transcript().rfind("Passphrase for the key") == first);
}

TEST_CASE("ssh config: Ctrl-C at the passphrase ends the run") {
  const Host host(1);
  const Configured lab(kPassphrase);
  lab.cluster("10.77.0.1");
  lab.config("User root\nIdentityFile ~/.ssh/lab_key\n");
  Terminal terminal(lab.controller.command({"plan"}));
  REQUIRE(terminal.wait_for("Passphrase for the key"));
  terminal.interrupt();
  const auto code = terminal.finish(seconds(10));
  INFO(terminal.transcript());
  CHECK(code == 4);
  CHECK(contains(terminal.transcript(), "Stopped before 1 of 1 node could be read"));
  CHECK_FALSE(contains(terminal.transcript(), "nothing to do"));
}

TEST_CASE("ssh config: nothing in it starts a program, and what was ignored is named at a failure") {
  const Host host(1);
  const Configured lab;
  const auto trace = (lab.controller.directory() / "started").string();
  lab.cluster("10.77.0.1");
  lab.config("Match exec \"touch " + trace + "\"\n  IdentityFile ~/.ssh/lab_key\nHost *\n  ProxyCommand touch " +
             trace + "\n  IdentityFile ~/.ssh/gone\n  User root\n");
  const auto run = lab.controller.run({"plan"});
  require_exit(run, 4);
  CHECK(contains(run.out, "the block Match exec (~/.ssh/config:1)"));
  CHECK(contains(run.out, "ProxyCommand (~/.ssh/config:4)"));
  CHECK(contains(run.out, "~/.ssh/gone (~/.ssh/config:5) is not there"));
  CHECK_FALSE(std::filesystem::exists(trace));
  CHECK(contains(lab.controller.run({"plan", "-v"}).err, "~/.ssh/config:4: ProxyCommand is ignored (spark-01)"));
}

TEST_CASE("ssh config: a file that includes itself, or that others can write, is a clear line before any contact") {
  const Configured lab;
  lab.cluster("10.77.0.1");
  lab.config("Include config\n");
  auto run = lab.controller.run({"plan"});
  require_exit(run, 1);
  CHECK(contains(run.err, "~/.ssh/config includes itself"));
  lab.config("User root\n");
  std::filesystem::permissions(lab.ssh() / "config", std::filesystem::perms(0666));
  run = lab.controller.run({"plan"});
  require_exit(run, 1);
  CHECK(contains(run.err, "~/.ssh/config can be written by other users"));
  CHECK(contains(run.err, "chmod go-w"));
}

}  // namespace
}  // namespace sparkplan::test
