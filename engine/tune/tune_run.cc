#include "engine/tune/tune_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/units.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/tune/trial_of_run.h"
#include "engine/verify/levels/gpu_run.h"
#include "engine/verify/levels/nccl_places.h"
#include "engine/verify/levels/nccl_run.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kKibibyte = 1024;
constexpr std::int64_t kMebibyte = 1024 * kKibibyte;
/// So long after the budget, the last pair ends: a slow one may have begun in time. Without it, a node that answers
/// just before each time limit would hold a pair for an hour.
constexpr std::chrono::minutes kLastPair{5};

/// Decoding sends small messages, training large ones. One setting counts for both.
std::vector<NcclRequest> tune_requests() {
  NcclRequest reduce;
  reduce.sizes = {8 * kKibibyte, 512 * kKibibyte, 16 * kMebibyte, 256 * kMebibyte};
  NcclRequest gather;
  gather.collective = Collective::kAllGather;
  gather.sizes = {16 * kMebibyte};
  return {std::move(reduce), std::move(gather)};
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Error not_measured(std::string message, std::string hint = {}) {
  return make_error(ErrorCode::kVerifyFailed, std::move(message), std::move(hint));
}

class TuneRun {
 public:
  TuneRun(const Cluster& cluster, FleetSession& session, const TuneOptions& options)
      : session_(session), options_(options), context_{cluster, {}, verify_, session.options().stop, {}} {
    const RunOptions& given = session.options();
    context_.registry = &session.registry();
    verify_.agent = given.agent;
    verify_.workers = given.workers;
    verify_.nccl.ranks_per_node = 0;
    context_.progress = [report = given.progress](const std::string& node, std::string_view doing) {
      if (report) report(node, doing, Activity::kWorking);
    };
    report_.budget = options.budget;
  }

  TuneReport run() {
    if (nodes_are_there() && nodes_are_free()) measure();
    if (context_.stop.stop_requested()) note_stop();
    report_.run = session_.report();
    report_.run.interrupted = context_.stop.stop_requested();
    report_.run.verification_failed = report_.trouble && report_.trouble->code == ErrorCode::kVerifyFailed;
    report_.run.diagnostics.insert(report_.run.diagnostics.end(), findings_.begin(), findings_.end());
    return std::move(report_);
  }

 private:
  /// The nodes of the run; false if one of them is missing: a setting is better for a whole cluster.
  bool nodes_are_there() {
    bool all = true;
    for (FleetNode& node : session_.nodes()) {
      if (node.skipped) continue;
      report_.nodes.push_back(node.name());
      all = all && node.client && !node.error;
      VerifyNode one;
      one.spec = node.spec;
      if (node.client && !node.error) {
        one.client = &*node.client;
        one.facts = &node.known.facts;
      }
      context_.nodes.push_back(std::move(one));
      fleet_.push_back(&node);
    }
    return all && !context_.stop.stop_requested();
  }

  /// A stop leaves the nodes unmeasured.
  void note_stop() {
    const Error stopped = make_error(ErrorCode::kInterrupted, "stopped");
    for (FleetNode* node : fleet_) {
      if (!node->error) node->error = stopped;
    }
    report_.trouble = stopped;
  }

  void refuse(std::size_t node, const std::string& reason) {
    session_.give_up(*fleet_[node], ErrorCode::kRefused, reason,
                     "wait for its end; --force measures beside it, and neither runs at its full speed");
  }

  struct Glance {
    std::size_t node = 0;
    GpuOutcome outcome = {};
  };

  /// False if a job runs on a node, or a program uses one of its GPUs.
  bool nodes_are_free() {
    if (options_.force) return true;
    bool free = true;
    std::vector<Glance> glances;
    for (std::size_t node = 0; node < fleet_.size(); ++node) {
      const std::vector<RunningJob>& jobs = fleet_[node]->known.jobs;
      if (!jobs.empty()) {
        refuse(node, "a job runs there: " + jobs.front().describe());
        free = false;
      }
      glances.push_back({node});
    }
    if (!free) return false;
    GpuRunOptions gpus;
    gpus.agent = verify_.agent;
    gpus.stop = context_.stop;
    gpus.command.load_ms = 0;  // Only names the programs.
    fan_out(glances, verify_.workers, [&](Glance& glance) {
      context_.progress(fleet_[glance.node]->name(), "looking for programs on its GPUs");
      glance.outcome = measure_gpus(*fleet_[glance.node]->spec, gpus);
    });
    for (const Glance& glance : glances) {
      if (glance.outcome.left_running) {
        refuse(glance.node, "the test of its GPUs may still be running");
        free = false;
        continue;
      }
      const std::string programs = programs_on(glance.outcome);
      if (programs.empty()) continue;
      refuse(glance.node, "its GPU is in use: " + programs);
      free = false;
    }
    return free;
  }

  /// "python3 (4242), vllm (77)"; empty if the GPUs are free. A node without an answer is left to the first run.
  static std::string programs_on(const GpuOutcome& outcome) {
    std::vector<std::string> programs;
    if (!outcome.measured) return "";
    for (const GpuReport& gpu : outcome.measured->gpus) {
      for (const GpuProcess& one : gpu.processes) {
        programs.push_back((one.name.empty() ? "a process" : one.name) + " (" + std::to_string(one.pid) + ")");
      }
    }
    return shown_text(join(programs, ", "));
  }

  void measure() {
    const auto begin = Clock::now();
    deadline_ = begin + options_.budget + kLastPair;
    if (!find_places()) return;
    show("a first run with the settings of cluster.yaml");
    const TuneTrial first = measure_trial({});
    if (!first.trouble.empty()) {
      report_.trouble = not_measured(first.trouble, "`sparkplan verify --level nccl` reports the cause and the fix");
      return;
    }
    report_.candidates = tune_candidates({report_.network, static_cast<int>(first_places_.size()), declared()});
    const double left = std::chrono::duration<double>(options_.budget).count() - seconds_since(begin);
    if (left < 2 * first.seconds) {
      const auto needed = std::chrono::seconds(static_cast<std::int64_t>(seconds_since(begin) + 2 * first.seconds) + 1);
      findings_.push_back(finding("tune.budget",
                                  "the budget of " + format_duration(options_.budget) + " has no time for one pair",
                                  "give " + format_duration(needed) + " or more, better 20m: --budget"));
      return;
    }
    report_.search = search_settings(report_.candidates.knobs, left, [this](const NcclVariables& variables) {
      show("run " + std::to_string(++runs_) + ": " + variables_text(variables));
      return measure_trial(variables);
    });
    if (!report_.search.trouble.empty()) report_.trouble = not_measured(report_.search.trouble);
  }

  void show(const std::string& doing) {
    for (const VerifyNode& node : context_.nodes) context_.progress(node.name(), doing);
  }

  std::set<std::string> declared() const {
    std::set<std::string> names;
    for (const RankPlace& place : first_places_) {
      for (const auto& variable : place.environment) names.insert(variable.first);
    }
    return names;
  }

  /// The ranks of all nodes; false, with the reason, if NCCL cannot run on one of them.
  bool find_places() {
    for (const VerifyNode& node : context_.nodes) {
      auto place = first_rank_of(context_, node);
      if (!place) {
        report_.trouble = not_measured(node.name() + ": " + place.error().describe());
        return false;
      }
      first_places_.push_back(*std::move(place));
      context_.progress(node.name(), "checking GPU and NCCL");
    }
    const auto looked = inspect_nccl(first_places_, nccl_run_options(context_));
    for (std::size_t node = 0; node < looked.size(); ++node) {
      if (looked[node].failure) {
        note_failure(*looked[node].failure, node);
        report_.trouble = not_measured(first_places_[node].name() + ": " + looked[node].failure->error.describe());
        return false;
      }
      first_places_[node].ranks_on_node = ranks_on_node(verify_.nccl, looked[node].prepared.at(0).gpus);
    }
    for (std::size_t node = 0; node < first_places_.size(); ++node) {
      append_ranks(first_places_[node], places_of_ranks_);
      node_of_rank_.resize(places_of_ranks_.size(), node);
    }
    report_.ranks = static_cast<int>(places_of_ranks_.size());
    if (report_.ranks >= 2) return true;
    report_.trouble =
        not_measured("there is only one GPU: it exchanges data with no other", "select two nodes or more");
    return false;
  }

  /// A node that cannot be reached any more failed, as everywhere.
  void note_failure(const NcclFailure& failure, std::size_t node) {
    if (failure.trouble != NcclTrouble::kConnection || fleet_[node]->error) return;
    fleet_[node]->error = bounded(failure.error);
  }

  TuneTrial measure_trial(const NcclVariables& variables) {
    std::vector<RankPlace> places = places_of_ranks_;
    for (RankPlace& place : places) {
      for (const auto& [name, value] : variables) place.environment[name] = value;
    }
    NcclRunOptions options = nccl_run_options(context_);
    options.longest_measurement = std::chrono::seconds(1);
    options.deadline = deadline_;
    const auto begin = Clock::now();
    const NcclOutcome outcome = run_nccl(places, tune_requests(), options);
    TuneTrial trial = trial_of(outcome, names_of_ranks());
    trial.seconds = seconds_since(begin);
    if (outcome.failure) note_failure(*outcome.failure, node_of_rank_.at(outcome.failure->place));
    if (trial.trouble.empty() && report_.nccl.empty()) describe(outcome);
    return trial;
  }

  std::vector<std::string> names_of_ranks() const {
    std::vector<std::string> names;
    for (const RankPlace& place : places_of_ranks_) names.push_back(place.name());
    return names;
  }

  /// The network decides which candidates are measured, and nothing on the nodes.
  void describe(const NcclOutcome& outcome) {
    report_.nccl = nccl_version_text(outcome.prepared.at(0).nccl_version);
    std::vector<std::string> networks(first_places_.size());
    for (std::size_t rank = 0; rank < node_of_rank_.size(); ++rank) {
      networks.at(node_of_rank_[rank]) = outcome.transports.at(rank).network;
    }
    report_.network = shown_text(network_of_most(networks));
    report_.limit = memory_limit_of(tune_requests(), outcome, names_of_ranks());
    if (report_.limit.empty()) return;
    findings_.push_back(finding(Severity::kWarning, "tune.memory", report_.limit,
                                "a setting for small messages can slow large ones down: stop programs on its GPU"));
  }

  FleetSession& session_;
  const TuneOptions& options_;
  VerifyOptions verify_;
  VerifyContext context_;
  std::vector<FleetNode*> fleet_;           ///< As context_.nodes.
  std::vector<RankPlace> first_places_;     ///< By node.
  std::vector<RankPlace> places_of_ranks_;  ///< By rank.
  std::vector<std::size_t> node_of_rank_;
  std::size_t runs_ = 0;
  Clock::time_point deadline_;  ///< Of each wait for a rank.
  std::vector<Diagnostic> findings_;
  TuneReport report_;
};

}  // namespace

TuneReport tune_cluster(const Cluster& cluster, const Registry& registry, RunOptions run, const TuneOptions& options) {
  run.agent.install = InstallPolicy::kExactBuild;
  FleetSession session(cluster, registry, std::move(run));
  session.open();
  return TuneRun(cluster, session, options).run();
}

}  // namespace sparkplan
