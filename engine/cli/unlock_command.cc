#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/core/text.h"
#include "engine/fleet/history.h"

namespace sparkplan {
namespace {

/// The code that a run would end with if this were all that went wrong.
int exit_code_of(const Error& error) {
  Report report;
  report.nodes.emplace_back();
  report.nodes.back().error = error;
  return exit_code(report, ExitRules{});
}

int tell(const Error& error, const std::string& node, const Console& console) {
  console.error(Error(error).within(node));
  return exit_code_of(error);
}

}  // namespace

int run_unlock(const UnlockOptions& options, const GlobalOptions& global, Console& console) {
  if (!options.yes && !console.interactive()) {
    console.error(Error{ErrorCode::kInvalidInput,
                        "unlock asks before it ends somebody's run, and there is no terminal",
                        {},
                        std::nullopt,
                        "give --yes"});
    return 1;
  }
  const Interrupts interrupts(console);
  auto input = load_for("unlock", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  const auto name = NodeName::parse(options.node);
  const NodeSpec* node = name ? cluster.find(*name) : nullptr;
  if (node == nullptr) {
    console.error(
        Error{ErrorCode::kInvalidInput, "there is no node " + options.node + " in " + cluster.file, {}, {}, ""});
    return 1;
  }
  const auto with = run_options("unlock", cluster, {}, global, interrupts.token());
  if (!with) {
    console.error(with.error());
    return 1;
  }
  const auto holder = holder_of_lock(*node, with->agent);
  const bool no_agent = !holder && holder.error().code == ErrorCode::kNotFound;
  if (!holder && !no_agent) return tell(holder.error(), options.node, console);
  if (no_agent || !*holder) {
    console.result("Nobody holds the lock of " + options.node + ".\n");
    return 0;
  }
  const auto description = printable((*holder)->describe());
  console.question(options.node + " is locked by " + description + ".\n");
  if (!options.yes && !console.confirm("End that run there? What it has done so far stays.", interrupts.token())) {
    console.remark("Nothing was changed.");
    return 1;
  }
  const auto broken = break_lock(*node, with->agent, **holder, cluster.name);
  if (!broken && broken.error().code == ErrorCode::kNotFound) {
    console.result("Nobody holds the lock of " + options.node + " any more.\n");
    return 0;
  }
  if (!broken) return tell(broken.error(), options.node, console);
  console.result("The lock of " + options.node + " is broken. It was held by " + description + ".\n");
  console.remark("`sparkplan history " + options.node +
                 "` says what that run has done, `sparkplan plan` what is left.");
  return 0;
}

}  // namespace sparkplan
