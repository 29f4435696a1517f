#include "resources/package/package.h"

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

TEST_CASE("package: what dpkg calls installed is, what is half-way or has left its settings behind is not") {
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

TEST_CASE("package: a name without architecture is of the node's own, and one with it of that") {
  const DpkgStatus status = DpkgStatus::parse(kStatus);
  CHECK(status.find("libc6")->architecture == "amd64");
  CHECK(status.find("libc6:arm64")->architecture == "arm64");
  CHECK(status.find("libc6:i386") == nullptr);
  CHECK(status.find("unpacked") == nullptr);
  CHECK(status.find("unpacked:arm64") != nullptr);
  CHECK(status.find("half") != nullptr);  // A package of architecture "all".
}

TEST_CASE("package: what it needs is told by name, alternatives among it") {
  const DpkgStatus status = DpkgStatus::parse(kStatus);
  CHECK(status.find("nvme-cli")->needs ==
        std::set<std::string>{"debconf", "init-system-helpers", "libc6", "libnvme", "libnvme1"});
}

TEST_CASE("package: what apt has brought along for others is known") {
  const DpkgStatus status = DpkgStatus::parse(kStatus,
                                              "Package: libc6\nArchitecture: arm64\nAuto-Installed: 1\n\n"
                                              "Package: half\nArchitecture: amd64\nAuto-Installed: 1\n\n"
                                              "Package: nvme-cli\nArchitecture: amd64\nAuto-Installed: 0\n");
  CHECK_FALSE(status.find("libc6")->automatic);
  CHECK(status.find("libc6:arm64")->automatic);
  CHECK(status.find("half")->automatic);
  CHECK_FALSE(status.find("nvme-cli")->automatic);
}

TEST_CASE("package: one of all architectures is automatic wherever dpkg's own stanza stands") {
  const DpkgStatus status = DpkgStatus::parse(
      "Package: adduser\nStatus: install ok installed\nArchitecture: all\nVersion: 3\n\n" + std::string(kStatus),
      "Package: adduser\nArchitecture: amd64\nAuto-Installed: 1\n");
  CHECK(status.find("adduser")->automatic);
}

TEST_CASE("package: apt-get leaves the node's own architecture out of names, and no other") {
  const DpkgStatus status = DpkgStatus::parse(kStatus);
  CHECK(status.name_to_apt("curl:amd64") == "curl");
  CHECK(status.name_to_apt("curl:native") == "curl");
  CHECK(status.name_to_apt("curl:arm64") == "curl:arm64");
  CHECK(status.name_to_apt("curl") == "curl");
}

TEST_CASE("package: packages go before those that they need, also through others, and in a circle") {
  using Needs = std::map<std::string, std::set<std::string>>;
  CHECK(dependents_first({"a", "b", "c"}, Needs{}) == std::vector<std::string>{"a", "b", "c"});
  CHECK(dependents_first({"a", "b", "c"}, Needs{{"c", {"a"}}, {"b", {"c"}}}) ==
        std::vector<std::string>{"b", "c", "a"});
  CHECK(dependents_first({"a:arm64", "b"}, Needs{{"b", {"a"}}}) == std::vector<std::string>{"b", "a:arm64"});
  CHECK(dependents_first({"a", "b"}, Needs{{"a", {"b"}}, {"b", {"a"}}}).size() == 2);
}

TEST_CASE("package: what apt-get would do is read from its simulation") {
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

TEST_CASE("package: of all that apt and dpkg print, the reason of a failure is told") {
  CHECK(
      reason_of_failure({100, "Setting up x (1) ...\n",
                         "dpkg: error processing package x (--configure):\n installed x package post-installation "
                         "script subprocess returned error exit status 3\nErrors were encountered while processing:\n "
                         "x\nE: Sub-process /usr/bin/dpkg returned an error code (1)\n"}) ==
      "installed x package post-installation script subprocess returned error exit status 3; "
      "Sub-process /usr/bin/dpkg returned an error code (1)");
  CHECK(reason_of_failure({100, "", ""}) == "exit status 100");
}

TEST_CASE("package: nothing that apt is asked ever goes through a shell, or is taken for an option") {
  FakeNode node;
  test::add_apt(node, {{"perftest", "4.5-1", {}, {}}});
  REQUIRE(install("perftest", node));
  REQUIRE(node.log().size() == 1);
  const std::string& line = node.log().front().subject;
  CHECK(line.ends_with(" install -- perftest"));
  CHECK(mentions(line, "env LC_ALL=C DEBIAN_FRONTEND=noninteractive "));
  CHECK(mentions(line, " --no-remove "));
  CHECK(mentions(line, "--force-confold"));
  CHECK(mentions(line, "DPkg::Lock::Timeout=60"));
}

TEST_CASE("package: one that another program keeps from being installed says who is at work") {
  FakeNode node;
  test::add_apt(node, {{"perftest", "4.5-1", {}, {}}});
  node.add_file("/fake/apt-locked", "");
  const auto type = make_resource_type("{}");
  const auto applied = type->apply(artifact("perftest"), installed(), node);
  REQUIRE_FALSE(applied);
  CHECK(mentions(applied.error().message, "It is held by process 4711"));
  CHECK(mentions(applied.error().hint, "apply again"));
}

TEST_CASE("package: one whose script fails is taken away again, so that apt works as before") {
  FakeNode node;
  test::add_apt(node, {{"broken", "1", {}, {}, false, true}});
  const auto before = node.snapshot();
  const auto type = make_resource_type("{}");
  const auto applied = type->apply(artifact("broken"), installed(), node);
  REQUIRE_FALSE(applied);
  CHECK(mentions(applied.error().message, "post-installation script subprocess returned error exit status 3"));
  CHECK(node.snapshot() == before);
  REQUIRE(type->apply(artifact("broken"), Absent{}, node));
  CHECK(node.snapshot() == before);
}

TEST_CASE("package: one that somebody else needs is refused for removal, and both are named") {
  FakeNode node;
  test::add_apt(node, {{"lib", "1", "1", {}}, {"tool", "1", "1", {"lib"}}});
  Step step;
  step.type = "package";
  step.artifact = artifact("lib");
  step.before = installed();
  const auto type = make_resource_type("{}");
  const std::vector<Step> steps{step};
  const auto objections = type->prepare(steps, node);
  REQUIRE(objections.size() == 1);
  CHECK(objections[0].error.code == ErrorCode::kRefused);
  CHECK(objections[0].error.message == "tool would be removed with lib");

  // An undo can no longer refuse the removal: the package stays for the package that needs it.
  REQUIRE(type->apply(artifact("lib"), Absent{}, node));
  CHECK(DpkgStatus::read(node)->find("lib")->installed());
  CHECK(DpkgStatus::read(node)->find("lib")->automatic);
}

TEST_CASE("package: one that came along with others before sparkplan did is given back as that, and not removed") {
  FakeNode node;
  test::add_apt(node, {{"modules-extra", "1", "1", {}, true}});
  const auto type = make_resource_type("{}");
  const Observation before = type->read_artifact(artifact("modules-extra"), node);
  CHECK_FALSE(std::holds_alternative<Absent>(before));
  REQUIRE(type->apply(artifact("modules-extra"), installed(), node));
  CHECK_FALSE(DpkgStatus::read(node)->find("modules-extra")->automatic);
  REQUIRE(type->apply(artifact("modules-extra"), before, node));
  CHECK(DpkgStatus::read(node)->find("modules-extra")->installed());
  CHECK(DpkgStatus::read(node)->find("modules-extra")->automatic);
}

TEST_CASE("package: one that apt does not know is named before anything is written, with what to do") {
  FakeNode node;
  test::add_apt(node, {{"perftest", "4.5-1", {}, {}}});
  Step step;
  step.type = "package";
  step.artifact = artifact("perftets");
  step.before = Absent{};
  step.after = installed();
  const std::vector<Step> steps{step};
  const auto objections = make_resource_type("{}")->prepare(steps, node);
  REQUIRE(objections.size() == 1);
  CHECK(objections[0].error.message == "apt cannot install perftets: Unable to locate package perftets");
  CHECK(mentions(objections[0].error.hint, "apt-cache search"));
}

TEST_CASE("package: lists that are missing are old") {
  FakeNode node;
  CHECK(lists_are_old(node));
  node.add_directory("/var/lib/apt/lists/partial");
  CHECK(lists_are_old(node));
}

}  // namespace sparkplan::package
