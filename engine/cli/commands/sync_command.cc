#include "engine/cli/commands/sync_command.h"

#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/cli/terminal/transfer_display.h"
#include "engine/core/text.h"
#include "engine/core/units.h"
#include "engine/report/sync_report.h"
#include "engine/sync/sync_run.h"

namespace sparkplan {
namespace {

Result<std::int64_t> bytes_per_second(const std::string& text) {
  if (text.empty()) return 0;
  SPARK_TRY(const double bits, parse_rate(text));
  constexpr double kLeast = 8000;
  if (bits >= kLeast) return static_cast<std::int64_t>(bits / 8);
  return failure(ErrorCode::kInvalidInput, "the rate " + in_quotes(text) + " is too small", "give 1 kB/s or more");
}

}  // namespace

void add_content_of(const Cluster& cluster, const RunOptions& run, Report& report) {
  if (content_items(cluster).empty() || report.interrupted) return;
  add_content(report, look_at_content(cluster, run));
}

Result<ExitCode> run_sync(const SyncCommandOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console, {"ending the transfers; the next sync continues with what has arrived",
                                        "sparkplan-copy ends on each node with its connection"});
  SPARK_TRY(const auto rate, bytes_per_second(options.limit));
  auto input = load_to_run("sync", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  SPARK_TRY(auto run, run_options("sync", cluster, options.selection, global, interrupts.token(), console));
  ProgressDisplay display(console, cluster);
  if (!options.json) run.progress = display.listener();
  TransferDisplay transfers(console, display, options.json);
  SyncOptions sync;
  sync.dry_run = options.dry_run;
  sync.verify = options.verify;
  sync.encrypt = options.encrypt;
  sync.prune = options.prune;
  sync.rate = rate;
  sync.progress = [&](const ContentItem& item, const std::string& node, const TransferProgress& progress) {
    transfers.tell(item, node, progress);
  };
  const auto ask = [&](const std::string& text, const char* question) {
    if (options.yes) return true;
    if (!console.interactive()) return false;
    display.clear();
    console.question(text);
    return console.confirm(question, interrupts.token());
  };
  sync.may_replace = [&](const ContentReport& item) { return ask(question_text(item), "Replace them?"); };
  sync.may_spread = [&](const ContentReport& item) {
    return ask(spread_question_text(item), "Send them to the other nodes?");
  };
  sync.may_prune = [&](const std::vector<PrunedTree>& trees) { return ask(question_text(trees), "Remove them?"); };
  const auto report = sync_content(cluster, run, sync);
  display.clear();
  if (options.json) {
    print_json(report, console);
  } else {
    console.result(to_text(report, options.dry_run, console.style()));
  }
  return exit_code(report);
}

}  // namespace sparkplan
