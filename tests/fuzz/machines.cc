#include "tests/fuzz/machines.h"

#include <functional>
#include <memory>

#include "engine/plan/desired_state.h"
#include "engine/plan/planner.h"
#include "engine/wire/messages.h"
#include "tests/fuzz/property.h"

namespace sparkplan::fuzz {
namespace {

const std::vector<test::CaseFolder>& cases() {
  static const auto all = test::all_cases(builtin_registry());
  return all;
}

FactsReply reply_of_self(const test::World& world, const NodeSpec& self) {
  FactsReply reply;
  reply.facts = world.facts;
  if (world.applied) reply.manifest = world.manifest;
  for (const auto& type : builtin_registry().types()) {
    const auto section = self.sections.find(type->info().section);
    auto value = type->exports(section == self.sections.end() ? Value() : section->second, world.node);
    if (value && !value->is_null()) reply.exports[type->info().name] = std::move(*value);
  }
  return reply;
}

/// Turns the reply into the reply of another machine with its own identity.
FactsReply reply_of_other(FactsReply reply, const test::World& world, const NodeSpec& other) {
  reply.facts.hostname = other.name.str();
  reply.facts.machine_id = "0123456789abcdef0123456789abc" + std::to_string(100 + other.id % 900);
  reply.facts.host.nvme_host_nqn = "nqn.2014-08.org.nvmexpress:" + other.name.str();
  if (reply.manifest) reply.manifest->node = other.name.str();
  const auto exports = world.exports.find(other.name.str());
  reply.exports = exports == world.exports.end() ? NodeExports() : exports->second;
  return reply;
}

std::unique_ptr<CaseMachines> open(const test::CaseFolder& folder) {
  auto world = test::open_case(folder, builtin_registry());
  if (!world) return nullptr;
  auto machines = std::make_unique<CaseMachines>(CaseMachines{std::move(*world), nullptr, {}, {}});
  const Cluster& cluster = machines->world.cluster;
  machines->self = node_named(cluster, machines->world.self);
  if (machines->self == nullptr) return nullptr;
  const FactsReply own = reply_of_self(machines->world, *machines->self);
  for (const NodeSpec& node : cluster.nodes) {
    const bool is_self = &node == machines->self;
    machines->facts_replies[node.name.str()] = encode(is_self ? own : reply_of_other(own, machines->world, node));
  }
  machines->observed = encode(test::look_at(machines->world, builtin_registry()).observed);
  return machines;
}

}  // namespace

const NodeSpec* node_named(const Cluster& cluster, std::string_view name) {
  for (const NodeSpec& node : cluster.nodes) {
    if (node.name.str() == name) return &node;
  }
  return nullptr;
}

const CaseMachines* machines_of(std::string_view case_title) {
  if (cases().empty()) return nullptr;
  static std::vector<std::unique_ptr<CaseMachines>> opened(cases().size());
  std::size_t index = std::hash<std::string_view>()(case_title) % cases().size();
  for (std::size_t i = 0; i < cases().size(); ++i) {
    if (cases()[i].title() == case_title) index = i;
  }
  if (opened[index] == nullptr) opened[index] = open(cases()[index]);
  return opened[index].get();
}

}  // namespace sparkplan::fuzz
