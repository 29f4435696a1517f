// Whole commands of the controller against hostile agents: plan, apply, rollback, release of departed nodes, history,
// doctor, verify. An input is the title of a case, a newline, the command, and the changes to the nodes' replies.
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/fleet/apply/apply_run.h"
#include "engine/fleet/history/history.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/plan/saved_plan.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/exit_code.h"
#include "engine/report/plan/report.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/hostile_agent.h"
#include "tests/fuzz/machines.h"
#include "tests/fuzz/named_input.h"
#include "tests/fuzz/property.h"
#include "tests/support/saved_text.h"

namespace sparkplan::fuzz {
namespace {

void show(const Report& report) {
  require_printable(to_text(report, {}), "a report");
  require(is_valid_utf8(public_json(to_json_value(report))), "a report is no UTF-8");
  for (const Diagnostic& one : report.diagnostics) require_printable(render(one, ""), "a finding");
  (void)exit_code(report, ExitRules{true, true, true});
}

RunOptions run_options(const HostileAgents& agents, const std::string& command) {
  RunOptions options;
  options.command = command;
  options.workers = 1;
  options.agent = agents.options();
  return options;
}

void plan(const CaseMachines& machines, const HostileAgents& agents) {
  FleetSession session(machines.world.cluster, builtin_registry(), run_options(agents, "plan"), {.plans = true});
  PlanRun planning(session);
  planning.plan();
  const Report report = planning.report();
  show(report);
  const auto made = planning.save(report);
  if (!made) return;
  const std::string saved = test::saved_text(*made);
  require(decode_saved_plan(saved).has_value(), "a saved plan is refused", saved);
}

void apply(const CaseMachines& machines, const HostileAgents& agents, std::size_t how) {
  ApplyOptions options;
  options.window = std::chrono::seconds(0);
  options.allow_prune = (how & 1U) != 0;
  options.allow_management_change = (how & 2U) != 0;
  options.all_or_nothing = (how & 4U) != 0;
  options.approve = [](const Report& shown) {
    show(shown);
    return true;
  };
  const bool undoes = (how & 8U) != 0;
  if (undoes) options.rollback.emplace();
  RunOptions how_to_run = run_options(agents, undoes ? "rollback" : "apply");
  how_to_run.contact_departing = (how & 1U) != 0;
  show(ApplyRun(machines.world.cluster, builtin_registry(), std::move(how_to_run), options).run());
}

void remember(const CaseMachines& machines, const HostileAgents& agents) {
  auto histories = read_histories(machines.world.cluster, run_options(agents, "history"), true);
  require(histories.size() <= machines.world.cluster.nodes.size(), "there are more nodes than the cluster has");
  (void)merged(histories);
}

void diagnose(const CaseMachines& machines, const HostileAgents& agents) {
  const DoctorReport report =
      diagnose_cluster(machines.world.cluster, builtin_registry(), run_options(agents, "doctor"));
  show(report.run);
  require_printable(to_text(report, {}), "the doctor's report");
}

void verify(const CaseMachines& machines, const HostileAgents& agents) {
  VerifyOptions options;
  options.workers = 1;
  options.agent = agents.options();
  options.tcp_duration = std::chrono::milliseconds(1);
  take_thresholds(machines.world.cluster, options);
  const VerifyReport report =
      verify_cluster(machines.world.cluster, builtin_registry(), run_options(agents, "verify"), std::move(options));
  show(report.run);
  require_printable(to_text(report, {}), "verify's report");
  require(is_valid_utf8(public_json(to_json_value(report))), "verify's report is no UTF-8");
  const std::string junit = to_junit(report);
  require(printable(junit, true) == junit, "verify's JUnit is not safe to print", junit);
}

void command(Choices choices) {
  const CaseMachines* machines = machines_of(choices.line());
  // A run starts threads for each node.
  if (machines == nullptr || machines->world.cluster.nodes.size() > 4) return;
  const std::size_t what = choices.byte();
  const HostileAgents agents(*machines, choices);
  switch (what % 8) {
    case 0:
    case 1:
      return plan(*machines, agents);
    case 2:
      return remember(*machines, agents);
    case 3:
      return diagnose(*machines, agents);
    case 4:
      return verify(*machines, agents);
    default:
      return apply(*machines, agents, what / 8);
  }
}

}  // namespace
}  // namespace sparkplan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sparkplan::fuzz::command({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return sparkplan::fuzz::mutate_named_input(data, size, max_size, seed, false);
}
