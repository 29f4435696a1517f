#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/core/text.h"
#include "engine/fleet/apply/apply_run.h"
#include "engine/fleet/planning/plan_run.h"
#include "tests/unit/remote/fakes.h"
#include "tests/unit/resources/ssh_trust/ssh_trust_fleet.h"

namespace sparkplan::test {

/// Nodes in memory with ssh_trust. Each answers over a fake connection as an agent would, except where a test makes it
/// report something else.
class TrustBench {
 public:
  explicit TrustBench(int nodes) : fleet(nodes), count_(nodes) {
    for (int number = 1; number <= nodes; ++number) fleet.at(number).facts.machine_id = "id-" + name(number);
  }

  Fleet fleet;
  std::set<int> without_trust;  ///< Their entries in the file have `ssh_trust: null`.
  std::set<int> silent;         ///< They cannot be reached.
  /// Replaces the node's true exports.
  std::map<int, std::function<Value(Value truth)>> lies;
  /// When the node has carried out steps.
  std::map<int, std::function<void()>> on_steps;
  ApplyOptions options;

  static std::string name(int number) { return "n" + std::to_string(number); }

  Report plan() { return plan_cluster(cluster(), builtin_registry(), run_options("plan")); }

  SavedPlan saved_plan() {
    const Cluster of_file = cluster();
    FleetSession session(of_file, builtin_registry(), run_options("plan"), {.plans = true});
    PlanRun planning(session);
    planning.plan();
    auto saved = planning.save(planning.report());
    REQUIRE(saved);
    return *std::move(saved);
  }

  Report apply() { return ApplyRun(cluster(), builtin_registry(), run_options("apply"), options).run(); }

  /// The node's line of `peer` in the file; empty without one.
  std::string line_of(const std::string& peer, int number, const std::string& file) {
    const std::string text = fleet.at(number).node.text_of(file).value_or("");
    for (const std::string_view line : split_lines(std::string_view(text))) {
      if (line.ends_with(mark(peer))) return std::string(line);
    }
    return "";
  }

 private:
  Cluster cluster() const {
    std::string yaml = "version: 1\nname: lab\nssh: {user: root}\nssh_trust: {users: [nvidia]}\nnodes:\n";
    for (int number = 1; number <= count_; ++number) {
      yaml += "  - {name: " + name(number) + ", address: 10.0.0." + std::to_string(number) +
              (without_trust.contains(number) ? ", ssh_trust: null" : "") + "}\n";
    }
    LoadedCluster loaded = load_cluster(yaml, "cluster.yaml", builtin_registry());
    REQUIRE(loaded.cluster);
    return *std::move(loaded.cluster);
  }

  /// With a new connection to each node.
  RunOptions run_options(const std::string& command) {
    remotes_.clear();
    for (int number = 1; number <= count_; ++number) {
      Remote& remote = remotes_[name(number)];
      remote.host().key = "SHA256:" + name(number);
      const Hello hello{kProtocolMajor, kProtocolMinor, "build", "x86_64", {}};
      remote.add(agent(hello, [this, number](const Request& request) { return answer(number, request); }));
    }
    RunOptions run;
    run.command = command;
    run.workers = 1;  // The fake connections check with Catch2, which one thread at a time may use.
    run.agent = remotes_.begin()->second.options(InstallPolicy::kNever);
    run.agent.connector = [this](const NodeSpec& spec,
                                 const ConnectOptions& connect) -> Result<std::unique_ptr<Connection>> {
      for (const int number : silent) {
        if (spec.name.str() == name(number)) return failure(ErrorCode::kUnreachable, "no route");
      }
      return remotes_.at(spec.name.str()).options(InstallPolicy::kNever).connector(spec, connect);
    };
    return run;
  }

  Result<Value> answer(int number, const Request& request) {
    World& world = fleet.at(number);
    if (const auto* facts = std::get_if<FactsRequest>(&request)) return encode(facts_of(number, *facts));
    if (const auto* asked = std::get_if<ObserveNodeRequest>(&request)) return encode(observe(world, asked->names));
    if (const auto* apply = std::get_if<ApplyRequest>(&request)) return encode(carry_out(number, *apply));
    if (const auto* commit = std::get_if<CommitRequest>(&request)) {
      world.applied = true;
      world.manifest.node = commit->node;
      world.manifest.roster = commit->roster;
      world.manifest.resources = commit->resources;
      world.manifest.last_run = commit->run;
      return Value::map();
    }
    if (std::holds_alternative<EffectRequest>(request) || std::holds_alternative<ForesightRequest>(request))
      return encode(EffectReply{});
    return Value::map();
  }

  FactsReply facts_of(int number, const FactsRequest& request) {
    World& world = fleet.at(number);
    FactsReply reply;
    reply.facts = world.facts;
    reply.facts.live = true;
    if (world.applied) reply.manifest = world.manifest;
    if (world.applied && request.observe_managed) reply.observed = observe(world, names_managed(world.manifest));
    for (const auto& [type, section] : request.exports) {
      auto value = builtin_registry().find(type)->exports(section, world.node);
      if (!value || value->is_null()) continue;
      const auto lie = lies.find(number);
      reply.exports.emplace(type, lie == lies.end() ? *std::move(value) : lie->second(*std::move(value)));
    }
    return reply;
  }

  static ObservedState observe(World& world, const std::map<std::string, std::vector<std::string>>& names) {
    ObservedState observed;
    for (const auto& [type, wanted] : names) {
      observed.types[type] = builtin_registry().find(type)->observe(ObserveRequest{wanted}, world.node);
    }
    return observed;
  }

  ApplyReply carry_out(int number, const ApplyRequest& request) {
    World& world = fleet.at(number);
    NodePlan plan;
    plan.steps = request.steps;
    plan.after_steps = request.after_steps;
    for (const auto& [id, managed] : world.manifest.resources) plan.resulting.emplace(id, managed.last_applied);
    const StepRun run = run_steps(plan, builtin_registry(), world.node);
    ApplyReply reply;
    for (const Step& step : request.steps) {
      reply.results.push_back({step.artifact, run.error ? StepOutcome::kFailed : StepOutcome::kDone, run.error});
    }
    if (run.error) return reply;
    remember(plan, run.done, world.manifest);
    world.applied = true;
    world.manifest.node = request.node;
    world.manifest.last_run = request.run;
    if (world.manifest.roster == Roster{}) world.manifest.roster = request.roster;
    if (const auto hook = on_steps.find(number); hook != on_steps.end()) hook->second();
    return reply;
  }

  int count_;
  std::map<std::string, Remote> remotes_;
};

}  // namespace sparkplan::test
