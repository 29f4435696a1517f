#include "engine/doctor/doctor_run.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/domain/nccl/framework_environment.h"

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
  FleetSession session(cluster, registry, std::move(run));
  session.open();
  ExaminedCluster examined;
  examined.ring = is_ring(cluster);
  examined.ring_size = cluster.nodes.size();
  for (const FleetNode& node : session.nodes()) {
    if (node.skipped || node.error) continue;
    const Facts& facts = node.known.facts;
    ExaminedNode one{node.name(), &facts, observed_ports(*node.spec, facts, cluster.profile),
                     other_interface_names(*node.spec)};
    const auto nccl = node.spec->sections.find("nccl");
    one.nccl_declared = nccl != node.spec->sections.end();
    one.own_nccl = one.nccl_declared && !nccl->second.text_or("library", "").empty();
    one.frameworks = framework_environment(cluster, *node.spec, facts);
    examined.nodes.push_back(std::move(one));
  }
  DoctorReport report{session.report(), examined.nodes.empty() ? std::vector<Finding>() : examine(examined),
                      snapshots_of(session)};
  report.run.verification_failed = std::any_of(report.findings.begin(), report.findings.end(),
                                               [](const Finding& one) { return one.status == CheckStatus::kFail; });
  return report;
}

}  // namespace sparkplan
