// How the agent reads and changes a machine whose files, links and programs an attacker controls. An input is the title
// of a case, a newline, and the changes to the machine's answers. The agent's replies then pass through encoding,
// decoding, a plan and a report, as with a controller.
#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/facts_reader.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/plan/desired_state.h"
#include "engine/plan/planner.h"
#include "engine/report/plan/report.h"
#include "engine/resource/artifact.h"
#include "engine/wire/messages.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/hostile_node.h"
#include "tests/fuzz/machines.h"
#include "tests/fuzz/named_input.h"
#include "tests/fuzz/property.h"

namespace sparkplan::fuzz {
namespace {

constexpr std::size_t kMostAnswer = std::size_t{4} << 20U;

/// Requires that the reply survives encoding and decoding; returns the decoded reply.
template <class T, class Decode>
T sent(const T& reply, Decode decode) {
  const std::string text = encode_json(encode(reply));
  require(text.size() <= kMostAnswer, "an answer is too long: " + std::to_string(text.size()));
  const auto value = decode_json(text);
  require(value.has_value(), "an answer is no JSON", text);
  auto received = decode(*value);
  require(received.has_value(), "an answer is refused: " + (received ? "" : received.error().describe()), text);
  return std::move(*received);
}

Facts look_at_machine(const NodeReader& node, Facts facts, bool everything) {
  if (auto links = node.links()) facts.links = std::move(*links);
  read_link_details(node, facts.links);
  read_machine(node, facts.host);
  read_network_configuration(node, facts.host);
  if (everything) {
    facts.extended = extended(node, facts.links);
    read_login(node, "/proc/4242", *facts.extended);
  }
  return sent(facts, decode<Facts>);
}

void plan_and_apply(const CaseMachines& machines, const Facts& facts, HostileNode& node, std::size_t writes) {
  const Registry& registry = builtin_registry();
  const test::World& world = machines.world;
  std::map<std::string, NodeExports> exports = world.exports;
  for (const auto& type : registry.types()) {
    const auto section = machines.self->sections.find(type->info().section);
    auto value = type->exports(section == machines.self->sections.end() ? Value() : section->second, node);
    if (value && !value->is_null()) exports[world.self][type->info().name] = std::move(*value);
  }
  const ClusterView view{world.cluster, *machines.self, exports};
  const DesiredState desired = desired_state(view, facts, registry);
  ObservedState observed;
  const Manifest* manifest = world.applied ? &world.manifest : nullptr;
  for (const auto& [name, names] : names_to_observe(desired.resources, manifest)) {
    if (const auto* type = registry.find(name)) observed.types[name] = type->observe({names}, node);
  }
  observed = sent(observed, decode<ObservedState>);
  NodePlanInput input;
  input.desired = desired.resources;
  input.observed = &observed;
  input.manifest = manifest;
  input.incomplete_types = desired.incomplete_types;
  input.unresolved = desired.unresolved;
  NodeReport report;
  report.name = world.self;
  report.plan = plan_node(input, registry);
  report.status = status_of(report.plan);
  (void)refusal(report.plan, facts, registry);
  std::map<std::string, std::vector<Step>> by_type;
  for (const Step& step : report.plan.steps) by_type[step.type].push_back(step);
  Report whole{"plan", "lab", "cluster.yaml", "", {std::move(report)}, desired.diagnostics};
  require_printable(to_text(whole, {}), "a report");
  if (writes == 0) return;
  const ChangesAhead ahead = changes_ahead(whole.nodes.front().plan.steps);
  for (const auto& [name, steps] : by_type) {
    const auto* type = registry.find(name);
    if (type == nullptr) continue;
    for (const Objection& objection : type->prepare(steps, ahead, node)) (void)sent(objection.error, decode<Error>);
    for (const Step& step : steps) {
      (void)sent(read_artifact(step.artifact, *type, node), decode<Observation>);
      if (const auto done = apply_artifact(step.artifact, step.after, *type, node); !done) {
        (void)sent(done.error(), decode<Error>);
      }
    }
  }
  EffectReply effect;
  for (const auto& type : registry.types()) {
    std::map<std::string, Value> wanted;
    for (const Resource& one : desired.resources) {
      if (one.id.type == type->info().name) wanted[one.id.name] = one.desired;
    }
    if (!wanted.empty()) effect.ineffective[type->info().name] = type->check_effect(wanted, node);
  }
  (void)sent(effect, decode<EffectReply>);
  ChangesAhead all_ahead;
  for (const Resource& one : desired.resources) all_ahead[one.id.type][one.id.name] = one.desired;
  EffectReply foreseen;
  for (const auto& type : registry.types()) foreseen.ineffective[type->info().name] = type->foresee(all_ahead, node);
  (void)sent(foreseen, decode<EffectReply>);
}

void look(Choices choices) {
  const CaseMachines* machines = machines_of(choices.line());
  if (machines == nullptr) return;
  const std::size_t what = choices.byte();
  test::FakeNode honest = machines->world.node;
  HostileNode node(honest, choices);
  Facts facts = machines->world.facts;
  if (what % 4 == 1) facts = look_at_machine(node, facts, (what & 4U) != 0);
  if (what % 16 == 2) {
    if (const auto reply = read_storage({"/mnt/models"}, node)) (void)sent(*reply, decode<ReadStorageReply>);
  }
  plan_and_apply(*machines, facts, node, what & 8U);
}

}  // namespace
}  // namespace sparkplan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sparkplan::fuzz::look({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return sparkplan::fuzz::mutate_named_input(data, size, max_size, seed, false);
}
