#include "engine/verify/doctor_run.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/verify/halves.h"

namespace sparkplan {

bool is_ring(const Cluster& cluster) {
  constexpr std::size_t kSmallest = 3;
  std::map<std::string, std::set<std::string>> neighbours;
  for (const auto& [one, other] : cluster.cables) {
    neighbours[one.str()].insert(other.str());
    neighbours[other.str()].insert(one.str());
  }
  return neighbours.size() >= kSmallest &&
         std::all_of(neighbours.begin(), neighbours.end(), [](const auto& node) { return node.second.size() == 2; });
}

ExaminedNode examined_node(const NodeSpec& spec, const Facts& facts, const std::string& profile) {
  ExaminedNode node{spec.name.str(), &facts, {}};
  for (VerifyHalf& half : halves_of(spec, facts, profile)) {
    ExaminedHalf one;
    one.label = half.label;
    one.interface = half.interface;
    one.address = half.address;
    one.prefix_length = half.prefix_length;
    one.mtu = half.mtu;
    one.link_local = half.link_local;
    one.hcas = std::move(half.hcas);
    one.link = half.link;
    node.halves.push_back(std::move(one));
  }
  return node;
}

DoctorReport diagnose_cluster(const Cluster& cluster, const Registry& registry, RunOptions run) {
  run.agent.install = InstallPolicy::kExactBuild;
  run.extended = true;
  ClusterRun nodes(cluster, registry, std::move(run));
  nodes.open();
  ExaminedCluster examined;
  examined.ring = is_ring(cluster);
  examined.ring_size = cluster.nodes.size();
  for (const NodeRun& node : nodes.nodes()) {
    if (node.skipped || node.error) continue;
    examined.nodes.push_back(examined_node(*node.spec, node.known.facts, cluster.profile));
  }
  DoctorReport report{nodes.report(), examined.nodes.empty() ? std::vector<Finding>() : examine(examined)};
  report.run.verification_failed = std::any_of(report.findings.begin(), report.findings.end(),
                                               [](const Finding& one) { return one.verdict == Verdict::kFail; });
  return report;
}

}  // namespace sparkplan
