#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "engine/cli/commands/changing_run.h"
#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/input/secret_values.h"
#include "engine/core/named_enum.h"
#include "engine/core/text.h"
#include "engine/load/fabric.h"

namespace sparkplan {
namespace {

const NodeReport* find_node(const Report& report, const std::string& name) {
  const auto found = std::ranges::find_if(report.nodes, [&](const NodeReport& node) { return node.name == name; });
  return found == report.nodes.end() ? nullptr : &*found;
}

/// False if a node may know more members than the report lists. A node of the file that is skipped without maintenance
/// is no member: it has no manifest.
bool all_were_asked(const Report& report, const Cluster& cluster) {
  const auto is_no_member = [&](const NodeReport& node) {
    return std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                       [&](const NodeSpec& spec) { return spec.name.str() == node.name && !spec.maintenance; });
  };
  return std::none_of(report.nodes.begin(), report.nodes.end(), [&](const NodeReport& node) {
    return node.error || (node.status == NodeStatus::kSkipped && !is_no_member(node));
  });
}

/// Names the edit that has to go with the node's line, if the nodes that stay cannot keep their topology. Empty
/// otherwise. The loader has this rule: it would refuse the file without the line.
std::string edit_beside_the_node(const NodeName& name, const Cluster& with_released) {
  if (with_released.find(name) == nullptr || with_released.nodes.size() < 2) return "";
  const auto& sections = with_released.nodes.front().sections;
  const auto fabric = sections.find("fabric");
  if (fabric == sections.end()) return "";
  const auto topology = value_named<Topology>(fabric->second.text_or("topology", ""));
  const std::size_t left = with_released.nodes.size() - 1;
  auto broken = topology ? broken_node_count(*topology, left) : std::nullopt;
  if (!broken) return "";
  broken->front() = 'T';
  return *broken + ": when you remove " + name.str() + " from " + printable(with_released.file) + ", also " +
         (left == 2 ? "write `topology: direct` or `topology: dual-cable`," : "remove `fabric`") +
         " or add another node.";
}

/// The question before the changes of the other nodes.
std::string question_of(const ReleaseOptions& options, const std::string& edit) {
  if (!options.forget) return edit + (edit.empty() ? "" : " ") + "Release " + options.node + " and make these changes?";
  return "Forget " + options.node +
         "? It is not contacted and keeps its configuration. The other nodes are changed as shown.";
}

/// A member of the file would be a member again after the next apply.
Result<void> check_may_be_forgotten(const ReleaseOptions& options, bool in_file, const Cluster& cluster) {
  if (!options.forget || !in_file) return {};
  return failure(ErrorCode::kInvalidInput, options.node + " is still in " + cluster.file,
                 "remove it from the file, then run `sparkplan release " + options.node + " --forget`");
}

/// Errors: kInvalidInput if neither the file nor any manifest knows the node. Only the manifests can say that.
Result<void> check_is_known(const Report& report, const std::string& name, const Cluster& cluster) {
  if (find_node(report, name) != nullptr || !all_were_asked(report, cluster)) return {};
  return failure(
      ErrorCode::kInvalidInput,
      "there is no node " + name + ", neither in " + cluster.file + " nor among those that were applied from it",
      "run `sparkplan status` to list the nodes");
}

/// Prints errors and a reminder after the report, and returns the exit code.
ExitCode conclude(const Report& report, const std::string& name, bool in_file, const std::string& edit,
                  const Cluster& cluster, const Console& console) {
  const NodeReport* node = find_node(report, name);
  if (node == nullptr) {
    console.error(make_error(ErrorCode::kUnreachable,
                             name + " is not in " + cluster.file + ", and some nodes that may know it were not read",
                             "repeat the command when all nodes can be read; `sparkplan status` lists them"));
    return ExitCode::kNodeFailed;
  }
  if (in_file && node->status == NodeStatus::kReleased) {
    console.remark(printable(cluster.file) + " still contains this node: the next apply makes it a member again." +
                   (edit.empty() ? "" : " " + edit));
  }
  return exit_code(report);
}

}  // namespace

Result<ExitCode> run_release(const ReleaseOptions& options, const GlobalOptions& global, Console& console) {
  ChangingRun run{"release", "", options.yes, false};
  SPARK_CHECK(can_ask(run, console));
  SPARK_TRY(const auto name, NodeName::parse(options.node));
  const Interrupts interrupts(console);
  auto input = load_to_run("release", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  // Plan without the departing node. Entries of other nodes that refer to it were checked with all nodes.
  Cluster& cluster = *input.loaded->cluster;
  SPARK_TRY(ApplyOptions apply, apply_options(options.safety));
  apply.lock_timeout = options.lock_timeout;
  apply.release = options.node;
  apply.forget = options.forget;
  const Cluster with_released = cluster;
  if (const NodeSpec* listed = with_released.find(name)) {
    apply.released_entry = *listed;
    apply.with_released = &with_released;
  }
  const bool in_file = apply.released_entry.has_value();
  const std::string edit = edit_beside_the_node(name, with_released);
  run.question = question_of(options, edit);
  SPARK_CHECK(check_may_be_forgotten(options, in_file, cluster));
  std::erase_if(cluster.nodes, [&](const NodeSpec& node) { return node.name == name; });
  const auto secrets = read_secrets({"release", {}, false, false}, *input.loaded, interrupts.token(), console);
  if (secrets.exit_code) return *secrets.exit_code;
  run.secrets = secrets.secrets;
  run.check = [&](const Report& outcome) { return check_is_known(outcome, options.node, cluster); };
  SPARK_TRY(const auto report, carry_out(run, std::move(apply), *input.loaded, global, interrupts, console));
  return report ? conclude(*report, options.node, in_file, edit, cluster, console) : ExitCode::kUsage;
}

}  // namespace sparkplan
