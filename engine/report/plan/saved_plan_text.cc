#include "engine/report/plan/saved_plan_text.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/plan/reach.h"
#include "engine/report/plan/report.h"

namespace sparkplan {
namespace {

constexpr std::size_t kNodeIndent = 2;

const NodeSpec* find_spec(const Cluster& cluster, const std::string& name) {
  const auto found = std::ranges::find_if(cluster.nodes, [&](const NodeSpec& one) { return one.name.str() == name; });
  return found == cluster.nodes.end() ? nullptr : &*found;
}

/// A node without a machine in the plan is not changed.
bool is_held(const SavedPlan& plan, const NodeReport& node) {
  return !node.error && plan.machines.count(node.name) > 0;
}

std::vector<std::string> ways_to_node(const NodeReport& node, const Cluster& cluster) {
  if (const NodeSpec* spec = find_spec(cluster, node.name)) return ways_to(*spec);
  return {printable(node.address), "as recorded on the other nodes: it leaves the cluster"};
}

/// "spark-01  nvidia@10.0.0.11:22, through bastion", and below it the identity of the machine.
std::string machine_text(const SavedPlan& plan, const NodeReport& node, const Cluster& cluster, std::size_t column,
                         const TextStyle& style) {
  const std::string name = printable(node.name);
  std::string text = wrapped(join(ways_to_node(node, cluster), ", "), column, style);
  const PlannedMachine& machine = plan.machines.at(node.name);
  text +=
      wrapped("machine-id " + (machine.machine_id.empty() ? "(none)" : printable(machine.machine_id)), column, style);
  if (!machine.host_key.empty()) text += wrapped("host key " + printable(machine.host_key), column, style);
  return text.replace(0, kNodeIndent + text_width(name), std::string(kNodeIndent, ' ') + name);
}

std::string selection_text(const char* option, const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) text += " " + std::string(option) + " " + printable(pattern);
  return text;
}

Value encode_machine(const SavedPlan& plan, const NodeReport& node, const Cluster& cluster) {
  const PlannedMachine& machine = plan.machines.at(node.name);
  return Value::map({{"machine_id", machine.machine_id},
                     {"host_key", machine.host_key},
                     {"reached", list_of_texts(ways_to_node(node, cluster))}});
}

}  // namespace

std::string introduction(const SavedPlan& plan, const Cluster& cluster, const Registry& registry,
                         const TextStyle& style) {
  std::string text = "Plan " + printable(plan.id) + "\n";
  text += wrapped("made at " + printable(plan.created) + " by sparkplan " + printable(plan.sparkplan_version) +
                      " from " + printable(plan.report.file) + ", for the cluster " + printable(plan.report.cluster),
                  0, style);
  const std::string selection = selection_text("--only", plan.only) + selection_text("--exclude", plan.exclude);
  if (!selection.empty()) text += wrapped("with" + selection, 0, style);
  std::size_t column = 0;
  std::vector<std::string> left_alone;
  for (const NodeReport& node : plan.report.nodes) {
    if (is_held(plan, node)) {
      column = std::max(column, kNodeIndent + text_width(printable(node.name)) + 2);
    } else {
      left_alone.push_back(printable(node.name));
    }
  }
  text += "\nMade for these machines, and for no others:\n";
  for (const NodeReport& node : plan.report.nodes) {
    if (is_held(plan, node)) text += machine_text(plan, node, cluster, column, style);
  }
  text += wrapped(
      "A user, port, key or jump host that is not shown comes from ~/.ssh/config of the user who applies the plan",
      kNodeIndent, style);
  if (!left_alone.empty())
    text += wrapped(fold_names(left_alone) + ": skipped, it was not planned", kNodeIndent, style);
  return text + "\n" + waiting_text(plan.report, registry, style);
}

std::string to_text(const SavedPlan& plan, const Cluster& cluster, const Registry& registry, const TextStyle& style) {
  return introduction(plan, cluster, registry, style) + to_text(plan.report, style);
}

Value to_json_value(const SavedPlan& plan, const Cluster& cluster) {
  Value machines = Value::map();
  for (const NodeReport& node : plan.report.nodes) {
    if (is_held(plan, node)) machines.set(node.name, encode_machine(plan, node, cluster));
  }
  Value report = to_json_value(plan.report);
  report.set("saved_plan", Value::map({{"id", plan.id},
                                       {"created", plan.created},
                                       {"sparkplan_version", plan.sparkplan_version},
                                       {"only", list_of_texts(plan.only)},
                                       {"exclude", list_of_texts(plan.exclude)},
                                       {"machines", std::move(machines)}}));
  return report;
}

}  // namespace sparkplan
