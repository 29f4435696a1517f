#include "tests/unit/init/machines.h"

#include <algorithm>

#include "engine/core/json.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

LinkFacts fabric_link(int port, int half, bool carrier) {
  const std::string number = std::to_string(port);
  const std::string domain = half == 0 ? "p" : "P2p";
  LinkFacts link;
  link.name = "en" + domain + "1s0f" + number + "np" + number;
  link.mtu = 1500;
  link.up = carrier;
  link.carrier = carrier;
  link.port = "p" + number;
  link.pci = (half == 0 ? "0000:01:00." : "0002:01:00.") + number;
  link.driver = "mlx5_core";
  link.rdma_devices = {"roce" + domain + "1s0f" + number};
  return link;
}

std::string two_digits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

/// A machine that has every interface named in the file.
Facts facts_for(const Cluster& cluster, const NodeSpec& node, int number) {
  Facts facts = *bare_spark(number, {0, 1}).facts;
  facts.hostname = node.name.str();
  if (cluster.profile.empty()) facts.product = "Some server";
  for (const FabricPort& address : node.fabric) {
    const bool there = std::any_of(facts.links.begin(), facts.links.end(),
                                   [&](const LinkFacts& link) { return link.name == address.interface; });
    if (there || address.interface.empty()) continue;
    LinkFacts link;
    link.name = address.interface;
    link.rdma_devices = {"mlx5_" + std::to_string(address.half)};
    facts.links.push_back(link);
  }
  return facts;
}

std::vector<Resource> resources_of(const Cluster& cluster, const NodeSpec& node, const Facts& facts) {
  std::map<std::string, NodeExports> exports;
  for (const NodeSpec& one : cluster.nodes) {
    exports[one.name.str()] = {{"netplan", Value::map()}, {"mount", Value::map({{"writes", Value::List{}}})}};
  }
  std::vector<Resource> resources;
  for (const auto& [key, section] : node.sections) {
    for (const ResourceType* type : builtin_registry().of_section(key)) {
      Desired desired = type->desired({cluster, node, exports}, section, facts);
      std::move(desired.resources.begin(), desired.resources.end(), std::back_inserter(resources));
    }
  }
  return resources;
}

Roster roster_of(const Cluster& cluster) {
  Roster roster{cluster.name, "11111111-2222-4333-8444-555555555555", 1, {}};
  for (const NodeSpec& node : cluster.nodes) {
    RosterEntry entry;
    entry.name = node.name.str();
    entry.id = node.id;
    entry.address = node.address;
    entry.user = node.ssh.user;
    entry.port = node.ssh.port;
    entry.machine_id = "machine-of-" + node.name.str();
    entry.jump = node.ssh.jump;
    entry.become = node.ssh.become == Become::kNone ? "none" : "sudo";
    roster.members.push_back(std::move(entry));
  }
  return roster;
}

}  // namespace

InitMachine bare_spark(int number, const std::vector<int>& cabled) {
  InitMachine machine;
  machine.address = "10.0.0." + std::to_string(10 + number);
  machine.ssh.user = "nvidia";
  machine.given = "nvidia@" + machine.address;
  Facts facts;
  facts.hostname = "spark-" + two_digits(number);
  facts.machine_id = "machine-of-" + facts.hostname;
  facts.architecture = "aarch64";
  facts.os_id = "ubuntu";
  facts.os_name = "Ubuntu 24.04.3 LTS";
  facts.os_version = "24.04";
  facts.product = "DGX Spark";
  facts.memory_total_bytes = std::int64_t{119} << 30;
  facts.ssh_server_address = machine.address;
  LinkFacts management;
  management.name = "enP7s7";
  management.up = management.carrier = true;
  management.addresses = {machine.address + "/24"};
  facts.links.push_back(management);
  for (const int port : {0, 1}) {
    const bool carrier = std::find(cabled.begin(), cabled.end(), port) != cabled.end();
    for (const int half : {0, 1}) facts.links.push_back(fabric_link(port, half, carrier));
  }
  machine.facts = std::move(facts);
  return machine;
}

LinkFacts& link_of(InitMachine& machine, const std::string& name) {
  auto& links = machine.facts->links;
  const auto found = std::find_if(links.begin(), links.end(), [&](const auto& link) { return link.name == name; });
  REQUIRE(found != links.end());
  return *found;
}

void set_address(InitMachine& machine, const std::string& interface, const std::string& address, int mtu) {
  LinkFacts& link = link_of(machine, interface);
  link.addresses = {address};
  link.mtu = mtu;
}

InitMachine unreachable(const std::string& address) {
  InitMachine machine;
  machine.given = machine.address = address;
  machine.error = Error{ErrorCode::kUnreachable, "connect to " + address + " port 22: timed out", {}, {}, ""};
  return machine;
}

std::vector<InitMachine> applied(const Cluster& cluster) {
  std::vector<InitMachine> machines;
  int number = 0;
  for (const NodeSpec& node : cluster.nodes) {
    InitMachine machine;
    machine.address = node.address;
    machine.given = node.address;
    machine.ssh = node.ssh;
    machine.facts = facts_for(cluster, node, ++number);
    Manifest manifest;
    manifest.node = node.name.str();
    manifest.roster = roster_of(cluster);
    for (Resource& resource : resources_of(cluster, node, *machine.facts)) {
      manifest.resources.emplace(resource.id, ManagedResource{std::move(resource.desired), {}});
    }
    machine.facts->machine_id = "machine-of-" + node.name.str();
    machine.manifest = std::move(manifest);
    machines.push_back(std::move(machine));
  }
  return machines;
}

std::map<std::string, std::string> asked_of(const Cluster& cluster, const NodeSpec& node, const Facts& facts) {
  std::map<std::string, std::string> asked;
  for (const Resource& resource : resources_of(cluster, node, facts)) {
    asked.emplace(resource.id.str(), encode_json(resource.desired));
  }
  return asked;
}

Result<DraftedFile> attempt(const std::vector<InitMachine>& machines) {
  return draft_cluster({machines, "cluster.schema.json"}, builtin_registry());
}

bool has_remark(const DraftedFile& draft, const std::string& code) {
  return std::any_of(draft.remarks.begin(), draft.remarks.end(),
                     [&](const Diagnostic& remark) { return remark.code == code; });
}

std::string draft_of(const std::vector<InitMachine>& machines) {
  const auto draft = attempt(machines);
  if (!draft) FAIL(draft.error().describe());
  return draft->text;
}

Cluster loaded(const std::string& text) {
  const auto file = load_cluster(text, "cluster.yaml", builtin_registry());
  INFO(text);
  for (const auto& finding : file.diagnostics) UNSCOPED_INFO(render(finding, text));
  REQUIRE(file.cluster);
  return *file.cluster;
}

std::string unwrapped(std::string text) {
  for (auto at = text.find("\n# "); at != std::string::npos; at = text.find("\n# ", at)) text.replace(at, 3, " ");
  return text;
}

std::string remarks_of(const DraftedFile& draft, const std::string& code) {
  std::string messages;
  for (const Diagnostic& remark : draft.remarks) {
    if (remark.code == code) messages += remark.message + "\n";
  }
  return messages;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace sparkplan::test
