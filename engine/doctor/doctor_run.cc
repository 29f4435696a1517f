#include "engine/doctor/doctor_run.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
    const Facts& facts = node.known.facts;
    examined.nodes.push_back({node.spec->name.str(), &facts, observed_ports(*node.spec, facts, cluster.profile)});
  }
  DoctorReport report{nodes.report(), examined.nodes.empty() ? std::vector<Finding>() : examine(examined)};
  report.run.verification_failed = std::any_of(report.findings.begin(), report.findings.end(),
                                               [](const Finding& one) { return one.status == CheckStatus::kFail; });
  return report;
}

}  // namespace sparkplan
