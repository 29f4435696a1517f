// Packages on real hosts, from a repository on the host itself; checked with dpkg and apt-mark.
#include <future>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

/// lab-tool and lab-above depend on lab-lib; lab-broken's script fails; lab-app contains a directory and a file in it.
constexpr const char* kMakeRepository = R"sh(
set -e
rm -rf /tmp/lab-repository; mkdir -p /tmp/lab-repository; cd /tmp/lab-repository
package() { # NAME VERSION DEPENDS
  mkdir -p "$1-$2/DEBIAN"
  printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: lab <lab@example.com>\nDescription: for a test\n' \
    "$1" "$2" >"$1-$2/DEBIAN/control"
  [ -z "$3" ] || printf 'Depends: %s\n' "$3" >>"$1-$2/DEBIAN/control"
}
package lab-lib 1.0 ''
package lab-tool 1.0 'lab-lib (>= 1.0)'
package lab-above 1.0 lab-lib
package lab-versioned 1.0 ''
package lab-broken 1.0 ''
printf '#!/bin/sh\nexit 3\n' >lab-broken-1.0/DEBIAN/postinst; chmod 0755 lab-broken-1.0/DEBIAN/postinst
package lab-app 1.0 ''
mkdir -p lab-app-1.0/etc/lab-app; echo 'a = 0' >lab-app-1.0/etc/lab-app/app.conf
echo /etc/lab-app/app.conf >lab-app-1.0/DEBIAN/conffiles
for tree in */; do dpkg-deb --root-owner-group -b "$tree" >/dev/null; done
package lab-versioned 2.0 ''
dpkg-deb --root-owner-group -b lab-versioned-2.0 >/dev/null
for deb in *.deb; do
  dpkg-deb -f "$deb"
  printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d' ' -f1)"
done >Packages
echo 'deb [trusted=yes] file:/tmp/lab-repository ./' >/etc/apt/sources.list.d/lab.list
)sh";

constexpr const char* kForget = R"(
systemctl stop lab-lock.service 2>/dev/null
dpkg --purge --force-all lab-tool lab-above lab-lib lab-versioned lab-broken lab-app >/dev/null 2>&1
rm -rf /etc/apt/sources.list.d/lab.list /tmp/lab-repository /etc/lab-app
find /var/lib/apt/lists -type f -delete
apt-mark showmanual >/dev/null
)";

/// A host whose only package source is that repository.
class PackageHost {
 public:
  PackageHost() : host_(1) {
    host_.shell(kForget);
    host_.shell(kMakeRepository);
  }
  PackageHost(const PackageHost&) = delete;
  PackageHost& operator=(const PackageHost&) = delete;
  ~PackageHost() {
    try {
      host_.shell(kForget);
    } catch (const std::exception&) {  // The case has failed already; the next case removes the packages again.
    }
  }
  const Host* operator->() const { return &host_; }

  /// The package's state in dpkg: "ii ", "rc ", or empty.
  std::string state(const std::string& package) const {
    return host_.shell("dpkg-query -W -f '${db:Status-Abbrev}' " + package + " 2>/dev/null || true");
  }
  std::string version(const std::string& package) const {
    return host_.shell("dpkg-query -W -f '${Version}' " + package);
  }
  bool asked_for(const std::string& package) const { return host_.shell("apt-mark showmanual " + package) == package; }
  /// dpkg has nothing to repair.
  bool is_sound() const { return host_.shell("dpkg --audit").empty(); }

 private:
  Host host_;
};

std::string wanted(const std::string& packages) { return "packages: [" + packages + "]\n" + nodes_of_lab(1); }

}  // namespace

TEST_CASE("package: a package is installed without package lists, stays in sync, is repaired, and is removed") {
  const PackageHost host;
  const Controller controller;
  controller.cluster(wanted("lab-tool"));
  const auto plan = controller.run({"plan", "--json"});
  require_exit(plan, 0);
  CHECK(change_in(plan.report(), "spark-01/package/lab-tool").at("reversible") == "best_effort");
  CHECK(host.state("lab-tool").empty());

  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.state("lab-tool") == "ii");
  CHECK(host.state("lab-lib") == "ii");
  CHECK(host.asked_for("lab-tool"));
  CHECK_FALSE(host.asked_for("lab-lib"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  host->shell("dpkg -r lab-tool");
  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  CHECK(change_in(drift.report(), "spark-01/package/lab-tool").at("origin") == "drift");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.state("lab-tool") == "ii");

  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.state("lab-tool").empty());
  CHECK(host.state("lab-lib") == "ii");  // Only autoremove removes a dependency.
  CHECK(host.is_sound());
}

TEST_CASE("package: a declared dependency is marked as manual, and is removed together with its dependent") {
  const PackageHost host;
  const Controller controller;
  controller.cluster(wanted("lab-tool, lab-lib"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.asked_for("lab-lib"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  controller.cluster(wanted("lab-tool"));
  const auto refused = controller.run({"apply", "--yes"});
  CHECK(refused.code != 0);
  CHECK(contains(refused.out, "lab-tool would be removed with lab-lib"));
  CHECK(host.state("lab-lib") == "ii");
  CHECK(host.state("lab-tool") == "ii");

  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.state("lab-tool").empty());
  CHECK(host.state("lab-lib").empty());
}

TEST_CASE("package: a package that apt installs for an earlier one of the same run is marked as manual") {
  const PackageHost host;
  const Controller controller;
  controller.cluster(wanted("lab-above, lab-lib"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.asked_for("lab-lib"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("package: an unknown package fails before any write, and all others are installed") {
  const PackageHost host;
  const Controller controller;
  controller.cluster(wanted("lab-tool, lab-no-such, \"lab-versioned=9.9\""));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out, "apt cannot install lab-no-such: Unable to locate package lab-no-such"));
  CHECK(contains(run.out, "lab-versioned=9.9"));
  CHECK(contains(run.out, "hint:"));
  CHECK(host.state("lab-tool") == "ii");
  CHECK(host.state("lab-versioned").empty());
}

TEST_CASE("package: a failing package script is reported with dpkg's reason, and the package is removed") {
  const PackageHost host;
  const Controller controller;
  controller.cluster(wanted("lab-broken, lab-lib"));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out, "post-installation script subprocess returned error exit status 3"));
  CHECK(host.state("lab-broken").empty());
  CHECK(host.state("lab-lib") == "ii");
  CHECK(host.is_sound());
  controller.cluster(wanted("lab-lib"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("package: a declared version is installed up or down, and the earlier version is restored") {
  const PackageHost host;
  const Controller controller;
  host->shell("apt-get -qq update && apt-get -qq -y install lab-versioned=1.0");
  controller.cluster(wanted("\"lab-versioned=2.0\""));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.version("lab-versioned") == "2.0");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.version("lab-versioned") == "1.0");
}

TEST_CASE("package: a hold keeps apt from an upgrade, is repaired, and ends with its line") {
  const PackageHost host;
  const Controller controller;
  host->shell("apt-get -qq update && apt-get -qq -y install lab-versioned=1.0");
  controller.cluster(wanted("{name: lab-versioned, hold: true}"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host->shell("apt-mark showhold") == "lab-versioned");
  host->shell("apt-get -qq update && apt-get -qq -y upgrade");
  CHECK(host.version("lab-versioned") == "1.0");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  host->shell("apt-mark unhold lab-versioned");
  require_exit(controller.run({"drift"}), 2);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host->shell("apt-mark showhold") == "lab-versioned");

  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host->shell("apt-mark showhold").empty());
  CHECK(host.version("lab-versioned") == "1.0");
}

TEST_CASE("package: an apply waits for another program that holds dpkg's lock") {
  const PackageHost host;
  const Controller controller;
  host->shell(
      "systemd-run --quiet --collect --unit lab-lock python3 -c 'import fcntl, signal; f = "
      "open(\"/var/lib/dpkg/lock-frontend\", \"w\"); fcntl.lockf(f, fcntl.LOCK_EX); open(\"/run/lab-locked\", \"w\"); "
      "signal.pause()'");
  REQUIRE(eventually(
      [&] { return host->has("/run/lab-locked") || host->shell("ls /run").find("lab-locked") != std::string::npos; }));
  controller.cluster(wanted("lab-lib"));
  auto applying = std::async(std::launch::async, [&] { return controller.run({"apply", "--yes"}); });
  const bool waits =
      eventually([&] { return !host->shell("pgrep -f '^apt-get.* install -- lab-lib' || true").empty(); });
  const bool not_yet = host.state("lab-lib").empty();
  host->shell("systemctl stop lab-lock.service");
  const auto run = applying.get();
  require_exit(run, 0);
  CHECK(waits);
  CHECK(not_yet);
  CHECK(host.state("lab-lib") == "ii");
}

TEST_CASE("package: a file replaces a file from a package of the same run, in the package's own directory") {
  const PackageHost host;
  const Controller controller;
  controller.cluster(
      "files: [{path: /etc/lab-app/app.conf, content: \"a = 1\\n\"}, {path: /etc/lab-app/more.conf, "
      "content: \"b = 1\\n\"}]\n" +
      wanted("lab-app"));
  const auto plan = controller.run({"plan"});
  require_exit(plan, 0);
  INFO(plan.out);
  CHECK(contains(plan.out, "known after the packages are installed"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host->text("/etc/lab-app/app.conf") == "a = 1\n");
  CHECK(host->text("/etc/lab-app/more.conf") == "b = 1\n");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("package: a rollback removes the last run's packages, and release removes all") {
  const PackageHost host;
  const Controller controller;
  controller.cluster(wanted("lab-lib"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster(wanted("lab-lib, lab-tool"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"rollback", "--yes"}), 0);
  CHECK(host.state("lab-tool").empty());
  CHECK(host.state("lab-lib") == "ii");
  require_exit(controller.run({"release", "spark-01", "--yes"}), 0);
  CHECK(host.state("lab-lib").empty());
  CHECK_FALSE(host->has(kManifestFile));
}

TEST_CASE("package: a hold keeps upgrades away, lets the declared version change, and ends with its line") {
  const PackageHost host;
  const Controller controller;
  const auto held = [&] { return host->shell("apt-mark showhold"); };
  controller.cluster(wanted("{name: lab-versioned=1.0, hold: true}"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.version("lab-versioned") == "1.0");
  CHECK(held() == "lab-versioned");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  host->shell("apt-get -y upgrade >/dev/null");
  CHECK(host.version("lab-versioned") == "1.0");

  host->shell("apt-mark unhold lab-versioned");
  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  CHECK(change_in(drift.report(), "spark-01/package/lab-versioned/hold").at("origin") == "drift");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(held() == "lab-versioned");

  controller.cluster(wanted("{name: lab-versioned=2.0, hold: true}"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.version("lab-versioned") == "2.0");
  CHECK(held() == "lab-versioned");

  controller.cluster(wanted("lab-versioned=2.0"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(held().empty());
  CHECK(host.state("lab-versioned") == "ii");
}

TEST_CASE("package: a held package is removed with its hold") {
  const PackageHost host;
  const Controller controller;
  controller.cluster(wanted("{name: lab-tool, hold: true}"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.state("lab-tool").empty());
  CHECK(host->shell("apt-mark showhold").empty());
  CHECK(host.is_sound());
}

}  // namespace sparkplan::test
