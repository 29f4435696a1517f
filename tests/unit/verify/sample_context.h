#pragma once

#include <deque>
#include <string>

#include "engine/verify/verify_context.h"

namespace sparkplan::testing {

/// Nodes with a fabric of two halves, all as declared; each case then breaks the part under test. They have no
/// connections: only for checks that read facts.
class SampleContext {
 public:
  explicit SampleContext(int count) {
    for (int i = 1; i <= count; ++i) {
      const std::string last = std::to_string(10 + i);
      NodeSpec spec{NodeName::parse("spark-0" + std::to_string(i)).value(), i, {}, {}, {}, {}, {}, {}, {}, {}};
      Facts one;
      for (const int half : {0, 1}) {
        FabricPort address;
        address.interface = half == 0 ? "enp1s0f1np1" : "enP2p1s0f1np1";
        address.half = half;
        address.address = "192.168.10" + std::to_string(half) + "." + last;
        address.prefix_length = 24;
        address.mtu = 9000;
        LinkFacts link;
        link.name = address.interface;
        link.mtu = 9000;
        link.up = true;
        link.carrier = true;
        link.addresses = {address.address + "/24"};
        one.links.push_back(link);
        spec.fabric.push_back(address);
      }
      facts.push_back(one);
      cluster.nodes.push_back(spec);
    }
    cluster.name = "lab";
  }

  LinkFacts& link(std::size_t node, std::size_t half) { return facts[node].links[half]; }

  VerifyContext context() {
    VerifyContext made{cluster, {}, options, {}, [](const std::string&, std::string_view) {}};
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
      VerifyNode node;
      node.spec = &cluster.nodes[i];
      node.facts = &facts[i];
      node.client = reachable.empty() || reachable[i] ? a_client() : nullptr;
      node.halves = observed_ports(cluster.nodes[i], facts[i], cluster.profile);
      made.nodes.push_back(node);
    }
    return made;
  }

  Cluster cluster{};
  std::deque<Facts> facts;
  VerifyOptions options;
  std::vector<bool> reachable;  ///< Empty: all of them.

 private:
  /// Never called: these tests read facts only.
  static AgentClient* a_client() {
    static char place = 0;
    return reinterpret_cast<AgentClient*>(&place);
  }
};

}  // namespace sparkplan::testing
