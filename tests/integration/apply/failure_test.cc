// Changes that a node refuses: the report names the cause, all other changes are made, and no file is half-written.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

std::string sections(const std::string& somaxconn, const std::string& home) {
  return "sysctl: {net.core.somaxconn: " + somaxconn + "}\nprofile_env: {HF_HOME: " + home + "}\n" + nodes_of_lab(2);
}

/// Two hosts with 8192 and /old applied; the file now asks for 9000 and /new.
struct Changed {
  Changed() {
    controller.cluster(sections("8192", "/old"));
    require_exit(controller.run({"apply", "--yes"}), 0);
    controller.cluster(sections("9000", "/new"));
  }
  const Host host{1};
  const Host second{2};
  const Controller controller;
};

/// Runs `apply --json` and expects exit status `code`. All changes but `broken` must be done.
Json apply_with_one_failure(const Changed& changed, const std::string& broken) {
  const auto run = changed.controller.run({"apply", "--yes", "--json"});
  require_exit(run, 4);
  const auto report = run.report();
  CHECK(node_in(report, "spark-01").at("status") == "failed");
  CHECK(node_in(report, "spark-02").at("status") == "applied");
  CHECK(changed.second.sysctl("net.core.somaxconn") == "9000");
  CHECK(changed.second.login_variable("HF_HOME") == "/new");
  const auto change = change_in(report, broken);
  REQUIRE_FALSE(change.is_null());
  CHECK(change.at("outcome") == "failed");
  return report;
}

std::string reason_for(const Json& report, const std::string& id) {
  for (const auto& node : report.at("nodes")) {
    for (const auto& blocked : node.at("blocked")) {
      if (blocked.at("id") == id) return blocked.at("error").at("message");
    }
  }
  return "";
}

TEST_CASE("failure: a full disk leaves the file and the kernel unchanged") {
  const Changed changed;
  const auto& host = changed.host;
  host.shell("cp " + kSysctlFile +
             " /run/lab-copy && mount -t tmpfs -o size=8k tmpfs /etc/sysctl.d && cp /run/lab-copy " + kSysctlFile +
             " && { cat /dev/zero >/etc/sysctl.d/filler; true; } 2>/dev/null");
  const auto before = host.shell("cat " + kSysctlFile);
  const auto report = apply_with_one_failure(changed, "spark-01/sysctl/net.core.somaxconn");
  CHECK(contains(reason_for(report, "spark-01/sysctl/net.core.somaxconn"), "No space left"));
  CHECK(host.shell("cat " + kSysctlFile) == before);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.shell("ls -A /etc/sysctl.d") == "90-sparkplan.conf\nfiller");
  CHECK(host.login_variable("HF_HOME") == "/new");

  host.shell("umount /etc/sysctl.d");
  require_exit(changed.controller.run({"apply", "--yes"}), 0);
  CHECK(host.sysctl("net.core.somaxconn") == "9000");
  require_exit(changed.controller.run({"drift"}), 0);
}

TEST_CASE("failure: a read-only file system is named, and all other changes on the node are made") {
  const Changed changed;
  const auto& host = changed.host;
  host.shell("mount --bind /etc/profile.d /etc/profile.d && mount -o remount,bind,ro /etc/profile.d");
  const auto report = apply_with_one_failure(changed, "spark-01/profile_env/HF_HOME");
  CHECK(contains(reason_for(report, "spark-01/profile_env/HF_HOME"), "Read-only file system"));
  CHECK(host.login_variable("HF_HOME") == "/old");
  CHECK(host.sysctl("net.core.somaxconn") == "9000");
}

TEST_CASE("failure: nothing is changed on a node whose journal cannot be written") {
  const Changed changed;
  const auto& host = changed.host;
  host.shell("mount --bind /var/lib/sparkplan /var/lib/sparkplan && mount -o remount,bind,ro /var/lib/sparkplan");
  const auto run = changed.controller.run({"apply", "--yes", "--json"});
  require_exit(run, 4);
  CHECK(node_in(run.report(), "spark-01").at("status") == "failed");
  CHECK(contains(run.out, "Read-only file system"));
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.login_variable("HF_HOME") == "/old");
  CHECK(changed.second.sysctl("net.core.somaxconn") == "9000");
}

TEST_CASE("failure: a full disk under the journal changes nothing on the node") {
  const Changed changed;
  const auto& host = changed.host;
  host.shell(
      "cp -a /var/lib/sparkplan /run/lab-copy && mount -t tmpfs -o size=64k,mode=0700 tmpfs /var/lib/sparkplan && "
      "cp -a /run/lab-copy/. /var/lib/sparkplan/ && { cat /dev/zero >/var/lib/sparkplan/filler; true; } 2>/dev/null");
  const auto manifest = host.shell("sha256sum " + kManifestFile);
  const auto run = changed.controller.run({"apply", "--yes", "--json"});
  require_exit(run, 4);
  CHECK(contains(run.out, "No space left"));
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.login_variable("HF_HOME") == "/old");
  CHECK(host.shell("sha256sum " + kManifestFile) == manifest);
}

TEST_CASE("failure: a value that the kernel refuses leaves the file unchanged") {
  const Changed changed;
  const auto& host = changed.host;
  changed.controller.cluster(
      "sysctl: {net.core.somaxconn: 9000}\nprofile_env: {HF_HOME: /new}\nssh: {user: root}\nnodes:\n"
      "  - {name: spark-01, address: 10.77.0.1, sysctl: {net.core.somaxconn: \"-1\"}}\n"
      "  - {name: spark-02, address: 10.77.0.2}\n");
  const auto before = host.identity(kSysctlFile);
  const auto report = apply_with_one_failure(changed, "spark-01/sysctl/net.core.somaxconn");
  CHECK(contains(reason_for(report, "spark-01/sysctl/net.core.somaxconn"), "net.core.somaxconn"));
  CHECK(host.identity(kSysctlFile) == before);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.sysctl_at_boot("net.core.somaxconn") == "8192");
  CHECK(host.login_variable("HF_HOME") == "/new");
}

TEST_CASE("failure: a parameter that the kernel lacks blocks only itself") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.no_such_thing: 1, net.core.somaxconn: 8192}\nprofile_env: {HF_HOME: /new}\n" +
                     nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes", "--json"});
  require_exit(run, 4);
  CHECK(contains(reason_for(run.report(), "spark-01/sysctl/net.core.no_such_thing"), "no parameter"));
  CHECK(host.login_variable("HF_HOME") == "/new");
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.sysctl_at_boot("net.core.no_such_thing").empty());
}

TEST_CASE("failure: a symbolic link at a managed path is left unchanged") {
  const Changed changed;
  const auto& host = changed.host;
  host.shell("mv " + kSysctlFile + " /etc/lab-mine && ln -s /etc/lab-mine " + kSysctlFile);
  const auto before = host.identity("/etc/lab-mine");
  const auto run = changed.controller.run({"apply", "--yes"});
  require_exit(run, 9);
  CHECK(contains(run.out, kSysctlFile));
  CHECK(host.identity("/etc/lab-mine") == before);
  CHECK(host.shell("readlink " + kSysctlFile) == "/etc/lab-mine");
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.login_variable("HF_HOME") == "/new");
  CHECK(changed.second.sysctl("net.core.somaxconn") == "9000");
}

TEST_CASE("failure: a damaged block in /etc/hosts is named and left unchanged") {
  const Host host(1);
  const Controller controller;
  host.append(kHostsFile, "# BEGIN sparkplan (changes inside this block are overwritten)\n10.0.0.1 a\n");
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\nhosts: {suffix: -fabric}\n" + nodes_of_lab(1));
  const auto before = host.identity(kHostsFile);
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out, "/etc/hosts"));
  CHECK(host.identity(kHostsFile) == before);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
}

}  // namespace
}  // namespace sparkplan::test
