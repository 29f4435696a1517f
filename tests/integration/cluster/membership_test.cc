// Membership: nodes of another cluster, and members missing from the file.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = "sysctl: {net.core.somaxconn: 8192}\n";

TEST_CASE("membership: a node of another cluster is refused, and nothing is written to it") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto manifest = host.identity(kManifestFile);

  controller.file("other.yaml", "version: 1\nname: other\nsysctl: {net.core.somaxconn: 9000}\n" + nodes_of_lab(2));
  const auto run = controller.run({"apply", "--yes", "--json", "other.yaml"});
  require_exit(run, 9);
  const auto report = run.report();
  const auto& node = node_in(report, "spark-01");
  CHECK(node.at("status") == "refused");
  CHECK(contains(node.at("error").at("message").get<std::string>(), "lab"));
  CHECK(host.identity(kManifestFile) == manifest);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  // The refusal concerns only that node; the other nodes are applied.
  CHECK(second.sysctl("net.core.somaxconn") == "9000");
}

TEST_CASE("membership: a member that is missing from the file stops an apply on all nodes") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster("sysctl: {net.core.somaxconn: 9000}\n" + nodes_of_lab(1));

  const auto plan = controller.run({"plan", "--json", "--detailed-exitcode"});
  require_exit(plan, 2);
  CHECK(node_in(plan.report(), "spark-02").at("membership") == "leaving");
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 9);
  CHECK(contains(run.out + run.err, "spark-02"));
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("membership: a node in maintenance stays a member and is not contacted") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster(
      "sysctl: {net.core.somaxconn: 9000}\nssh: {user: root}\nnodes:\n"
      "  - {name: spark-01, address: 10.77.0.1}\n"
      "  - {name: spark-02, address: 10.77.0.2, maintenance: true}\n");
  Lab::get().stop(2);
  const auto run = controller.run({"apply", "--yes", "--json"});
  Lab::get().start(2);
  require_exit(run, 0);
  const auto report = run.report();
  CHECK(node_in(report, "spark-02").at("status") == "skipped");
  CHECK(node_in(report, "spark-02").at("membership") == "member");
  CHECK(host.sysctl("net.core.somaxconn") == "9000");
  CHECK(second.sysctl_at_boot("net.core.somaxconn") == "8192");
}

TEST_CASE("membership: the manifest of a newer sparkplan is not changed") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  auto manifest = Json::parse(host.text(kManifestFile).value());
  manifest["format_version"] = 99;
  host.write(kManifestFile, manifest.dump());
  const auto before = host.identity(kManifestFile);
  for (const Words& command : {Words{"plan"}, Words{"apply", "--yes"}, Words{"drift"}}) {
    INFO(command.front());
    const auto run = controller.run(command);
    require_exit(run, 4);
    CHECK(contains(run.out + run.err, "99"));
    CHECK(contains(run.out + run.err, "spark-01"));
  }
  CHECK(host.identity(kManifestFile) == before);
}

TEST_CASE("membership: a damaged manifest is named, and an apply sets it aside instead of guessing") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const std::string damaged = "{\"format_version\": 1, ";
  host.write(kManifestFile, damaged);
  // A plan changes nothing: it does not even set the damaged manifest aside.
  const auto plan = controller.run({"plan"});
  require_exit(plan, 4);
  CHECK(contains(plan.out + plan.err, "manifest.json"));
  CHECK(host.text(kManifestFile) == damaged);

  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out + run.err, "set aside as /var/lib/sparkplan/manifest.json.damaged-"));
  CHECK_FALSE(host.has(kManifestFile));
  CHECK(host.shell("cat /var/lib/sparkplan/manifest.json.damaged-*") == "{\"format_version\": 1,");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.has(kManifestFile));
}

}  // namespace
}  // namespace sparkplan::test
