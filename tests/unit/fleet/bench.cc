#include "tests/unit/fleet/bench.h"

#include "engine/core/text.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/load/load.h"
#include "engine/report/exit_code.h"
#include "engine/report/plan/report.h"
#include "tests/support/catch.h"

namespace sparkplan::test {

FleetBench::FleetBench(std::size_t nodes) : extra(nodes), left_out(nodes, false) {
  for (std::size_t i = 0; i < nodes; ++i) roots_.push_back(std::make_unique<ScratchDirectory>());
  run.command = "apply";
}

std::string FleetBench::file() const {
  std::string text = "version: 1\nname: " + cluster_name + "\n" + sections + "nodes:\n";
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    if (left_out[i]) continue;
    const auto number = std::to_string(i + 1);
    text += "  - {name: n" + number + ", id: " + number + ", transport: local, root: \"" + roots_[i]->path().string() +
            "\"" + extra[i] + "}\n";
  }
  return text;
}

Cluster FleetBench::load() const {
  auto loaded = load_cluster(file(), "cluster.yaml", builtin_registry());
  INFO(file());
  for (const auto& finding : loaded.diagnostics) UNSCOPED_INFO(render(finding, loaded.source));
  REQUIRE(loaded.cluster);
  return *std::move(loaded.cluster);
}

Report FleetBench::plan() const {
  const auto cluster = load();
  return plan_cluster(cluster, builtin_registry(), run);
}

SavedPlan FleetBench::saved_plan() const {
  const auto cluster = load();
  FleetSession session(cluster, builtin_registry(), run, {.plans = true});
  PlanRun planning(session);
  planning.plan();
  auto saved = planning.save(planning.report());
  REQUIRE(saved);
  saved->source = file();
  return *std::move(saved);
}

Report FleetBench::apply() const {
  const auto cluster = load();
  return ApplyRun(cluster, builtin_registry(), run, options).run();
}

void FleetBench::apply_all() const {
  const auto applied = apply();
  INFO(to_text(applied, {}));
  REQUIRE(exit_of(applied) == 0);
  const auto left = plan();
  INFO(to_text(left, {}));
  REQUIRE(exit_code(left, ExitRules{true, true, true}) == ExitCode::kDone);
  REQUIRE(changes(left).empty());
}

std::vector<std::map<std::string, std::string>> FleetBench::trees() const {
  std::vector<std::map<std::string, std::string>> all;
  for (const auto& root : roots_) all.push_back(root->tree("/var/lib/sparkplan"));
  return all;
}

std::vector<std::map<std::string, std::string>> FleetBench::whole_trees() const {
  std::vector<std::map<std::string, std::string>> all;
  for (const auto& root : roots_) {
    all.push_back(root->tree());
    all.back().erase("/var/lib/sparkplan/lock");
  }
  return all;
}

int exit_of(const Report& report) { return static_cast<int>(exit_code(report)); }

std::string standing(const Report& report) {
  std::vector<std::string> words;
  for (const auto& node : report.nodes) words.push_back(node.name + " " + std::string(to_string(node.status)));
  return join(words, ", ");
}

bool has_diagnostic(const Report& report, const std::string& code) {
  return std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                     [&](const Diagnostic& diagnostic) { return diagnostic.code == code; });
}

std::vector<std::string> changes(const Report& report) {
  std::vector<std::string> lines;
  for (const auto& node : report.nodes) {
    for (const auto& change : node.plan.changes) {
      lines.push_back(node.name + " " + std::string(to_string(change.action)) + " " + change.id.str() + " " +
                      std::string(to_string(change.origin)));
    }
  }
  return lines;
}

}  // namespace sparkplan::test
