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
#include "tests/support/source_folder.h"

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

/// Programs in place of the applications, because the lab downloads nothing. Each runs until it is stopped.
void add_stand_ins(const Host& host) {
  const std::string waits = "#!/bin/sh\n[ \"$1\" = stop ] || exec sleep infinity\n";
  host.shell("mkdir -p /opt/exo/models /etc/prometheus /var/lib/prometheus/node-exporter && chown operator: /opt/exo");
  for (const char* const program : {"/usr/local/bin/uv", "/usr/bin/docker"}) host.write(program, waits, 0755);
  host.write("/usr/bin/nvidia-smi", "#!/bin/sh\necho '0, 7, 45, 12.50'\n", 0755);
  for (const std::string unit : {"prometheus", "prometheus-node-exporter"}) {
    host.write("/usr/lib/systemd/system/" + unit + ".service",
               "[Service]\nExecStart=/usr/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n");
  }
  host.shell("systemctl daemon-reload");
}

void remove_stand_ins(const Host& host) {
  host.shell(
      "systemctl stop prometheus prometheus-node-exporter; rm -rf /opt/exo /etc/prometheus /var/lib/prometheus "
      "/usr/local/bin/uv /usr/bin/docker /usr/bin/nvidia-smi /usr/lib/systemd/system/prometheus*.service; "
      "systemctl daemon-reload");
}

/// The applications run, and the metrics of the (stand-in) GPU reach the file that the node exporter serves.
void require_applications(const Host& first, const Host& second) {
  for (const Host* host : {&first, &second}) {
    INFO(host->name());
    CHECK(host->shell("systemctl is-active exo gpu-metrics.timer backup-models.timer") == "active\nactive\nactive");
    CHECK(host->shell("stat -c %U /proc/$(systemctl show -P MainPID exo)") == "operator");
    host->shell("systemctl start gpu-metrics");
    CHECK(host->text("/var/lib/prometheus/node-exporter/gpu.prom") ==
          "gpu_utilization_percent{gpu=\"0\"} 7\ngpu_temperature_celsius{gpu=\"0\"} 45\n"
          "gpu_power_watts{gpu=\"0\"} 12.50\n");
    // The backup refuses a target that is not mounted.
    CHECK(host->run({"/usr/local/bin/backup-models"}).exit_status == 1);
  }
  CHECK(first.shell("systemctl is-active open-webui grafana-container prometheus") == "active\nactive\nactive");
  CHECK(second.run({"systemctl", "is-active", "open-webui"}).exit_status != 0);
}

void play(const std::string& name) {
  INFO(name);
  const Controller controller;
  const auto image = controller.directory() / "image";
  std::filesystem::create_directory(image);
  std::string text = read(source_folder() + "/examples/" + name);
  // Management addresses, which have two digits after the last dot of their network: "10.0.0.1/24" is a fabric's.
  text = std::regex_replace(text, std::regex(R"(address: (10\.0\.0|192\.168\.0)\.1([1-8])([,}\n]))"),
                            "address: 10.77.0.$2$3");
  std::vector<Host> hosts;
  while (contains(text, "address: 10.77.0." + std::to_string(hosts.size() + 1))) {
    hosts.emplace_back(static_cast<int>(hosts.size()) + 1);
  }
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
  const bool applications = name == "direct-fabric-applications.yaml";
  if (applications) {
    text = std::regex_replace(text, std::regex("\n *packages: [^\n]*"), "");
    text = replaced(text, "User=nvidia", "User=operator");
    for (const int host : {0, 1}) add_stand_ins(hosts[static_cast<std::size_t>(host)]);
  }
  controller.file("cluster.yaml", text);
  controller.file("greeting.txt", read(source_folder() + "/examples/greeting.txt"));

  const auto plan = controller.run({"plan", "--json", "--detailed-exitcode"});
  CHECK((plan.code == 2 || plan.code == 4));  // 4: a parameter of the machine cannot be set.
  CHECK_FALSE(plan.report().at("nodes").empty());
  const auto applied = controller.run({"apply", "--yes", "--json"});
  CHECK((applied.code == 0 || applied.code == 4));
  require_only_the_machines_own_left(applied.report());
  require_only_the_machines_own_left(controller.run({"plan", "--json"}).report());

  if (applications) require_applications(hosts[0], hosts[1]);

  // Prunes all but one variable, so that the next example does not find this example's settings.
  const auto nodes = text.find("\nnodes:");
  REQUIRE(nodes != std::string::npos);
  const auto ssh = text.find("\nssh:");
  controller.file("cluster.yaml", "version: 1\nname: " + applied.report().at("cluster").get<std::string>() +
                                      (ssh == std::string::npos ? "" : "\nssh: {user: operator}") +
                                      "\nprofile_env: {SPARKPLAN_LAB: done}" + text.substr(nodes));
  static_cast<void>(controller.run({"apply", "--yes", "--yes-prune"}));
  if (applications) {
    for (const int host : {0, 1}) remove_stand_ins(hosts[static_cast<std::size_t>(host)]);
  }
}

TEST_CASE("examples: every file is planned and applied") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() + "/examples")) {
    if (entry.path().extension() == ".yaml") names.insert(entry.path().filename().string());
  }
  REQUIRE(names.size() >= 12);
  for (const auto& name : names) play(name);
}

}  // namespace
}  // namespace sparkplan::test
