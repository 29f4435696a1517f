#include "engine/cli/commands/verify_command.h"

#include <algorithm>
#include <utility>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/job_commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/drift_outputs.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/output/report_file.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/result.h"
#include "engine/core/text.h"
#include "engine/domain/container/job_container.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/fleet/session/run_identity.h"
#include "engine/launch/image_check.h"
#include "engine/launch/preflight.h"
#include "engine/model/cluster.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {
namespace {

Check check_of_image(PreflightCheck found) {
  const bool one = found.nodes.size() == 1;
  Check check = skipped(Level::kNccl, one ? found.nodes : std::vector<std::string>(), one ? "image" : "all/image",
                        std::move(found.text), std::move(found.fix));
  check.nodes = std::move(found.nodes);
  check.status = CheckStatus::kFail;
  check.text = "nothing was measured";
  return check;
}

/// Asks the selected nodes for the image of `options.nccl`, as the preflight of `run` does. Sets its engine and the
/// nodes with a GPU, or `options.refused` if it is not the same on all of them. A node that does not answer is left to
/// the run, which reports it. Errors: kFailed without a random source.
Result<void> find_image(const Cluster& cluster, const RunOptions& run, VerifyOptions& options) {
  NcclImage& image = *options.nccl.image;
  SPARK_TRY(const auto id, new_run_id());
  std::vector<NodeJob> jobs;
  for (const NodeSpec& node : cluster.nodes) {
    // Directories have no containers, and nothing is measured on them.
    if (node.maintenance || node.transport == TransportKind::kLocal || !run.selection.includes_node(node.name.str()))
      continue;
    jobs.push_back({&node, short_question(id + "-image", questions(image.name))});
  }
  JobRunOptions asking;
  asking.command = "verify";
  asking.agent = run.agent;
  asking.stop = run.stop;
  OutputTails tails;
  const auto answers = answers_in(run_job(jobs, tails, asking), tails);
  std::vector<const NodeSpec*> nodes;
  std::vector<ImageAnswers> images;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].asked) continue;
    nodes.push_back(jobs[i].node);
    images.push_back(answers[i].images);
    if (count_gpus(answers[i]) > 0) image.gpu_nodes.insert(jobs[i].node->name.str());
  }
  if (nodes.empty()) return {};
  const auto choice = choose_engine(cluster, image.name, images);
  image.engine = choice.engine.value_or(image.engine);
  for (auto& check : judge_image(image.name, choice, nodes, images)) {
    if (check.status == CheckStatus::kFail) options.refused.push_back(check_of_image(std::move(check)));
  }
  return {};
}

constexpr std::string_view kAll = "all";

/// Errors: kInvalidInput for a level that --force has no effect on.
Result<LevelChoice> forced(LevelChoice choice, bool force) {
  choice.force = force;
  const auto& levels = choice.levels;
  const bool looks = std::any_of(levels.begin(), levels.end(),
                                 [](Level level) { return level == Level::kGpu || level == Level::kNccl; });
  if (!force || looks) return choice;
  return failure(ErrorCode::kInvalidInput,
                 "--force is for the levels gpu and nccl: no other level looks for jobs on a GPU");
}

/// Errors: kInvalidInput, with the nearest level name.
Result<LevelChoice> levels_named(const std::string& name) {
  if (name.empty() || name == kAll) return LevelChoice{};
  if (const auto level = level_from(name)) return LevelChoice{levels_for(*level), level};
  const auto names = level_names();
  const auto near = nearest(name, names);
  return failure(ErrorCode::kInvalidInput, "there is no level \"" + printable(name) + "\"",
                 (near ? "did you mean " + *near + "? " : "") + std::string("levels: ") + join(names, ", "));
}

/// Errors: kInvalidInput.
Result<NcclChoice> nccl_choice_of(const VerifyCommandOptions& options) {
  NcclChoice choice;
  if (options.sizes) {
    SPARK_TRY(choice.sizes, parse_sizes(*options.sizes));
  }
  if (options.collectives) {
    SPARK_TRY(choice.collectives, parse_collectives(*options.collectives));
  }
  if (options.ranks_per_node) {
    SPARK_TRY(choice.ranks_per_node, parse_ranks_per_node(*options.ranks_per_node));
  }
  if (options.library) {
    SPARK_TRY(choice.library, parse_library(*options.library));
  }
  if (options.image) {
    SPARK_CHECK(check_image_name(*options.image));
    choice.image = NcclImage{*options.image};
  }
  return choice;
}

/// Errors: kInvalidInput for flags of a level that does not run, and for two that exclude each other.
Result<void> check_nccl_flags(const VerifyCommandOptions& options, const LevelChoice& choice) {
  if (options.library && options.image) {
    return failure(ErrorCode::kInvalidInput, "--library and --image exclude each other",
                   "--library names a file of the nodes; with --image, the container has its own NCCL");
  }
  const auto& levels = choice.levels;
  if (!options.has_nccl_flags() || std::find(levels.begin(), levels.end(), Level::kNccl) != levels.end()) return {};
  return failure(ErrorCode::kInvalidInput,
                 "--sizes, --collectives, --ranks-per-node, --library and --image are for the level nccl",
                 "add --level nccl, or leave out --level");
}

}  // namespace

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (const Level level : all_levels()) names.emplace_back(to_string(level));
  names.emplace_back(kAll);
  return names;
}

Result<VerifyReport> verify(const LoadedCluster& loaded, const SelectionOptions& selection, LevelChoice choice,
                            const GlobalOptions& global, const Interrupts& interrupts, Console& console,
                            const AgentOptions* login) {
  const auto& cluster = *loaded.cluster;
  SPARK_TRY(auto run, run_options("verify", cluster, selection, global, interrupts.token(), console, login));
  ProgressDisplay progress(console, cluster);
  run.progress = progress.listener();
  VerifyOptions options;
  options.levels = std::move(choice.levels);
  options.required = choice.named;
  options.nccl = std::move(choice.nccl);
  options.force = choice.force;
  options.with_history = choice.with_history;
  if (options.nccl.image) SPARK_CHECK(find_image(cluster, run, options));
  auto report = verify_cluster(cluster, builtin_registry(), std::move(run), std::move(options));
  progress.clear();
  return report;
}

Result<ExitCode> run_verify(const VerifyCommandOptions& options, const GlobalOptions& global, Console& console) {
  if (options.history) return run_verify_history(options, global, console);
  if (!options.check.empty()) {
    return failure(ErrorCode::kInvalidInput, "--check is for --history", "to measure less, name a level: --level tcp");
  }
  const Interrupts interrupts(console);
  SPARK_TRY(auto named, levels_named(options.level));
  SPARK_TRY(auto choice, forced(std::move(named), options.force));
  SPARK_CHECK(check_nccl_flags(options, choice));
  auto nccl = nccl_choice_of(options);
  if (!nccl) {
    console.error(nccl.error());
    return ExitCode::kInvalidFile;
  }
  choice.nccl = *std::move(nccl);
  choice.with_history = !options.report.empty();
  // Before the measurements, which take minutes.
  SPARK_CHECK(check_report_path(options.junit));
  SPARK_CHECK(check_report_path(options.report));
  SPARK_CHECK(check_different_files(options.junit, options.report, "--junit and --report"));
  auto input = load_for("verify", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  SPARK_TRY(const auto report,
            verify(*input.loaded, options.selection, std::move(choice), global, interrupts, console));
  print(report, *input.loaded, options.json, console);
  if (!options.junit.empty()) SPARK_CHECK(replace_textfile(options.junit, to_junit(report)));
  if (!options.report.empty()) {
    const auto whole = with_findings(report, *input.loaded);
    SPARK_CHECK(write_report(options.report, to_html(whole, page_context(*input.loaded))));
  }
  return exit_code(report.run);
}

}  // namespace sparkplan
