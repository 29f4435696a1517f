#include "engine/verify/verify_run.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/units.h"
#include "engine/verify/levels/levels.h"
#include "engine/verify/levels/nccl_places.h"
#include "engine/verify/measurements.h"

namespace sparkplan {
namespace {

VerifyNode node_of(FleetNode& run, const Cluster& cluster) {
  VerifyNode node;
  node.spec = run.spec;
  if (!run.client || run.error) return node;
  node.client = &*run.client;
  node.facts = &run.known.facts;
  node.halves = observed_ports(*run.spec, run.known.facts, cluster.profile);
  return node;
}

/// Copies errors of connections that broke during the checks into the session. The report is made from the session.
void note_losses(const VerifyContext& context, std::deque<FleetNode>& nodes) {
  for (const VerifyNode& node : context.nodes) {
    const auto run = std::ranges::find_if(nodes, [&](const FleetNode& one) { return one.spec == node.spec; });
    if (node.lost && !run->error) run->error = node.lost;
    // A stop between two requests also leaves the node unverified.
    if (context.stop.stop_requested() && !run->error) run->error = make_error(ErrorCode::kInterrupted, "stopped");
  }
}

/// A check between nodes is made only when it has a value: a pass without one says that a node is ready for it. A GPU
/// is measured only when a check has a value: its model and its errors are known also while a job uses it. So a warning
/// without a value is no measurement either.
bool was_made(const Check& check) {
  if (check.status == CheckStatus::kSkip) return false;
  if (check.status == CheckStatus::kFail) return true;
  const bool needs_value = check.level == Level::kTcp || check.level == Level::kRdma || check.level == Level::kGpu ||
                           check.level == Level::kNccl;
  return !needs_value || check.value.has_value();
}

void append_findings(Report& run, const std::vector<Diagnostic>& findings) {
  run.diagnostics.insert(run.diagnostics.end(), findings.begin(), findings.end());
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

std::optional<Check> nothing_measured(const std::vector<Check>& checks, const VerifyOptions& options) {
  constexpr std::size_t kMostReasons = 3;
  std::vector<std::string> nodes;
  std::vector<std::string> reasons;
  std::vector<std::string> fixes;
  const auto add = [](std::vector<std::string>& texts, const std::string& text) {
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  };
  for (const Check& check : checks) {
    if (options.required && check.level != *options.required) continue;
    // A check that a failed one blocks needs no other explanation: the run has failed.
    if (was_made(check) || !check.blocked_by.empty()) return std::nullopt;
    for (const std::string& node : check.nodes) add(nodes, node);
    add(reasons, check.cause);
    add(fixes, check.fix);
  }
  if (nodes.empty()) return std::nullopt;
  if (reasons.empty()) {
    reasons.emplace_back("no two of the nodes were measured against each other");
    fixes.emplace_back("select two nodes or more that share a network");
  }
  if (reasons.size() > kMostReasons) reasons.resize(kMostReasons);
  if (fixes.size() > kMostReasons) fixes.resize(kMostReasons);
  Check check = skipped(options.required.value_or(options.levels.front()), {}, "measured", join(reasons, "; "));
  check.nodes = std::move(nodes);
  check.status = CheckStatus::kFail;
  check.text = "nothing was measured";
  check.fix = fixes.empty() ? "remove the reason, or name another --level" : join(fixes, "; ");
  return check;
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
  FleetSession session(cluster, registry, std::move(run));
  session.open();
  VerifyContext context{cluster, {}, options, stop, progress};
  context.registry = &registry;
  context.run = session.run();
  for (FleetNode& node : session.nodes()) {
    if (!node.skipped) context.nodes.push_back(node_of(node, cluster));
  }
  auto snapshots = snapshots_of(session);
  if (!options.refused.empty()) {
    note_losses(context, session.nodes());
    VerifyReport report{session.report(), options.refused, {}, std::move(snapshots)};
    report.run.verification_failed = true;
    return report;
  }
  if (auto misfits = nccl_misfits(context); !misfits.empty()) {
    note_losses(context, session.nodes());
    VerifyReport report{session.report(), {}, {}, std::move(snapshots), {}};
    append_findings(report.run, misfits);
    return report;
  }
  run_levels(context);
  if (auto missing = nothing_measured(context.checks, options); missing && !stop.stop_requested()) {
    context.checks.push_back(*std::move(missing));
  }
  const auto warnings = compare_with_earlier(context);
  // It must not change the exit code: the measurements are done.
  auto measured = options.with_history ? stored_measurements(context) : std::vector<NodeMeasurements>();
  note_losses(context, session.nodes());
  VerifyReport report{session.report(), std::move(context.checks), std::move(context.tables), std::move(snapshots),
                      std::move(measured)};
  append_findings(report.run, warnings);
  report.run.verification_failed = std::any_of(report.checks.begin(), report.checks.end(),
                                               [](const Check& check) { return check.status == CheckStatus::kFail; });
  return report;
}

}  // namespace sparkplan
