#include <algorithm>

#include "engine/cli/audit.h"
#include "engine/cli/commands.h"
#include "engine/cli/interrupts.h"
#include "engine/cli/load_command.h"
#include "engine/cli/progress_display.h"

namespace sparkplan {
namespace {

Error no_such_node(const std::string& name, const std::string& file) {
  return Error{ErrorCode::kInvalidInput,
               "there is no node " + name + ", neither in " + file + " nor among those that were applied from it",
               {},
               std::nullopt,
               "`sparkplan status` lists them"};
}

const NodeReport* find_node(const Report& report, const std::string& name) {
  const auto found =
      std::find_if(report.nodes.begin(), report.nodes.end(), [&](const NodeReport& node) { return node.name == name; });
  return found == report.nodes.end() ? nullptr : &*found;
}

bool all_were_asked(const Report& report) {
  return std::none_of(report.nodes.begin(), report.nodes.end(),
                      [](const NodeReport& node) { return node.error || node.status == NodeStatus::kSkipped; });
}

/// What is to be said at the end, besides the report.
int conclude(const Report& report, const std::string& name, bool in_file, const Cluster& cluster,
             const Console& console) {
  const NodeReport* node = find_node(report, name);
  if (node == nullptr && all_were_asked(report)) {
    console.error(no_such_node(name, cluster.file));
    return 1;
  }
  if (node == nullptr) {
    console.error(Error{ErrorCode::kUnreachable,
                        name + " is not in " + cluster.file + ", and not every node that may know of it could be asked",
                        {},
                        std::nullopt,
                        ""});
    return 4;
  }
  if (in_file && node->status == NodeStatus::kReleased) {
    console.remark(cluster.file + " still names it: the next apply would make it a member again.");
  }
  return exit_code(report, ExitRules{});
}

}  // namespace

int run_release(const ReleaseOptions& options, const GlobalOptions& global, Console& console) {
  if (!options.yes && !console.interactive()) {
    console.error(Error{ErrorCode::kInvalidInput,
                        "release asks before it changes anything, and there is no terminal",
                        {},
                        std::nullopt,
                        "give --yes"});
    return 1;
  }
  const Interrupts interrupts(console);
  auto input = load_to_run("release", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  // The file as it will be without the node; what it says of the others was checked with all of them.
  Cluster& cluster = *input.loaded->cluster;
  const auto name = NodeName::parse(options.node);
  if (!name) {
    console.error(name.error());
    return 1;
  }
  ApplyOptions apply;
  apply.release = options.node;
  if (const NodeSpec* listed = cluster.find(*name)) apply.released_entry = *listed;
  std::erase_if(cluster.nodes, [&](const NodeSpec& node) { return node.name.str() == options.node; });
  auto run = run_options("release", cluster, {}, global, interrupts.token());
  if (!run) {
    console.error(run.error());
    return 1;
  }
  run->agent.install = InstallPolicy::kExactBuild;
  ProgressDisplay progress(console, cluster);
  run->progress = progress.listener();
  bool declined = false;
  apply.approve = [&](const Report& plan) {
    progress.clear();
    if (find_node(plan, options.node) == nullptr) return false;
    if (options.yes) return true;
    show_for_approval(plan, *input.loaded, console);
    declined = !console.confirm("Give " + options.node + " back, and make these changes?", interrupts.token());
    return !declined;
  };
  const auto report = ClusterRun(cluster, builtin_registry(), std::move(*run)).apply(apply);
  progress.clear();
  if (declined) {
    console.remark("Nothing was changed.");
    return 1;
  }
  print(report, *input.loaded, false, console);
  write_audit_line(report);
  return conclude(report, options.node, apply.released_entry.has_value(), cluster, console);
}

}  // namespace sparkplan
