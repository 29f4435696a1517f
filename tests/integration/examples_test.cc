// Plans and applies every file in examples/ with the lab's addresses and users. Each example runs on as many hosts as
// it names.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Kernel parameters that belong to the machine; a host in a network namespace may not set them.
bool belongs_to_the_machine(const std::string& name) {
  return name == "net.core.rmem_max" || name == "net.core.wmem_max" || name.starts_with("vm.");
}

/// Fails the case for every unfinished change that a host of the lab can make.
void require_only_the_machines_own_left(const Json& report) {
  for (const auto& node : report.at("nodes")) {
    for (const auto& change : node.at("changes")) {
      INFO(change.dump());
      const bool done = change.value("outcome", "") == "done";
      CHECK((done || belongs_to_the_machine(change.at("name"))));
    }
  }
}

void play(const std::string& name) {
  INFO(name);
  std::vector<Host> hosts;
  for (int i = 1; i <= Lab::kHosts; ++i) hosts.emplace_back(i);
  const Controller controller;
  const auto image = controller.directory() / "image";
  std::filesystem::create_directory(image);
  std::string text = read(std::string(SPARKPLAN_SOURCE_DIR) + "/examples/" + name);
  // Management addresses, which have two digits after the last dot of their network: "10.0.0.1/24" is a fabric's.
  text = std::regex_replace(text, std::regex(R"(address: (10\.0\.0|192\.168\.0)\.1([1-8])([,}\n]))"),
                            "address: 10.77.0.$2$3");
  text = replaced(text, "user: nvidia", "user: operator");
  text = replaced(text, "users: [nvidia]", "users: [operator]");
  text = replaced(text, "user: admin", "user: operator");
  text = replaced(text, "ens1f0np0", "enp1s0f1np1");  // The example names a server's interface; the lab's hosts have
                                                      // the interfaces of a Spark.
  text = replaced(text, "/var/tmp/sparkplan-image-root", image.string());
  // Hosts of the lab reach no package source. package_test.cc tests packages with its own repository.
  text = replaced(text, "packages: [nvme-cli, perftest, ethtool, earlyoom]\n", "");
  if (name == "direct-fabric-guide.yaml") {
    text = replaced(text, "packages: [nvme-cli]\n", "");
    // storage_test.cc tests storage with a server.
    text = std::regex_replace(text, std::regex("\nstorage:(\n +[^\n]*)+"), "");
  }
  controller.file("cluster.yaml", text);
  controller.file("greeting.txt", read(std::string(SPARKPLAN_SOURCE_DIR) + "/examples/greeting.txt"));

  const auto plan = controller.run({"plan", "--json", "--detailed-exitcode"});
  CHECK((plan.code == 2 || plan.code == 4));  // 4: a parameter of the machine cannot be set.
  CHECK_FALSE(plan.report().at("nodes").empty());
  const auto applied = controller.run({"apply", "--yes", "--json"});
  CHECK((applied.code == 0 || applied.code == 4));
  require_only_the_machines_own_left(applied.report());
  require_only_the_machines_own_left(controller.run({"plan", "--json"}).report());

  // Prunes all but one variable, so that the next example does not find this example's settings.
  const auto nodes = text.find("\nnodes:");
  REQUIRE(nodes != std::string::npos);
  const auto ssh = text.find("\nssh:");
  controller.file("cluster.yaml", "version: 1\nname: " + applied.report().at("cluster").get<std::string>() +
                                      (ssh == std::string::npos ? "" : "\nssh: {user: operator}") +
                                      "\nprofile_env: {SPARKPLAN_LAB: done}" + text.substr(nodes));
  static_cast<void>(controller.run({"apply", "--yes", "--yes-prune"}));
}

TEST_CASE("examples: every file is planned and applied") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SPARKPLAN_SOURCE_DIR) + "/examples")) {
    if (entry.path().extension() == ".yaml") names.insert(entry.path().filename().string());
  }
  REQUIRE(names.size() >= 12);
  for (const auto& name : names) play(name);
}

}  // namespace
}  // namespace sparkplan::test
