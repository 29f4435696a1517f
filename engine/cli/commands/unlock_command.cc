#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/core/text.h"
#include "engine/fleet/history/history.h"
#include "engine/fleet/session/selection.h"

namespace sparkplan {
namespace {

ExitCode report(const Error& error, const std::string& node, const Console& console) {
  console.error(Error(error).within(node));
  return exit_code_of(error);
}

}  // namespace

Result<ExitCode> run_unlock(const UnlockOptions& options, const GlobalOptions& global, Console& console) {
  if (!options.yes && !console.interactive()) {
    return failure(ErrorCode::kInvalidInput, "unlock asks before it ends a run, but there is no terminal",
                   "pass --yes");
  }
  const Interrupts interrupts(console);
  auto input = load_for("unlock", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  const auto name = NodeName::parse(options.node);
  const NodeSpec* node = name ? cluster.find(*name) : nullptr;
  if (node == nullptr) return failure(no_such_node(options.node, cluster));
  SPARK_TRY(const auto with, run_options("unlock", cluster, {}, global, interrupts.token(), console));
  const auto holder = holder_of_lock(*node, with.agent);
  const bool no_agent = !holder && holder.error().code == ErrorCode::kNotFound;
  if (!holder && !no_agent) return report(holder.error(), options.node, console);
  if (no_agent || !*holder) {
    console.result("No run holds the lock of " + options.node + ".\n");
    return ExitCode::kDone;
  }
  const auto description = printable((*holder)->describe());
  console.question(options.node + " is locked by " + description + ".\n");
  if (!options.yes && !console.confirm("End that run? Its completed changes stay.", interrupts.token())) {
    console.remark("Nothing was changed.");
    return ExitCode::kUsage;
  }
  const auto broken = break_lock(*node, with.agent, **holder, cluster.name);
  if (!broken && broken.error().code == ErrorCode::kNotFound) {
    console.result("No run holds the lock of " + options.node + " any more.\n");
    return ExitCode::kDone;
  }
  if (!broken) return report(broken.error(), options.node, console);
  console.result("The lock of " + options.node + " is broken. It was held by " + description + ".\n");
  console.remark("`sparkplan history " + options.node +
                 "` lists what that run did, `sparkplan plan` shows what is left.");
  return ExitCode::kDone;
}

}  // namespace sparkplan
