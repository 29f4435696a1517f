// run: a preflight, then one distributed job.
#include <algorithm>
#include <utility>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/job_commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/fleet/session/run_identity.h"
#include "engine/launch/hub_models.h"
#include "engine/launch/job_plan.h"
#include "engine/launch/last_lines.h"
#include "engine/launch/nccl_status.h"
#include "engine/launch/preflight.h"
#include "engine/launch/stuck_job.h"
#include "engine/report/job_text.h"

namespace sparkplan {
namespace {

constexpr std::chrono::milliseconds kShortestWatch{1000};
constexpr std::string_view kPerGpu = "gpus";
/// Of the agents of the preflight: as long as a process starter waits for a lost connection.
constexpr std::chrono::milliseconds kAgentPatience{20'000};
/// Beside the question for the load of the GPUs, which is rank 0.
constexpr int kNcclQuestion = 1;

/// 0: one per GPU. Errors: kInvalidInput.
Result<int> ranks_per_node(const std::string& text) {
  if (text == kPerGpu) return 0;
  const int number = parse_number<int>(text).value_or(0);
  if (number < 1 || number > kMostRanksPerNode) {
    return failure(ErrorCode::kInvalidInput, in_quotes(text) + " is no number of ranks per node",
                   "--ranks-per-node takes a number from 1 to " + std::to_string(kMostRanksPerNode) + ", or gpus");
  }
  return number;
}

Result<JobRequest> request_of(const RunCommandOptions& options) {
  JobRequest request;
  request.argv = options.argv;
  request.launcher = options.launcher == "torchrun" ? Launcher::kTorchrun
                     : options.launcher == "mpirun" ? Launcher::kMpirun
                                                    : Launcher::kNone;
  SPARK_TRY(request.ranks_per_node, ranks_per_node(options.ranks_per_node));
  for (const std::string& text : options.environment) {
    SPARK_TRY(auto assignment, parse_assignment(text));
    request.environment[assignment.first] = std::move(assignment.second);
  }
  request.directory = options.directory;
  request.image = options.image;
  request.master_port = options.master_port;
  request.time_limit = options.time_limit;
  request.grace = options.grace;
  request.who = this_controller("run").who;
  if (options.watch.count() != 0 && options.watch < kShortestWatch) {
    return failure(ErrorCode::kInvalidInput, "--watch takes 1s or more");
  }
  SPARK_CHECK(check_request(request));
  return request;
}

/// A job on its way to its start.
class PreparedJob {
 public:
  PreparedJob(const RunCommandOptions& options, const Cluster& cluster, RunOptions run,
              std::vector<const NodeSpec*> nodes, std::string id)
      : options_(options), cluster_(cluster), run_(std::move(run)), nodes_(std::move(nodes)), id_(std::move(id)) {}

  Result<ExitCode> run(JobRequest request, Console& console) {
    report_.command = "run";
    report_.argv = request.argv;
    const auto begun = std::chrono::steady_clock::now();
    read_nodes(console);
    add_checks(judge_environment(request, members_));
    if (!can_go_on()) return finish(begun, console);
    if (request.ranks_per_node == 0) request.ranks_per_node = ranks_per_gpu();
    if (!options_.image.empty()) choose_image(request);
    if (!can_go_on()) return finish(begun, console);
    announce(judge_secrets(request, members_), console);
    if (!options_.image.empty()) find_hub_models(console);
    SPARK_TRY(const auto jobs, plan_job(request, members_, id_));
    SPARK_TRY(auto outputs, JobOutputs::open(options_.output_dir, options_.json, jobs, console));
    auto checks = std::move(report_.preflight);
    LastLinesKept kept(outputs.output());
    const bool watched = options_.watch.count() > 0;
    report_ = run_job(jobs, watched ? kept : outputs.output(), options_of_job(jobs, kept, console));
    report_.argv = request.argv;
    report_.preflight = std::move(checks);
    outputs.add_to(report_);
    return finish(begun, console);
  }

 private:
  JobRunOptions options_of_run() const {
    JobRunOptions options;
    options.command = "run";
    options.agent = run_.agent;
    options.stop = run_.stop;
    return options;
  }

  JobRunOptions options_of_job(const std::vector<NodeJob>& jobs, const LastLinesKept& kept,
                               const Console& console) const {
    auto options = options_of_run();
    options.together = true;
    options.watch = options_.watch;
    options.watch_report = [this, &jobs, &kept, &console, known = std::vector<StuckCause>()](
                               const JobView& view, const std::stop_token& stop) mutable {
      StuckContext context;
      context.nodes_by_address = nodes_by_address(members_);
      context.lines = [&kept](std::size_t node, int rank) { return kept.of(node, rank); };
      // Before the questions, which need connections.
      if (!is_news(stuck_job(view, jobs, context), known)) return;
      ask_gpus_and_nccl(jobs, stop, context);
      if (stop.stop_requested()) return;
      const StuckJob job = stuck_job(view, jobs, context);
      known = job.causes;
      console.interject(to_text(job));
    };
    return options;
  }

  /// The load of the GPUs and the reports of NCCL, over connections of their own. Nothing without a GPU.
  void ask_gpus_and_nccl(const std::vector<NodeJob>& jobs, const std::stop_token& stop, StuckContext& context) const {
    const auto has_tool = [](const PreflightAnswers& answers) { return answers.has_gpu_tool; };
    if (std::none_of(answers_.begin(), answers_.end(), has_tool)) return;
    std::vector<NodeJob> questions;
    for (const NodeJob& job : jobs) {
      // With mpirun, the first node has the variables of all ranks.
      const NodeJob& with_ranks = job.start.ranks.empty() ? jobs.front() : job;
      auto ranks = gpu_load_question();
      ranks.push_back(nccl_status_question(kNcclQuestion, with_ranks.start.ranks.front().environment));
      questions.push_back({job.node, short_question(id_ + "-watch", std::move(ranks))});
    }
    auto options = options_of_run();
    options.stop = stop;
    // The end of the job does not wait for a node that does not answer.
    options.agent.connect.stop = stop;
    OutputTails tails;
    const auto asked = run_job(questions, tails, options);
    context.gpus = gpu_loads_in(asked, tails);
    for (std::size_t node = 0; node < questions.size(); ++node) {
      context.nccl_faults.push_back(nccl_faults_in(tails.tail_of(node, kNcclQuestion).text));
    }
  }

  /// Reads facts, plans and answers of all nodes, and judges them.
  void read_nodes(Console& console) {
    ProgressDisplay progress(console, cluster_);
    auto options = run_;
    options.agent_patience = kAgentPatience;
    options.progress = progress.listener();
    FleetSession session(cluster_, builtin_registry(), std::move(options), {.plans = true});
    PlanRun planning(session);
    planning.plan();
    const Report plans = planning.report();
    ask_nodes();
    progress.clear();
    std::vector<PreflightNode> judged;
    std::vector<const Facts*> facts;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      judged.push_back(preflight_node(i, session, plans));
      facts.push_back(judged.back().facts);
    }
    if (!options_.no_preflight) {
      report_.preflight = judge_preflight(judged, cluster_.profile, options_.master_port);
    }
    make_members(facts);
  }

  PreflightNode preflight_node(std::size_t at, const FleetSession& session, const Report& plans) {
    PreflightNode judged;
    judged.spec = nodes_[at];
    judged.answers = answers_[at];
    for (const FleetNode& node : session.nodes()) {
      if (node.spec != nodes_[at]) continue;
      judged.plan = &plans.nodes[node.place];
      if (node.error && !report_.nodes[at].error) report_.nodes[at].error = node.error;
      if (node.client && !node.error) judged.facts = &node.known.facts;
    }
    return judged;
  }

  void ask_nodes() {
    std::vector<NodeJob> jobs;
    for (const NodeSpec* node : nodes_) {
      jobs.push_back({node, short_question(id_ + "-preflight", questions(options_.image, hub_models(*node)))});
    }
    OutputTails tails;
    const auto asked = run_job(jobs, tails, options_of_run());
    answers_ = answers_in(asked, tails);
    for (const JobNodeReport& node : asked.nodes) {
      report_.nodes.push_back({node.name, node.error, {}, {}, {}, node.address});
      report_.interrupted = report_.interrupted || asked.interrupted;
    }
  }

  void make_members(const std::vector<const Facts*>& facts) {
    Facts unknown;
    unknown.live = false;
    const auto addresses = data_addresses(nodes_, facts, cluster_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Facts& own = facts[i] != nullptr ? *facts[i] : unknown;
      members_.push_back({nodes_[i],
                          addresses[i],
                          rank_environment(cluster_, *nodes_[i], own, builtin_registry()),
                          {count_gpus(answers_[i]) > 0, !own.rdma_devices.empty()},
                          secret_names(*nodes_[i]),
                          {}});
    }
  }

  /// Chooses the engine, and compares the images.
  void choose_image(JobRequest& request) {
    std::vector<ImageAnswers> images;
    for (const PreflightAnswers& answers : answers_) images.push_back(answers.images);
    const auto choice = choose_engine(cluster_, request.image, images);
    request.engine = choice.engine.value_or(request.engine);
    // Without the engine on a node, its rank would fail, and that failure would not name whose answers chose the
    // engine.
    if (options_.no_preflight && choice.on_all) return;
    add_checks(judge_image(request.image, choice, nodes_, images));
  }

  /// Failures stay in front.
  void add_checks(std::vector<PreflightCheck> checks) {
    for (PreflightCheck& check : checks) report_.preflight.push_back(std::move(check));
    std::stable_sort(report_.preflight.begin(), report_.preflight.end(), [](const auto& a, const auto& b) {
      return (a.status == CheckStatus::kFail) > (b.status == CheckStatus::kFail);
    });
  }

  /// A mount of a directory that is not there would fail the container, so it is left out.
  void find_hub_models(const Console& console) {
    std::vector<std::vector<std::string>> directories;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      directories.push_back(hub_directories_in(hub_models(*nodes_[i]), answers_[i].hub_models));
      members_[i].hub_models = directories.back();
      std::erase(members_[i].hub_models, "");
    }
    announce(judge_hub_models(nodes_, directories), console);
  }

  /// At once: a server may run for days before its report is printed.
  void announce(std::vector<PreflightCheck> checks, const Console& console) {
    for (PreflightCheck& check : checks) {
      console.interject("! " + fold_names(check.nodes) + ": " + check.text + "\n  fix: " + check.fix + "\n");
      report_.preflight.push_back(std::move(check));
    }
  }

  /// One rank per GPU.
  int ranks_per_gpu() {
    std::vector<std::string> names;
    for (const NodeSpec* node : nodes_) names.push_back(node->name.str());
    if (auto failed = judge_gpu_counts(names, answers_)) report_.preflight.push_back(*std::move(failed));
    return std::min(count_gpus(answers_.front()), kMostRanksPerNode);
  }

  bool can_go_on() const {
    if (failed_preflight(report_) || report_.interrupted) return false;
    for (const JobNodeReport& node : report_.nodes) {
      if (node.error) return false;
    }
    return true;
  }

  ExitCode finish(std::chrono::steady_clock::time_point begun, const Console& console) {
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return finish_job(std::move(report_), options_.json, console);
  }

  const RunCommandOptions& options_;
  const Cluster& cluster_;
  RunOptions run_;
  std::vector<const NodeSpec*> nodes_;
  std::string id_;
  std::vector<PreflightAnswers> answers_;
  std::vector<JobMember> members_;
  JobReport report_;
};

}  // namespace

Result<ExitCode> run_job_command(const RunCommandOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  SPARK_TRY(auto request, request_of(options));
  auto input = load_to_run("run", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const Cluster& cluster = *input.loaded->cluster;
  SPARK_TRY(auto run, run_options("run", cluster, options.selection, global, interrupts.token(), console));
  SPARK_TRY(auto nodes, job_members(cluster, run.selection));
  SPARK_TRY(auto id, new_run_id());
  return PreparedJob(options, cluster, std::move(run), std::move(nodes), std::move(id))
      .run(std::move(request), console);
}

}  // namespace sparkplan
