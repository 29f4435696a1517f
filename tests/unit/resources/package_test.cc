#include "engine/resource/registry.h"

#include "resources/package/apt.h"
#include "resources/package/dpkg_status.h"
#include "tests/support/catch.h"
#include "tests/support/fake_apt.h"
#include "tests/support/fake_node.h"

namespace sparkplan::package {
namespace {

using test::FakeNode;

constexpr const char* kStatus = R"(Package: dpkg
Status: install ok installed
Architecture: amd64
Version: 1.21.22

Package: libc6
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Version: 2.36-9
Depends: libgcc-s1, libcrypt1 (>= 1:4.4.10)

Package: libc6
Status: install ok installed
Architecture: arm64
Version: 2.36-9

Package: nvme-cli
Status: install ok installed
Architecture: amd64
Depends: libc6 (>= 2.34), libnvme1 (>= 1.3) | libnvme:any, debconf [linux-any]
Pre-Depends: init-system-helpers
Version: 2.3-1
Description: tools
 Status: install ok half-installed

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: half
Status: install reinstreq half-installed
Architecture: all
Version: 1

Package: unpacked
Status: install ok unpacked
Architecture: arm64
Version: 1
)";

ArtifactId artifact(const std::string& name) { return {"package", name}; }
Observation installed() { return Present{Value::map({{"installed", true}}), {}}; }

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("package: only fully installed packages count as installed, not broken or removed ones") {
  const DpkgStatus status = DpkgStatus::parse(kStatus);
  REQUIRE(status.find("nvme-cli") != nullptr);
  CHECK(status.find("nvme-cli")->installed());
  CHECK(status.find("nvme-cli")->version == "2.3-1");
  CHECK_FALSE(status.find("gone")->installed());
  CHECK_FALSE(status.find("gone")->broken());
  CHECK_FALSE(status.find("half")->installed());
  CHECK(status.find("half")->broken());
  CHECK(status.find("no-such") == nullptr);
}

TEST_CASE("package: a name without architecture means the node's own, and one with it that architecture") {
  const DpkgStatus status = DpkgStatus::parse(kStatus);
  CHECK(status.find("libc6")->architecture == "amd64");
  CHECK(status.find("libc6:arm64")->architecture == "arm64");
  CHECK(status.find("libc6:i386") == nullptr);
  CHECK(status.find("unpacked") == nullptr);
  CHECK(status.find("unpacked:arm64") != nullptr);
  CHECK(status.find("half") != nullptr);  // A package of architecture "all".
}

TEST_CASE("package: dependencies are listed by name, including alternatives") {
  const DpkgStatus status = DpkgStatus::parse(kStatus);
  CHECK(status.find("nvme-cli")->needs ==
        std::set<std::string>{"debconf", "init-system-helpers", "libc6", "libnvme", "libnvme1"});
}

TEST_CASE("package: packages that apt installed automatically are recognised") {
  const DpkgStatus status = DpkgStatus::parse(kStatus,
                                              "Package: libc6\nArchitecture: arm64\nAuto-Installed: 1\n\n"
                                              "Package: half\nArchitecture: amd64\nAuto-Installed: 1\n\n"
                                              "Package: nvme-cli\nArchitecture: amd64\nAuto-Installed: 0\n");
  CHECK_FALSE(status.find("libc6")->automatic);
  CHECK(status.find("libc6:arm64")->automatic);
  CHECK(status.find("half")->automatic);
  CHECK_FALSE(status.find("nvme-cli")->automatic);
}

TEST_CASE("package: a package for all architectures is automatic wherever dpkg's own entry is") {
  const DpkgStatus status = DpkgStatus::parse(
      "Package: adduser\nStatus: install ok installed\nArchitecture: all\nVersion: 3\n\n" + std::string(kStatus),
      "Package: adduser\nArchitecture: amd64\nAuto-Installed: 1\n");
  CHECK(status.find("adduser")->automatic);
}

TEST_CASE("package: the node's own architecture is omitted from names for apt-get, and no other") {
  const DpkgStatus status = DpkgStatus::parse(kStatus);
  CHECK(status.name_to_apt("curl:amd64") == "curl");
  CHECK(status.name_to_apt("curl:native") == "curl");
  CHECK(status.name_to_apt("curl:arm64") == "curl:arm64");
  CHECK(status.name_to_apt("curl") == "curl");
}

TEST_CASE("package: packages come before their dependencies, also indirect and circular ones") {
  using Needs = std::map<std::string, std::set<std::string>>;
  CHECK(dependents_first({"a", "b", "c"}, Needs{}) == std::vector<std::string>{"a", "b", "c"});
  CHECK(dependents_first({"a", "b", "c"}, Needs{{"c", {"a"}}, {"b", {"c"}}}) ==
        std::vector<std::string>{"b", "c", "a"});
  CHECK(dependents_first({"a:arm64", "b"}, Needs{{"b", {"a"}}}) == std::vector<std::string>{"b", "a:arm64"});
  CHECK(dependents_first({"a", "b"}, Needs{{"a", {"b"}}, {"b", {"a"}}}).size() == 2);
}

TEST_CASE("package: apt-get's plan is parsed from its simulation") {
  const Simulation simulation =
      parse_simulation({0,
                        "Inst libnvme1 (1.3-1 Debian:12 [amd64])\nInst nvme-cli [2.2-1] (2.3-1 Debian:12 [amd64])\n"
                        "Conf libnvme1 (1.3-1)\nRemv old-tool [1.0]\nPurg older [1]\n",
                        ""});
  CHECK(simulation.installs == std::set<std::string>{"libnvme1", "nvme-cli"});
  CHECK(simulation.removes == std::set<std::string>{"old-tool", "older"});
  CHECK(simulation.complaint.empty());
  CHECK(parse_simulation({100, "", "E: Unable to locate package x\n"}).complaint == "Unable to locate package x");
}

TEST_CASE("package: the reason of a failure is extracted from the output of apt and dpkg") {
  CHECK(
      reason_of_failure({100, "Setting up x (1) ...\n",
                         "dpkg: error processing package x (--configure):\n installed x package post-installation "
                         "script subprocess returned error exit status 3\nErrors were encountered while processing:\n "
                         "x\nE: Sub-process /usr/bin/dpkg returned an error code (1)\n"}) ==
      "installed x package post-installation script subprocess returned error exit status 3; "
      "Sub-process /usr/bin/dpkg returned an error code (1)");
  CHECK(reason_of_failure({100, "", ""}) == "exit status 100");
}

TEST_CASE("package: no argument for apt passes through a shell or is parsed as an option") {
  FakeNode node;
  test::add_apt(node, {{"perftest", "4.5-1", {}, {}}});
  REQUIRE(install("perftest", Held::kStay, node));
  REQUIRE(node.log().size() == 1);
  const std::string& line = node.log().front().subject;
  CHECK(line.ends_with(" install -- perftest"));
  CHECK(mentions(line, "env LC_ALL=C DEBIAN_FRONTEND=noninteractive "));
  CHECK(mentions(line, " --no-remove "));
  CHECK(mentions(line, "--force-confold"));
  CHECK(mentions(line, "DPkg::Lock::Timeout=60"));
}

TEST_CASE("package: an installation blocked by another program names that program") {
  FakeNode node;
  test::add_apt(node, {{"perftest", "4.5-1", {}, {}}});
  node.add_file("/fake/apt-locked", "");
  const ResourceType* type = builtin_registry().find("package");
  const auto applied = type->apply(artifact("perftest"), installed(), node);
  REQUIRE_FALSE(applied);
  CHECK(mentions(applied.error().message, "It is held by process 4711"));
  CHECK(mentions(applied.error().hint, "apply again"));
}

TEST_CASE("package: a package whose script fails is removed, so that apt works as before") {
  FakeNode node;
  test::add_apt(node, {{"broken", "1", {}, {}, false, false, true}});
  const auto before = node.snapshot();
  const ResourceType* type = builtin_registry().find("package");
  const auto applied = type->apply(artifact("broken"), installed(), node);
  REQUIRE_FALSE(applied);
  CHECK(mentions(applied.error().message, "post-installation script subprocess returned error exit status 3"));
  CHECK(node.snapshot() == before);
  REQUIRE(type->apply(artifact("broken"), Absent{}, node));
  CHECK(node.snapshot() == before);
}

TEST_CASE("package: removing a package that an undeclared one needs is refused, and both are named") {
  FakeNode node;
  test::add_apt(node, {{"lib", "1", "1", {}}, {"tool", "1", "1", {"lib"}}});
  Step step;
  step.type = "package";
  step.artifact = artifact("lib");
  step.before = installed();
  const ResourceType* type = builtin_registry().find("package");
  const std::vector<Step> steps{step};
  const auto objections = type->prepare(steps, {}, node);
  REQUIRE(objections.size() == 1);
  CHECK(objections[0].error.code == ErrorCode::kRefused);
  CHECK(objections[0].error.message == "tool would be removed with lib");

  // An undo can no longer refuse the removal: the package stays for the package that needs it.
  REQUIRE(type->apply(artifact("lib"), Absent{}, node));
  CHECK(DpkgStatus::read(node)->find("lib")->installed());
  CHECK(DpkgStatus::read(node)->find("lib")->automatic);
}

TEST_CASE("package: an automatically installed package is restored as automatic, and not removed") {
  FakeNode node;
  test::add_apt(node, {{"modules-extra", "1", "1", {}, true}});
  const ResourceType* type = builtin_registry().find("package");
  const Observation before = type->read_artifact(artifact("modules-extra"), node);
  CHECK_FALSE(std::holds_alternative<Absent>(before));
  REQUIRE(type->apply(artifact("modules-extra"), installed(), node));
  CHECK_FALSE(DpkgStatus::read(node)->find("modules-extra")->automatic);
  REQUIRE(type->apply(artifact("modules-extra"), before, node));
  CHECK(DpkgStatus::read(node)->find("modules-extra")->installed());
  CHECK(DpkgStatus::read(node)->find("modules-extra")->automatic);
}

TEST_CASE("package: a package installed for another one during the run does not make its own step stale") {
  const ResourceType* type = builtin_registry().find("package");
  const Observation automatic = Present{Value::map({{"installed", true}, {"automatic", true}}), {}};
  CHECK(type->may_follow_from_other_steps(Absent{}, automatic));
  CHECK_FALSE(type->may_follow_from_other_steps(Absent{}, installed()));
  CHECK_FALSE(type->may_follow_from_other_steps(automatic, Absent{}));
}

TEST_CASE("package: a package unknown to apt is named before any write, with a remedy") {
  FakeNode node;
  test::add_apt(node, {{"perftest", "4.5-1", {}, {}}});
  Step step;
  step.type = "package";
  step.artifact = artifact("perftets");
  step.before = Absent{};
  step.after = installed();
  const std::vector<Step> steps{step};
  const auto objections = builtin_registry().find("package")->prepare(steps, {}, node);
  REQUIRE(objections.size() == 1);
  CHECK(objections[0].error.message == "apt cannot install perftets: Unable to locate package perftets");
  CHECK(mentions(objections[0].error.hint, "apt-cache search"));
}

TEST_CASE("package: missing package lists count as old") {
  FakeNode node;
  CHECK(lists_are_old(node));
  node.add_directory("/var/lib/apt/lists/partial");
  CHECK(lists_are_old(node));
}

}  // namespace sparkplan::package
