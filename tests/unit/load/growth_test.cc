// A cluster that grows or shrinks by an edit of its file: only the necessary addresses change.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <set>

#include "engine/core/json.h"
#include "engine/load/load.h"
#include "engine/model/address.h"
#include "engine/resource/registry.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

constexpr int kLargest = 8;

std::string file_of(const std::string& fabric, const std::vector<int>& ids) {
  std::string text = "version: 1\nname: lab\nprofile: dgx-spark\nssh: {user: nvidia}\nfabric: " + fabric + "\nnodes:\n";
  for (const int id : ids) {
    const std::string number = std::to_string(id);
    text += "  - {name: spark-" + number + ", address: 10." + std::to_string(id / 250) + ".0." +
            std::to_string(id % 250 + 1) + "}\n";
  }
  return text;
}

Cluster load_grown(const std::string& text) {
  auto loaded = load_cluster(text, "cluster.yaml", builtin_registry());
  for (const auto& diagnostic : loaded.diagnostics) UNSCOPED_INFO(diagnostic.message);
  REQUIRE(loaded.cluster);
  return std::move(*loaded.cluster);
}

std::vector<int> up_to(int count) {
  std::vector<int> ids;
  for (int id = 1; id <= count; ++id) ids.push_back(id);
  return ids;
}

/// "spark-1/2" (half 2 of spark-1) -> "192.168.104.11/24".
using Addresses = std::map<std::string, std::string>;
Addresses addresses(const Cluster& cluster) {
  Addresses all;
  for (const NodeSpec& node : cluster.nodes) {
    for (const FabricPort& one : node.fabric) {
      all[node.name.str() + "/" + std::to_string(one.half)] = one.address + "/" + std::to_string(one.prefix_length);
    }
  }
  return all;
}

/// Halves in both clusters whose addresses differ.
std::set<std::string> moved(const Cluster& from, const Cluster& to) {
  const Addresses before = addresses(from);
  const Addresses after = addresses(to);
  std::set<std::string> all;
  for (const auto& [half, address] : before) {
    const auto now = after.find(half);
    if (now != after.end() && now->second != address) all.insert(half);
  }
  return all;
}

/// One type's resources for a node served as a directory tree: "id value" per resource.
std::set<std::string> made_of(const Cluster& cluster, const NodeSpec& node, const std::string& type_name) {
  const ResourceType& type = *builtin_registry().find(type_name);
  Facts facts;
  facts.live = false;
  const Value nothing = Value::map({{"definitions", Value::List{}}, {"unreadable", Value::List{}}});
  const std::map<std::string, NodeExports> exports{{node.name.str(), {{"netplan", nothing}}}};
  std::set<std::string> all;
  for (const Resource& one :
       type.desired({cluster, node, exports}, node.sections.at(type.info().section), facts).resources) {
    all.insert(one.id.str() + " " + canonical_json(one.desired));
  }
  return all;
}

void check_every_network(const Cluster& cluster, std::size_t nodes_in_each) {
  std::map<std::string, std::set<std::string>> nodes;
  std::set<std::string> taken;
  for (const NodeSpec& node : cluster.nodes) {
    std::set<std::string> own;
    for (const FabricPort& one : node.fabric) {
      const std::string network = Ipv4Interface{*parse_ipv4(one.address), one.prefix_length}.network().str();
      CHECK(taken.insert(one.address).second);
      CHECK(own.insert(network).second);  // The halves of a node are never in one network.
      nodes[network].insert(node.name.str());
    }
  }
  for (const auto& [network, members] : nodes) {
    INFO(network);
    CHECK(members.size() == nodes_in_each);
  }
}

std::string half(int id, int number) { return "spark-" + std::to_string(id) + "/" + std::to_string(number); }

}  // namespace

TEST_CASE("growth: behind a switch added or removed nodes change no other node") {
  for (int from = 2; from <= kLargest; ++from) {
    const Cluster before = load_grown(file_of("{topology: switch}", up_to(from)));
    check_every_network(before, static_cast<std::size_t>(from));
    for (int to = 2; to <= kLargest; ++to) {
      INFO(from << " to " << to);
      const Cluster after = load_grown(file_of("{topology: switch}", up_to(to)));
      CHECK(moved(before, after).empty());
      for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(from, to)); ++i) {
        for (const char* const type : {"netplan", "nccl_env", "sysctl", "limits"}) {
          CHECK(made_of(before, before.nodes[i], type) == made_of(after, after.nodes[i], type));
        }
      }
    }
  }
}

TEST_CASE("growth: a pair on a cable keeps addresses and settings when a switch replaces the cable") {
  const Cluster pair = load_grown(file_of("{topology: direct}", up_to(2)));
  check_every_network(pair, 2);
  for (int to = 2; to <= kLargest; ++to) {
    INFO("to " << to);
    const Cluster after = load_grown(file_of("{topology: switch}", up_to(to)));
    CHECK(moved(pair, after).empty());
    for (std::size_t i = 0; i < 2; ++i) {
      for (const char* const type : {"netplan", "nccl_env"}) {
        CHECK(made_of(pair, pair.nodes[i], type) == made_of(after, after.nodes[i], type));
      }
    }
  }
}

TEST_CASE("growth: a second cable keeps the addresses of port 0") {
  const Cluster one = load_grown(file_of("{topology: direct, port: 0}", up_to(2)));
  const Cluster two = load_grown(file_of("{topology: dual-cable}", up_to(2)));
  check_every_network(two, 2);
  CHECK(moved(one, two).empty());
  CHECK(addresses(two).size() == 8);
}

TEST_CASE("growth: in a ring only the node after the new nodes changes, on one port") {
  for (int from = 3; from <= kLargest; ++from) {
    const Cluster before = load_grown(file_of("{topology: ring}", up_to(from)));
    check_every_network(before, 2);
    CHECK(before.cables.size() == static_cast<std::size_t>(from));
    for (int to = 3; to <= kLargest; ++to) {
      INFO(from << " to " << to);
      const Cluster after = load_grown(file_of("{topology: ring}", up_to(to)));
      const auto expected = from == to ? std::set<std::string>{} : std::set<std::string>{half(1, 2), half(1, 3)};
      CHECK(moved(before, after) == expected);
      for (std::size_t i = 1; i < static_cast<std::size_t>(std::min(from, to)); ++i) {
        CHECK(made_of(before, before.nodes[i], "netplan") == made_of(after, after.nodes[i], "netplan"));
        const bool both_alike = (from >= 4) == (to >= 4);
        const bool same = made_of(before, before.nodes[i], "nccl_env") == made_of(after, after.nodes[i], "nccl_env");
        CHECK(same == both_alike);  // NCCL_ALGO is set from four nodes on.
      }
    }
  }
}

TEST_CASE("growth: removing a node from a ring changes one port of its successor") {
  for (int size = 4; size <= kLargest; ++size) {
    const Cluster before = load_grown(file_of("{topology: ring}", up_to(size)));
    for (int gone = 2; gone < size; ++gone) {
      INFO(gone << " of " << size);
      std::vector<int> ids = up_to(size);
      ids.erase(ids.begin() + gone - 1);
      const Cluster after = load_grown(file_of("{topology: ring}", ids));
      check_every_network(after, 2);
      const std::set<std::string> successor{half(gone + 1, 2), half(gone + 1, 3)};
      CHECK(moved(before, after) == successor);
      CHECK(moved(after, before) == successor);  // The same halves move when the node returns.
    }
  }
}

TEST_CASE("growth: the order of the list has no effect in any topology") {
  for (const auto& [fabric, count] : std::map<std::string, int>{{"{topology: direct}", 2},
                                                                {"{topology: dual-cable}", 2},
                                                                {"{topology: ring}", 5},
                                                                {"{topology: switch}", 8}}) {
    INFO(fabric);
    std::vector<int> ids = up_to(count);
    const Addresses forwards = addresses(load_grown(file_of(fabric, ids)));
    std::reverse(ids.begin(), ids.end());
    CHECK(addresses(load_grown(file_of(fabric, ids))) == forwards);
  }
}

TEST_CASE("growth: a custom fabric has only the interfaces declared per node") {
  const std::string first =
      "  - {name: a1, address: 10.0.0.1, fabric: {interfaces: [{name: eth1, address: 10.1.0.1/24}]}}\n";
  const std::string head = "version: 1\nname: lab\nfabric: {topology: custom}\nnodes:\n";
  const Cluster alone = load_grown(head + first);
  const Cluster more = load_grown(head + "  - {name: a2, address: 10.0.0.2}\n" + first);
  CHECK(moved(alone, more).empty());
  CHECK(addresses(more) == addresses(alone));
}

TEST_CASE("growth: a thousand nodes load with wider networks, and each address is unique") {
  const Cluster cluster =
      load_grown(file_of("{topology: switch, subnets: [172.20.0.0/16, 172.21.0.0/16]}", up_to(1000)));
  CHECK(cluster.nodes.size() == 1000);
  check_every_network(cluster, 1000);
  CHECK(cluster.nodes.back().fabric[1].address == "172.21.3.242");
}

// Figures for docs/performance.md, not a check: load_test "[.measure]".
TEST_CASE("load times of files with many nodes", "[.measure]") {
  for (const int count : {64, 125, 250, 500, 1000}) {
    const std::string text = file_of("{topology: switch, subnets: [172.20.0.0/16, 172.21.0.0/16]}", up_to(count));
    double best = 1e9;
    for (int turn = 0; turn < 5; ++turn) {
      const auto begin = std::chrono::steady_clock::now();
      static_cast<void>(load_cluster(text, "cluster.yaml", builtin_registry()));
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count());
    }
    std::cout << count << " nodes: " << best << " ms\n";
  }
}

}  // namespace sparkplan
