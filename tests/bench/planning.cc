// Measures the controller's own time for clusters of many sizes, without any node. The time covers reading the file,
// and planning every node from prepared facts and observations. Prints a table and does not compare it with limits.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "engine/core/digest.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/load/load.h"
#include "engine/plan/desired_state.h"
#include "engine/plan/planner.h"
#include "engine/report/plan/report.h"
#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"

namespace sparkplan {
namespace {

constexpr int kRounds = 5;

/// In milliseconds.
double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A cluster of Sparks on a switch. `all_on_all` enables the names and keys of all nodes on all nodes, which grow with
/// the square of the number of nodes.
std::string file_of(int nodes, bool all_on_all) {
  std::string text = "version: 1\nname: figures\nprofile: dgx-spark\nssh: {user: nvidia}\n";
  if (!all_on_all) text += "hosts: null\nssh_trust: null\n";
  text += "fabric: {topology: switch, port: 1, subnets: [10.100.0.0/16, 10.101.0.0/16]}\nnodes:\n";
  for (int id = 1; id <= nodes; ++id) {
    const std::string number = std::to_string(id);
    text += "  - {name: spark-" + number + ", address: 10.0." + std::to_string(id / 250) + "." +
            std::to_string(id % 250 + 1) + "}\n";
  }
  return text;
}

LinkFacts half(const std::string& domain) {
  LinkFacts link;
  link.name = "en" + domain + "p1s0f1np1";
  link.port = "p1";
  link.pci = domain.empty() ? "0000:01:00.1" : "0002:01:00.1";
  link.mtu = 1500;
  link.up = true;
  link.carrier = true;
  link.rdma_devices = {"roce" + domain + "p1s0f1"};
  return link;
}

Facts spark() {
  Facts facts;
  facts.product = "DGX Spark";
  facts.links = {half(""), half("P2")};
  return facts;
}

/// The observed state of a node on which every desired resource is absent.
ObservedState nothing_of(const std::vector<Resource>& desired) {
  ObservedState observed;
  for (const Resource& one : desired) {
    ObservedType& type = observed.types[one.id.type];
    type.resources[one.id.name] = Absent{};
    for (const std::string& file : builtin_registry().find(one.id.type)->info().files) {
      type.artifacts[file_artifact(file)] = Absent{};
    }
  }
  return observed;
}

/// A public key of that type, with as many bytes as a real key. Source: RFC 4253, 6.6; RFC 8709, 4.
std::string public_key(const std::string& type, std::size_t bytes, int number) {
  const auto framed = [](const std::string& text) {
    std::string length(4, '\0');
    for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(text.size() >> (24 - 8 * i));
    return length + text;
  };
  std::string key = std::to_string(number);
  key.resize(bytes, 'k');
  return type + " " + base64_encode(framed(type) + framed(key));
}

/// The exports of a node that the other nodes' plans need: netplan's files, keys, addresses and homes.
NodeExports exports_of(const NodeSpec& node) {
  const Value no_files = Value::map({{"definitions", Value::List{}}, {"unreadable", Value::List{}}});
  const std::string number = std::to_string(node.id);
  const Value home = Value::map({{"path", "/home/nvidia"},
                                 {"machine", "4c4c4544-0000-" + number},
                                 {"local", "17600000" + number + " 66306 1179650 1763800000000000000"},
                                 {"remote", "1179650 17638000000000000" + number}});
  const Value user = Value::map({{"home", home}, {"public_key", public_key("ssh-ed25519", 32, node.id)}});
  const Value host_keys =
      Value::List{public_key("ecdsa-sha2-nistp256", 81, node.id), public_key("ssh-ed25519", 32, 1000 + node.id),
                  public_key("ssh-rsa", 391, node.id)};
  const Value trust = Value::map({{"users", Value::map({{"nvidia", user}})},
                                  {"host_keys", host_keys},
                                  {"addresses", Value::List{node.address, "fd00::" + number}}});
  return {{"netplan", no_files}, {"ssh_trust", trust}};
}

struct Figures {
  double load_ms = 0;
  double desired_ms = 0;
  double plan_ms = 0;
  double report_ms = 0;
  double memory_mib = 0;  ///< Memory in use at the end: cluster, desired state and plans of all nodes.

  double together() const { return load_ms + desired_ms + plan_ms; }
};

double since(double begin) { return now() - begin; }

struct PlannedNode {
  const NodeSpec* spec = nullptr;
  DesiredState desired;
  ObservedState observed;
  NodePlan plan;
};

/// The time of `work` for all nodes, on all processors as in a run.
template <class Work>
double on_all(std::vector<PlannedNode>& nodes, Work work) {
  const auto begin = now();
  fan_out(nodes, std::thread::hardware_concurrency(), work);
  return since(begin);
}

Figures measure(const std::string& text) {
  Figures figures;
  const auto held_before = ::mallinfo2();
  auto begin = now();
  const LoadedCluster loaded = load_cluster(text, "cluster.yaml", builtin_registry());
  figures.load_ms = since(begin);
  if (!loaded.cluster) std::abort();
  const Cluster& cluster = *loaded.cluster;
  const Facts facts = spark();
  std::map<std::string, NodeExports> exports;
  for (const NodeSpec& node : cluster.nodes) exports[node.name.str()] = exports_of(node);

  std::vector<PlannedNode> nodes;
  for (const NodeSpec& node : cluster.nodes) nodes.push_back({&node, {}, {}, {}});
  figures.desired_ms = on_all(nodes, [&](PlannedNode& node) {
    node.desired = desired_state(ClusterView{cluster, *node.spec, exports}, facts, builtin_registry());
  });
  for (PlannedNode& node : nodes) node.observed = nothing_of(node.desired.resources);
  figures.plan_ms = on_all(nodes, [&](PlannedNode& node) {
    NodePlanInput input;
    input.desired = node.desired.resources;
    input.observed = &node.observed;
    input.incomplete_types = node.desired.incomplete_types;
    input.unresolved = node.desired.unresolved;
    node.plan = plan_node(input, builtin_registry());
  });
  Report report;
  report.command = "plan";
  report.cluster = cluster.name;
  for (PlannedNode& node : nodes) {
    NodeReport one;
    one.name = node.spec->name.str();
    one.address = node.spec->address;
    one.membership = Membership::kJoining;
    one.status = status_of(node.plan);
    one.plan = std::move(node.plan);
    report.nodes.push_back(std::move(one));
    node.observed = {};
  }
  begin = now();
  const std::string shown = to_text(report, {});
  figures.report_ms = since(begin);
  if (shown.empty()) std::abort();
  const auto held = ::mallinfo2();
  figures.memory_mib =
      static_cast<double>(held.uordblks + held.hblkhd - held_before.uordblks - held_before.hblkhd) / (1 << 20);
  return figures;
}

Figures median(int nodes, bool all_on_all) {
  const std::string text = file_of(nodes, all_on_all);
  std::vector<Figures> rounds;
  for (int round = 0; round < kRounds; ++round) rounds.push_back(measure(text));
  std::sort(rounds.begin(), rounds.end(), [](const auto& a, const auto& b) { return a.together() < b.together(); });
  return rounds[kRounds / 2];
}

void print_table(const char* title, bool all_on_all, const std::vector<int>& sizes) {
  std::printf("\n%s\n\n| nodes | load | desired | plan | together | text | memory |\n|---|---|---|---|---|---|---|\n",
              title);
  for (const int nodes : sizes) {
    const Figures figures = median(nodes, all_on_all);
    std::printf("| %d | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.1f MiB |\n", nodes, figures.load_ms,
                figures.desired_ms, figures.plan_ms, figures.together(), figures.report_ms, figures.memory_mib);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace sparkplan

int main() {
  sparkplan::print_table("Without `hosts` and `ssh_trust`", false, {2, 8, 64, 250, 500, 1000});
  sparkplan::print_table("With the names and login keys of all nodes on all nodes", true, {2, 8, 64, 128});
}
