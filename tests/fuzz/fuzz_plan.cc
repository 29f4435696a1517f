// Everything that the controller derives from a node's replies: desired state, a plan and its reports, the doctor's
// findings, the cluster.yaml of `init`, verify's verdicts. An input is the title of a case, a newline, and the changes
// to the replies. The replies are then encoded and decoded as over a connection.
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/doctor/examination.h"
#include "engine/fleet/session/node_reply.h"
#include "engine/init/cluster_draft.h"
#include "engine/load/load.h"
#include "engine/plan/desired_state.h"
#include "engine/plan/held_plan.h"
#include "engine/plan/planner.h"
#include "engine/plan/saved_plan.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/exit_code.h"
#include "engine/report/plan/report.h"
#include "engine/verify/levels/nccl_checks.h"
#include "engine/verify/levels/nccl_places.h"
#include "engine/verify/levels/storage_judgement.h"
#include "engine/verify/measurements.h"
#include "engine/wire/messages.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/hostile_value.h"
#include "tests/fuzz/machines.h"
#include "tests/fuzz/named_input.h"
#include "tests/fuzz/property.h"
#include "tests/support/saved_text.h"

namespace sparkplan::fuzz {
namespace {

/// The tree after encoding and decoding; nothing if the controller would refuse it.
std::optional<Value> arrived(const Value& tree) {
  auto value = decode_json(encode_json(tree));
  if (!value) return std::nullopt;
  return *std::move(value);
}

struct Answers {
  FactsReply known;
  ObservedState observed;
};

std::optional<Answers> spoiled_answers(const CaseMachines& machines, Choices& choices) {
  Value facts = machines.facts_replies.at(machines.world.self);
  Value observed = machines.observed;
  const std::size_t which = choices.below(4);
  if (which != 1) spoil(facts, choices);
  if (which != 0) spoil(observed, choices);
  const auto facts_sent = arrived(facts);
  const auto observed_sent = arrived(observed);
  if (!facts_sent || !observed_sent) return std::nullopt;
  const auto known = decode<FactsReply>(*facts_sent);
  auto seen = decode<ObservedState>(*observed_sent);
  if (!known || !seen) return std::nullopt;
  FactsRequest request;
  for (const auto& type : builtin_registry().types()) request.exports[type->info().name];
  auto taken = checked(*known, request, builtin_registry());
  if (!taken) {
    require_printable(taken.error().describe(), "why an answer is refused", 4096);
    return std::nullopt;
  }
  return Answers{std::move(*taken), std::move(*seen)};
}

/// The observed state of the requested names, if the resource types accept it.
std::optional<ObservedState> seen_of(const Answers& answers, const std::vector<Resource>& desired) {
  const auto* manifest = answers.known.manifest ? &*answers.known.manifest : nullptr;
  auto taken = checked(answers.observed, names_to_observe(desired, manifest), builtin_registry());
  if (taken) return std::move(*taken);
  require_printable(taken.error().describe(), "why an answer is refused", 4096);
  return std::nullopt;
}

void show(const Report& report) {
  require_printable(to_text(report, {}), "a report");
  TextStyle narrow;
  narrow.width = 20;
  narrow.quiet = true;
  require_printable(to_text(report, narrow), "a narrow report");
  const std::string json = public_json(to_json_value(report));
  require(is_valid_utf8(json), "a report is no UTF-8");
  for (const Diagnostic& one : report.diagnostics) require_printable(render(one, ""), "a finding");
  (void)exit_code(report, ExitRules{true, true, true});
}

void save(const Report& report) {
  SavedPlan plan;
  plan.id = "0b5e0c3e-7d2a-4c57-8a43-1f3b6c9d2e10";
  plan.created = "2026-03-01T12:00:00Z";
  for (const NodeReport& node : report.nodes) plan.machines[node.name] = {"", ""};
  plan.report = report;
  const std::string text = test::saved_text(plan);
  const auto again = decode_saved_plan(text);
  require(again.has_value(), "a saved plan is refused: " + (again ? "" : again.error().describe()), text);
  require(test::saved_text(*again) == text, "saving a plan changes it", text);
  const HeldPlan held = hold_to(again->report.nodes.front().plan, report.nodes.front().plan);
  require(held.stale.empty(), "a plan does not hold to itself",
          held.stale.empty() ? "" : held.stale.begin()->first.str() + ": " + held.stale.begin()->second.describe());
}

void plan(const CaseMachines& machines, const Answers& answers) {
  const Registry& registry = builtin_registry();
  const test::World& world = machines.world;
  std::map<std::string, NodeExports> exports = world.exports;
  exports[world.self] = answers.known.exports;
  Report report{"plan", world.cluster.name, "cluster.yaml", "", {}, {}};
  std::string first;
  for (const NodeSpec& node : world.cluster.nodes) {
    const DesiredState desired =
        desired_state(ClusterView{world.cluster, node, exports}, answers.known.facts, registry);
    for (Diagnostic one : desired.diagnostics) report.diagnostics.push_back(std::move(one));
    // The exports of a node are an input to the other nodes' plans. The other nodes are planned as well, but only in
    // small clusters.
    if (&node != machines.self && world.cluster.nodes.size() > 4) continue;
    const auto* manifest = answers.known.manifest ? &*answers.known.manifest : nullptr;
    for (const auto& [type, names] : names_to_observe(desired.resources, manifest)) require(!names.empty(), type);
    const auto observed = seen_of(answers, desired.resources);
    if (!observed) continue;
    NodePlanInput input;
    input.desired = desired.resources;
    input.observed = &*observed;
    input.manifest = manifest;
    input.incomplete_types = desired.incomplete_types;
    input.unresolved = desired.unresolved;
    NodeReport one;
    one.name = node.name.str();
    one.plan = plan_node(input, registry);
    one.status = status_of(one.plan);
    (void)refusal(one.plan, answers.known.facts, registry);
    (void)needs_prune_consent(one.plan);
    if (answers.known.lock_holder) one.lock_holder = answers.known.lock_holder->describe();
    for (const Step& step : one.plan.steps) {
      require(decode<Step>(encode(step)).has_value(), "an agent would refuse a step", encode_json(encode(step)));
    }
    Report alone{"plan", "lab", "cluster.yaml", "", {one}, {}};
    const std::string text = encode_json(encode(alone));
    alone.nodes.front().plan = plan_node(input, registry);
    require(encode_json(encode(alone)) == text, "the same plan is another one", text);
    report.nodes.push_back(std::move(one));
  }
  show(report);
  if (!report.nodes.empty()) save(report);
}

void diagnose(const CaseMachines& machines, const Answers& answers) {
  const Cluster& cluster = machines.world.cluster;
  ExaminedCluster examined;
  examined.ring = is_ring(cluster);
  examined.ring_size = examined.ring ? cluster.nodes.size() : 0;
  std::vector<Facts> others;
  others.reserve(cluster.nodes.size());
  for (const NodeSpec& node : cluster.nodes) {
    const Facts* facts = &answers.known.facts;
    if (&node != machines.self) {
      auto reply = decode<FactsReply>(machines.facts_replies.at(node.name.str()));
      if (!reply) continue;
      facts = &others.emplace_back(std::move(reply->facts));
    }
    examined.nodes.push_back({node.name.str(), &*facts, observed_ports(node, *facts, cluster.profile)});
  }
  DoctorReport report;
  report.run.command = "doctor";
  report.findings = examine(examined);
  require_printable(to_text(report, {}), "the doctor's report");
  require(is_valid_utf8(public_json(to_json_value(report))), "the doctor's report is no UTF-8");
}

void draft(const CaseMachines& machines, const Answers& answers) {
  InitInput input;
  for (const NodeSpec& node : machines.world.cluster.nodes) {
    InitMachine machine;
    machine.given = "nvidia@" + node.address;
    machine.address = node.address;
    machine.ssh = node.ssh;
    FactsReply reply = answers.known;
    if (&node != machines.self) {
      auto other = decode<FactsReply>(machines.facts_replies.at(node.name.str()));
      if (!other) continue;
      reply = std::move(*other);
    }
    machine.facts = std::move(reply.facts);
    machine.manifest = std::move(reply.manifest);
    input.machines.push_back(std::move(machine));
    if (input.machines.size() == 4) break;
  }
  const auto made = draft_cluster(input, builtin_registry());
  if (!made) {
    require(made.error().code != ErrorCode::kBug, "no file was made: " + made.error().describe());
    return require_printable(printable(made.error().describe()), "an error");
  }
  require_printable(made->text, "a draft");
  for (const Diagnostic& one : made->remarks) require_printable(render(one, ""), "a remark");
  require(!has_errors(load_cluster(made->text, "cluster.yaml", builtin_registry()).diagnostics), "a draft is no file",
          made->text);
}

void judge(const CaseMachines& machines, const Answers& answers, Choices& choices) {
  const Registry& registry = builtin_registry();
  const Cluster& cluster = machines.world.cluster;
  VerifyReport report;
  report.run.command = "verify";
  const auto exports = exports_without_rivals(cluster, registry);
  const ClusterView view{cluster, *machines.self, exports};
  const DeclaredStorage declared = declared_storage(view, answers.known.facts, registry);
  const DesiredState desired = desired_state(view, answers.known.facts, registry);
  const auto observed = seen_of(answers, desired.resources);
  if (!observed) return;
  if (const auto section = machines.self->sections.find("storage"); section != machines.self->sections.end()) {
    for (const StorageMount& mount : storage_mounts(section->second)) {
      Check check;
      check.id = "storage/" + mount.target;
      check.level = Level::kStorage;
      check.nodes = {machines.world.self};
      judge_mount(mount, declared, *observed, check);
      report.checks.push_back(std::move(check));
    }
  }
  (void)nccl_environment(cluster, *machines.self, answers.known.facts, registry);
  Value rank =
      encode(RankAnswer(PreparedRank{22'809, "/lib/libnccl.so.2", 13'000, "NVIDIA GB10", 1 << 30, true, "", {}}));
  spoil(rank, choices);
  NcclOutcome outcome;
  if (const auto answer = decode<RankAnswer>(rank)) {
    if (const auto* prepared = std::get_if<PreparedRank>(&*answer)) outcome.prepared = {*prepared};
  }
  if (choices.byte() % 2 == 1) {
    NcclFailure failure;
    failure.fault = RankFault::kNccl;
    failure.error = Error{ErrorCode::kFailed, hostile_text(choices), {}, {}, hostile_text(choices)};
    failure.transport.warnings = {hostile_text(choices)};
    outcome.failure = std::move(failure);
  }
  if (outcome.failure || !outcome.prepared.empty()) {
    NcclGround ground;
    ground.nodes = {machines.world.self};
    report.checks.push_back(check_of_node(outcome, ground));
    for (Check& one : checks_of_run("nccl", {{Collective::kAllReduce, {1 << 20}}}, outcome, ground)) {
      report.checks.push_back(std::move(one));
    }
  }
  Value earlier = Value::list({Value(1.5e11), Value(2.5e11), Value(2.5e11), Value(0.0)});
  spoil(earlier, choices);
  std::vector<double> numbers;
  if (const auto* items = earlier.list_items()) {
    for (const Value& item : *items) {
      if (const auto* number = item.real()) numbers.push_back(*number);
    }
  }
  for (Check& check : report.checks) hold_against(numbers, check);
  require_printable(to_text(report, {}), "verify's report");
  require(is_valid_utf8(public_json(to_json_value(report))), "verify's report is no UTF-8");
  const std::string junit = to_junit(report);
  require(printable(junit, true) == junit, "verify's JUnit is not safe to print", junit);
}

void work_out(Choices choices) {
  const CaseMachines* machines = machines_of(choices.line());
  if (machines == nullptr) return;
  const std::size_t what = choices.byte();
  const auto answers = spoiled_answers(*machines, choices);
  if (!answers) return;
  switch (what % 8) {
    case 1:
      return diagnose(*machines, *answers);
    case 2:
      return draft(*machines, *answers);
    case 3:
      return judge(*machines, *answers, choices);
    default:
      return plan(*machines, *answers);
  }
}

}  // namespace
}  // namespace sparkplan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sparkplan::fuzz::work_out({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return sparkplan::fuzz::mutate_named_input(data, size, max_size, seed, false);
}
