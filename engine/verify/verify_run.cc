#include "engine/verify/verify_run.h"

#include <algorithm>
#include <utility>

#include "engine/core/units.h"
#include "engine/verify/halves.h"
#include "engine/verify/measurements.h"
#include "engine/verify/run_levels.h"

namespace sparkplan {
namespace {

VerifyNode node_of(NodeRun& run, const Cluster& cluster) {
  VerifyNode node;
  node.spec = run.spec;
  if (!run.client || run.error) return node;
  node.client = &*run.client;
  node.facts = &run.known.facts;
  node.halves = halves_of(*run.spec, run.known.facts, cluster.profile);
  return node;
}

/// What was found out about the connections goes back to where reports are made of it.
void note_losses(const VerifyContext& context, std::vector<NodeRun>& runs) {
  for (const VerifyNode& node : context.nodes) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const NodeRun& one) { return one.spec == node.spec; });
    if (node.lost && !run->error) run->error = node.lost;
    // Stopped between two questions, a node has not been verified either.
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
  const auto tell = [progress = run.progress](const std::string& node, std::string_view doing) {
    if (progress) progress(node, doing, Activity::kWorking);
  };
  const auto stop = run.stop;
  ClusterRun nodes(cluster, registry, std::move(run));
  nodes.open();
  VerifyContext context{cluster, {}, options, stop, tell};
  context.registry = &registry;
  for (NodeRun& node : nodes.nodes()) {
    if (!node.skipped) context.nodes.push_back(node_of(node, cluster));
  }
  run_levels(context);
  const auto warnings = compare_with_earlier(context);
  note_losses(context, nodes.nodes());
  VerifyReport report{nodes.report(), std::move(context.checks), std::move(context.tables)};
  report.run.diagnostics.insert(report.run.diagnostics.end(), warnings.begin(), warnings.end());
  report.run.verification_failed = count(report.checks).fail > 0;
  return report;
}

CheckCounts count(const std::vector<Check>& checks) {
  CheckCounts counts;
  for (const Check& check : checks) {
    if (check.status == CheckStatus::kPass) ++counts.pass;
    if (check.status == CheckStatus::kWarn) ++counts.warn;
    if (check.status == CheckStatus::kFail) ++counts.fail;
    if (check.status == CheckStatus::kSkip) ++counts.skip;
  }
  return counts;
}

}  // namespace sparkplan
