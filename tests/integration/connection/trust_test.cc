// Trusted and untrusted host keys, and unreachable nodes.
#include <fstream>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = "sysctl: {net.core.somaxconn: 8192}\n";

void write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A cluster.yaml with one node and additional SSH settings.
std::string one_node(const std::string& more_ssh, const std::string& more_node = "") {
  return kSections + "ssh: {user: root" + more_ssh + "}\nnodes:\n  - {name: spark-01, address: 10.77.0.1" + more_node +
         "}\n";
}

/// The fingerprint of the host that `trust` has printed, of either key type; empty when it printed none.
std::string shown_fingerprint(const std::string& out, const Host& host) {
  for (const std::string type : {"ed25519", "ecdsa"}) {
    if (contains(out, host.fingerprint(type))) return host.fingerprint(type);
  }
  return "";
}

void require_untrusted(const Run& run, const Host& host) {
  require_exit(run, 4);
  CHECK(contains(run.out, "spark-01"));
  CHECK(contains(run.out, "host key"));
  CHECK_FALSE(host.has(kAgentFile));
}

TEST_CASE("reach: an unreachable node is named with the cause, and all others are finished") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  Lab::get().stop(2);
  const auto run = controller.run({"apply", "--yes", "--json", "--timeout", "3s"});
  Lab::get().start(2);
  require_exit(run, 4);
  CHECK(run.took < seconds(30));
  const auto report = run.report();
  CHECK(node_in(report, "spark-02").at("status") == "unreachable");
  CHECK_FALSE(node_in(report, "spark-02").at("error").at("message").get<std::string>().empty());
  CHECK(node_in(report, "spark-01").at("status") == "applied");
  CHECK(report.at("summary").at("nodes_unreachable") == 1);
  CHECK(first.sysctl("net.core.somaxconn") == "8192");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(second.sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("reach: with --all-or-nothing one unreachable node prevents all changes") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  Lab::get().stop(2);
  const auto run = controller.run({"apply", "--yes", "--all-or-nothing", "--timeout", "3s"});
  Lab::get().start(2);
  require_exit(run, 4);
  CHECK(first.sysctl("net.core.somaxconn") == "4096");
  CHECK_FALSE(first.has(kSysctlFile));
}

TEST_CASE("reach: a user who accepts none of our keys is named") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections +
                     "nodes:\n  - {name: spark-01, address: 10.77.0.1, ssh: {user: games}}\n"
                     "  - {name: spark-02, address: 10.77.0.2, ssh: {user: root}}\n");
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out, "games@10.77.0.1"));
  CHECK(contains(run.out, "key"));
  CHECK(second.sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("reach: a closed port fails at once") {
  const Host host(1);
  const Controller controller;
  controller.cluster(one_node(", port: 2222"));
  const auto run = controller.run({"plan"});
  require_exit(run, 4);
  CHECK(run.took < seconds(5));
  CHECK(contains(run.out, "2222"));
}

TEST_CASE("trust: an unknown host key is refused until `trust` has recorded it") {
  const Host host(1);
  const Controller controller;
  controller.cluster(one_node(""));
  write(controller.known_hosts(), "# mine");
  const auto refused = controller.run({"plan"});
  require_untrusted(refused, host);
  CHECK(contains(refused.out, "sparkplan trust spark-01"));

  const auto trusted = controller.run({"trust", "spark-01", "--yes"});
  require_exit(trusted, 0);
  const auto known = read(controller.known_hosts());
  CHECK(known.starts_with("# mine\n"));
  CHECK(
      (contains(known, "10.77.0.1 " + host.public_key()) || contains(known, "10.77.0.1 " + host.public_key("ecdsa"))));
  CHECK_FALSE(shown_fingerprint(trusted.out, host).empty());
  require_exit(controller.run({"plan"}), 0);

  require_exit(controller.run({"trust", "spark-01", "--yes"}), 0);
  CHECK(read(controller.known_hosts()) == known);
}

TEST_CASE("trust: without a terminal the key is shown, and recorded only with --yes") {
  const Host host(1);
  const Controller controller;
  controller.cluster(one_node(""));
  std::filesystem::remove(controller.known_hosts());
  const auto refused = controller.run({"trust", "spark-01"});
  require_exit(refused, 1);
  CHECK_FALSE(shown_fingerprint(refused.out, host).empty());
  CHECK(contains(refused.err, "nothing was recorded"));
  CHECK(contains(refused.err, "--yes"));
  CHECK_FALSE(std::filesystem::exists(controller.known_hosts()));
  const auto run = controller.run({"trust", "spark-01", "--yes"});
  require_exit(run, 0);
  const auto shown = shown_fingerprint(run.out, host);
  REQUIRE_FALSE(shown.empty());
  CHECK(run.out.find(shown) < run.out.find("Recorded in " + controller.known_hosts().string()));
  CHECK(contains(read(controller.known_hosts()), "10.77.0.1 "));
  require_exit(controller.run({"plan"}), 0);
}

TEST_CASE("trust: on a terminal the key is shown before the question, and the answer no records nothing") {
  const Host host(1);
  const Controller controller;
  controller.cluster(one_node(""));
  std::filesystem::remove(controller.known_hosts());
  for (const auto& [answer, code] : std::vector<std::pair<std::string, int>>{{"n\n", 1}, {"\n", 1}, {"y\n", 0}}) {
    CHECK_FALSE(std::filesystem::exists(controller.known_hosts()));
    Terminal terminal(controller.command({"trust", "spark-01"}));
    REQUIRE(terminal.wait_for("[y/N]"));
    INFO(terminal.transcript());
    CHECK_FALSE(shown_fingerprint(terminal.transcript(), host).empty());
    terminal.type(answer);
    CHECK(terminal.finish() == code);
  }
  CHECK(contains(read(controller.known_hosts()), "10.77.0.1 "));
}

TEST_CASE("trust: a changed host key is refused, also under accept-new") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  write(controller.known_hosts(), "10.77.0.1 " + second.public_key() + "\n");
  const auto before = read(controller.known_hosts());
  for (const std::string policy : {"", ", host_keys: accept-new"}) {
    controller.cluster(one_node(policy));
    const auto run = controller.run({"plan"});
    require_untrusted(run, host);
    CHECK(contains(run.out, "ssh-keygen -R 10.77.0.1"));
  }
  const auto trust = controller.run({"trust", "spark-01", "--yes"});
  require_exit(trust, 4);
  CHECK(contains(trust.out, "before: ssh-ed25519 " + second.fingerprint()));
  CHECK(contains(trust.out, controller.known_hosts().string() + ":1"));
  CHECK_FALSE(shown_fingerprint(trust.out.substr(trust.out.find("now:")), host).empty());
  CHECK(contains(trust.err, "ssh-keygen -R 10.77.0.1"));
  CHECK(read(controller.known_hosts()) == before);
}

TEST_CASE("trust: accept-new records the key at the first contact") {
  const Host host(1);
  const Controller controller;
  std::filesystem::remove(controller.known_hosts());
  controller.cluster(one_node(", host_keys: accept-new"));
  require_exit(controller.run({"plan"}), 0);
  CHECK(contains(read(controller.known_hosts()), "10.77.0.1 "));
  controller.cluster(one_node(""));
  require_exit(controller.run({"plan"}), 0);
}

TEST_CASE("trust: a pinned key of any type is sufficient") {
  const Host host(1);
  const Controller controller;
  std::filesystem::remove(controller.known_hosts());
  for (const std::string type : {"ed25519", "ecdsa"}) {
    INFO(type);
    controller.cluster(one_node("", ", host_key: \"" + host.fingerprint(type) + "\""));
    require_exit(controller.run({"plan"}), 0);
  }
}

TEST_CASE("trust: a different pin is refused although the key is in known_hosts") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(one_node("", ", host_key: \"" + second.fingerprint() + "\""));
  const auto run = controller.run({"plan"});
  require_untrusted(run, host);
  CHECK(contains(run.out, "pinned"));
}

TEST_CASE("trust: a revoked key is refused even if it is known or pinned") {
  const Host host(1);
  const Controller controller;
  auto known = read(controller.known_hosts());
  known += "@revoked * " + host.public_key() + "\n@revoked * " + host.public_key("ecdsa") + "\n";
  write(controller.known_hosts(), known);
  for (const std::string& pin : {std::string(), ", host_key: \"" + host.fingerprint() + "\""}) {
    controller.cluster(one_node("", pin));
    const auto run = controller.run({"plan"});
    require_untrusted(run, host);
    CHECK(contains(run.out, "revoked"));
  }
}

TEST_CASE("trust: hashed names in known_hosts are recognised") {
  const Host host(1);
  const Controller controller;
  controller.cluster(one_node(""));
  REQUIRE(run_program({"ssh-keygen", "-q", "-H", "-f", controller.known_hosts().string()}).exit_status == 0);
  REQUIRE_FALSE(contains(read(controller.known_hosts()), "10.77.0.1"));
  require_exit(controller.run({"plan"}), 0);
}

}  // namespace
}  // namespace sparkplan::test
