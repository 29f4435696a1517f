// Limits apply to every new login, for every user and every way to log in.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kLimitsFile = "/etc/security/limits.d/90-sparkplan.conf";
const std::string kLaterFile = "/etc/security/limits.d/99-lab.conf";

std::string limits(const std::string& records) { return "limits:\n" + records + nodes_of_lab(1); }

/// The output of `ulimit OPTION` in a login shell that su has started.
std::string ulimit(const Host& host, const std::string& user, const std::string& option) {
  return host.shell("su -l " + user + " -c 'ulimit " + option + "'");
}

/// Like `ulimit`, for a login over the network, which uses sshd and its PAM service.
std::string ulimit_over_ssh(const Host& host, const std::string& user, const std::string& option) {
  const auto home = Lab::get().home() / ".ssh";
  const auto output = run_program(Lab::get().in_controller(
      {"ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-i", home / "id_ed25519", "-o",
       "UserKnownHostsFile=" + (home / "known_hosts").string(), user + "@" + host.address(), "ulimit " + option}));
  INFO(output.standard_error);
  CHECK(output.exit_status == 0);
  return std::string(output.standard_output.substr(0, output.standard_output.find('\n')));
}

TEST_CASE("limits: a new login gets the declared limits, with su and over SSH") {
  const Host host(1);
  const Controller controller;
  REQUIRE(ulimit(host, "operator", "-Hl") != "4096");
  controller.cluster(limits(R"(  - {domain: "*", item: memlock, value: 4MiB}
  - {domain: operator, item: nofile, type: soft, value: 900}
  - {domain: operator, item: nofile, type: hard, value: 5000}
  - {domain: root, item: core, value: 0}
  - {domain: "@operator", item: nproc, type: soft, value: 777}
)"));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 0);
  CHECK_FALSE(contains(run.out + run.err, "limits.not_effective"));
  CHECK(host.shell("stat -c '%a %U:%G' " + kLimitsFile) == "644 root:root");
  for (const auto& ask : {ulimit, ulimit_over_ssh}) {
    CHECK(ask(host, "operator", "-Sl") == "4096");
    CHECK(ask(host, "operator", "-Hl") == "4096");
    CHECK(ask(host, "operator", "-Sn") == "900");
    CHECK(ask(host, "operator", "-Hn") == "5000");
    CHECK(ask(host, "operator", "-Su") == "777");
    CHECK(ask(host, "root", "-Hc") == "0");
    CHECK(ask(host, "root", "-Hl") != "4096");
  }
}

/// The files of the system's configuration and of users' home directories.
std::map<std::string, std::string> files_of_people(const Host& host) {
  auto tree = host.tree();
  std::erase_if(tree, [](const auto& entry) {
    return !entry.first.starts_with("/etc") && !entry.first.starts_with("/home") && !entry.first.starts_with("/root");
  });
  return tree;
}

TEST_CASE("limits: a second apply changes nothing, although it logs in to check the limits") {
  const Host host(1);
  const Controller controller;
  controller.cluster(limits("  - {domain: \"*\", item: memlock, value: 4096}\n"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto before = host.identity(kLimitsFile);
  const auto directory = host.identity("/etc/security/limits.d");
  const auto tree = files_of_people(host);
  REQUIRE(tree.size() > 100);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.identity(kLimitsFile) == before);
  CHECK(host.identity("/etc/security/limits.d") == directory);
  CHECK(files_of_people(host) == tree);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("limits: a limit that a container cannot raise is a warning with its reason, no failure") {
  const Host host(1);
  const Controller controller;
  controller.cluster(limits("  - {domain: \"*\", item: memlock, value: unlimited}\n"));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 0);
  INFO(run.out << run.err);
  CHECK(contains(run.out + run.err, "CAP_SYS_RESOURCE"));
  CHECK(contains(run.out + run.err, "a new login of operator gets memlock"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("limits: a value removed from cluster.yaml is no longer in effect, and the last one removes the file") {
  const Host host(1);
  const Controller controller;
  const auto usual = ulimit(host, "operator", "-Hn");
  const auto usual_memory = ulimit(host, "operator", "-Hl");
  controller.cluster(
      limits("  - {domain: \"*\", item: memlock, value: 4096}\n"
             "  - {domain: operator, item: nofile, value: 512}\n"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  REQUIRE(ulimit(host, "operator", "-Hn") == "512");
  controller.cluster(limits("  - {domain: \"*\", item: memlock, value: 4096}\n"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(ulimit(host, "operator", "-Hn") == usual);
  CHECK(ulimit(host, "operator", "-Hl") == "4096");
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK_FALSE(host.has(kLimitsFile));
  CHECK(ulimit(host, "operator", "-Hl") == usual_memory);
}

TEST_CASE("limits: a file that is read later is reported as foreign, and it wins") {
  const Host host(1);
  const Controller controller;
  host.write(kLaterFile, "# of the lab\n*  -  memlock  2048\n");
  controller.cluster(limits("  - {domain: \"*\", item: memlock, value: 4096}\n"));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 0);
  CHECK(contains(run.out + run.err, kLaterFile + ":2"));
  CHECK(ulimit(host, "operator", "-Hl") == "2048");
  const auto drift = controller.run({"plan", "--json"});
  const auto change = change_in(drift.report(), "spark-01/limits/*:memlock");
  REQUIRE_FALSE(change.is_null());
  CHECK(change.at("origin") == "foreign");
  CHECK(host.text(kLaterFile) == "# of the lab\n*  -  memlock  2048\n");
}

TEST_CASE("limits: a line that pam_limits skips is ignored, as a login confirms") {
  const Host host(1);
  const Controller controller;
  host.write(kLaterFile, "* both memlock 2048\n* - memlock\n* - memlock many\n#* - memlock 2048\n");
  controller.cluster(limits("  - {domain: \"*\", item: memlock, value: 4096}\n"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(ulimit(host, "operator", "-Hl") == "4096");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("limits: an exemption in limits.conf is reported, as a login confirms") {
  const Host host(1);
  const Controller controller;
  const auto original = host.text("/etc/security/limits.conf").value();
  host.append("/etc/security/limits.conf", "operator -\n");
  controller.cluster(limits("  - {domain: operator, item: memlock, value: 4096}\n"));
  const auto run = controller.run({"apply", "--yes"});
  const auto got = ulimit(host, "operator", "-Hl");
  host.write("/etc/security/limits.conf", original);
  require_exit(run, 0);
  CHECK(got != "4096");
  CHECK(contains(run.out + run.err, "exempts operator from all limits"));
}

}  // namespace
}  // namespace sparkplan::test
