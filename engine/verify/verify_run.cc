#include "engine/verify/verify_run.h"

#include <algorithm>
#include <utility>

#include "engine/core/units.h"
#include "engine/verify/levels/levels.h"
#include "engine/verify/measurements.h"

namespace sparkplan {
namespace {

VerifyNode node_of(NodeRun& run, const Cluster& cluster) {
  VerifyNode node;
  node.spec = run.spec;
  if (!run.client || run.error) return node;
  node.client = &*run.client;
  node.facts = &run.known.facts;
  node.halves = observed_ports(*run.spec, run.known.facts, cluster.profile);
  return node;
}

/// Copies errors of connections that broke during the checks into the runs. The report is made from the runs.
void note_losses(const VerifyContext& context, std::vector<NodeRun>& runs) {
  for (const VerifyNode& node : context.nodes) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const NodeRun& one) { return one.spec == node.spec; });
    if (node.lost && !run->error) run->error = node.lost;
    // A stop between two requests also leaves the node unverified.
    if (context.stop.stop_requested() && !run->error)
      run->error = Error{ErrorCode::kInterrupted, "stopped", {}, {}, ""};
  }
}

std::optional<double> rate_in(const Value& section, std::string_view key) {
  const auto rate = parse_rate(section.text_or(key, ""));
  return rate ? std::optional(*rate) : std::nullopt;
}

}  // namespace

void take_thresholds(const Cluster& cluster, VerifyOptions& options) {
  for (const NodeSpec& node : cluster.nodes) {
    const auto section = node.sections.find("verify");
    if (section == node.sections.end()) continue;
    options.rdma_half = rate_in(section->second, "rdma_half");
    options.nccl_busbw = rate_in(section->second, "nccl_busbw");
    return;
  }
}

VerifyReport verify_cluster(const Cluster& cluster, const Registry& registry, RunOptions run, VerifyOptions options) {
  run.agent.install = InstallPolicy::kExactBuild;
  options.agent = run.agent;
  options.workers = run.workers;
  take_thresholds(cluster, options);
  const auto progress = [report = run.progress](const std::string& node, std::string_view doing) {
    if (report) report(node, doing, Activity::kWorking);
  };
  const auto stop = run.stop;
  ClusterRun nodes(cluster, registry, std::move(run));
  nodes.open();
  VerifyContext context{cluster, {}, options, stop, progress};
  context.registry = &registry;
  for (NodeRun& node : nodes.nodes()) {
    if (!node.skipped) context.nodes.push_back(node_of(node, cluster));
  }
  run_levels(context);
  const auto warnings = compare_with_earlier(context);
  note_losses(context, nodes.nodes());
  VerifyReport report{nodes.report(), std::move(context.checks), std::move(context.tables)};
  report.run.diagnostics.insert(report.run.diagnostics.end(), warnings.begin(), warnings.end());
  report.run.verification_failed = std::any_of(report.checks.begin(), report.checks.end(),
                                               [](const Check& check) { return check.status == CheckStatus::kFail; });
  return report;
}

}  // namespace sparkplan
