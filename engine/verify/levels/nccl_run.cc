#include "engine/verify/levels/nccl_run.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "engine/core/threads.h"
#include "engine/remote/programs/nccl_rank_client.h"
#include "engine/verify/levels/nccl_places.h"
#include "engine/verify/nccl_choice.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kGlance{5};           // Per rank and round.
constexpr milliseconds kSecondOpinion{700};  // How long a rank may take to report the failure that its peers noticed.
constexpr milliseconds kPatienceAtEnd{3000};
constexpr milliseconds kPatienceWithContainer{15'000};  // The process starter removes it within 12.5 s.
constexpr milliseconds kPauseAtStart{100};
constexpr std::int64_t kProbedSize = std::int64_t{16} << 20;  // Smaller sizes are quick on any network.
/// Times below it differ from batch to batch.
constexpr std::int64_t kMedianBelow = std::int64_t{1} << 20;
constexpr int kBatches = 5;

/// A command is smaller than the window that any sshd grants. While one rank is waited for, no other one is heard, and
/// the process starter of a container ends after kLongestJobSilence.
constexpr milliseconds kPatienceToSend{5000};

/// Not less than 0.
milliseconds until(Clock::time_point end) {
  return std::max(std::chrono::duration_cast<milliseconds>(end - Clock::now()), milliseconds(0));
}

Error silent_error(const std::string& doing, milliseconds limit) {
  return make_error(ErrorCode::kUnreachable,
                    doing + " did not finish within " + std::to_string(limit.count() / 1000) + " s");
}

/// The ranks of one run.
class RankGroup {
 public:
  RankGroup(const std::vector<RankPlace>& places, const NcclRunOptions& options)
      : places_(places),
        options_(options),
        agent_(options.agent),
        clients_(places.size()),
        silenced_(places.size(), false) {
    agent_.connect.most_unread = kMostUnreadOfRanks;  // A node may have many ranks.
  }

  bool failed() const { return outcome_.failure.has_value(); }

  void start() {
    progress("starting the NCCL test");
    unopened_ = places_.size();
    std::vector<std::optional<Error>> errors(places_.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < places_.size(); ++i) {
        auto started = add_thread(threads, [this, i, &errors] {
          auto client = open(places_[i]);
          if (client) {
            clients_[i] = std::move(*client);
          } else {
            errors[i] = client.error();
          }
          --unopened_;
          if (clients_[i] && places_[i].container) wait_for_others(*clients_[i]);
        });
        if (started) continue;
        errors[i] = std::move(started).error();
        --unopened_;
      }
    }
    for (std::size_t i = 0; i < errors.size(); ++i) {
      if (errors[i]) return fail(NcclTrouble::kConnection, NcclPhase::kStart, i, *errors[i]);
    }
  }

  void prepare() {
    progress("loading NCCL");
    std::vector<RankCommand> commands;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto& place = places_[i];
      commands.emplace_back(
          PrepareRank{place.device, place.library, place.environment, i == 0, place.container.has_value()});
    }
    for (auto& answer : ask(commands, NcclPhase::kPrepare, options_.prepare_timeout, "loading NCCL")) {
      auto& rank = std::get<PreparedRank>(answer);
      outcome_.memory.push_back(memory_of_rank(rank, places_[outcome_.prepared.size()].ranks_on_node));
      outcome_.prepared.push_back(std::move(rank));
    }
  }

  void compare_versions() {
    for (std::size_t i = 1; i < outcome_.prepared.size(); ++i) {
      const auto& first = outcome_.prepared[0];
      const auto& other = outcome_.prepared[i];
      if (first.nccl_version == other.nccl_version) continue;
      return fail(
          NcclTrouble::kMixedVersions, NcclPhase::kPrepare, i,
          make_error(ErrorCode::kUnsupported,
                     "NCCL " + nccl_version_text(other.nccl_version) + " (" + other.library + ") on " + name(i) +
                         ", NCCL " + nccl_version_text(first.nccl_version) + " (" + first.library + ") on " + name(0)));
    }
  }

  void join() {
    progress("joining the ranks");
    std::vector<RankCommand> commands;
    const auto ranks = static_cast<int>(places_.size());
    for (int rank = 0; rank < ranks; ++rank) commands.emplace_back(JoinRank{rank, ranks, outcome_.prepared[0].id});
    for (auto& answer : ask(commands, NcclPhase::kJoin, options_.join_timeout, "joining the ranks")) {
      outcome_.transports.push_back(std::move(std::get<JoinedRank>(answer).transport));
    }
  }

  void measure(const NcclRequest& request) {
    const auto ranks = static_cast<int>(places_.size());
    if (!fits_ranks(request.collective, ranks)) return;
    request_end_ = Clock::now() + options_.request_timeout;
    std::int64_t last = 0;
    for (const auto asked : request.sizes) {
      if (failed()) return;
      if (collective_shape(request.collective, asked, ranks).unit == 0) continue;
      const auto bytes = size_that_fits(request.collective, asked, ranks, outcome_.memory[scarcest()]);
      // Short memory may reduce two sizes to the same size.
      if (bytes == 0 || bytes != last || asked == bytes) measure_size(request, asked, bytes);
      last = bytes;
    }
  }

  /// Ends every rank, in good order if there was no failure.
  NcclOutcome finish() {
    if (!failed()) {
      const auto end = Clock::now() + kPatienceAtEnd;
      for (auto& client : clients_) {
        if (client) (void)client->send(EndRank{}, until(end));
      }
      for (auto& client : clients_) {
        while (client && Clock::now() < end && client->receive(kGlance)) {
        }
      }
    }
    end_all();
    return std::move(outcome_);
  }

 private:
  std::string name(std::size_t place) const { return places_[place].name(); }

  Result<NcclRankClient> open(const RankPlace& place) const {
    if (!place.container) return NcclRankClient::open(*place.node, agent_);
    SPARK_TRY(const auto id, new_container_id());
    return NcclRankClient::open_in_container(*place.node, agent_, container_job(*place.container, id),
                                             place.container->image);
  }

  /// A process starter that hears nothing for 20 s ends its container, and another node's may take longer to start.
  void wait_for_others(NcclRankClient& client) const {
    // An end is reported by the next read.
    while (unopened_ > 0 && client.receive(kPauseAtStart)) {
    }
  }

  void progress(std::string_view doing) const {
    if (options_.progress) options_.progress(doing);
  }

  void fail(NcclTrouble trouble, NcclPhase phase, std::size_t place, Error error,
            std::optional<RankFault> fault = std::nullopt, NcclTransport transport = {}) {
    outcome_.failure = NcclFailure{trouble, phase, place, fault, std::move(error), std::move(transport)};
  }

  std::size_t scarcest() const { return place_of_least_memory(outcome_).value_or(0); }

  void measure_size(const NcclRequest& request, std::int64_t asked, std::int64_t bytes) {
    if (bytes == 0) {
      return fail(NcclTrouble::kFault, NcclPhase::kRun, scarcest(),
                  make_error(ErrorCode::kRefused, "too little memory is free for a test of 1 MiB"), RankFault::kMemory);
    }
    RunCollective run{request.collective, bytes, options_.warm_up, options_.iterations, options_.check, ++pattern_};
    // Of a small message, starting it is a part of its time. docs/nccl-test.md explains both clocks.
    run.host_clock = bytes < kProbedSize;
    if (bytes < kMedianBelow) run.batches = kBatches;
    if (bytes >= kProbedSize) shorten(run);
    if (!failed()) run_once(run, asked);
    if (failed() || !request.ends_in_place()) return;
    run.in_place = true;
    run.pattern = ++pattern_;
    run_once(run, asked);
  }

  /// One iteration shows how many iterations there is time for.
  void shorten(RunCollective& run) {
    RunCollective probe{run.collective, run.bytes, 1, 1, false, run.pattern};
    double seconds = 0;
    for (const auto& answer : ask_all(probe)) {
      seconds = std::max(seconds, std::get<CollectiveResult>(answer).seconds);
    }
    const double longest = std::chrono::duration<double>(options_.longest_measurement).count();
    if (failed() || seconds * (run.warm_up + run.iterations) <= longest) return;
    run.warm_up = 0;
    // Clamp as a double before the conversion: a rank may report values that an int cannot hold.
    run.iterations = static_cast<int>(std::clamp(longest / seconds, 1.0, static_cast<double>(run.iterations)));
  }

  void run_once(const RunCollective& run, std::int64_t asked) {
    std::vector<CollectiveResult> results;
    for (auto& answer : ask_all(run)) results.push_back(std::move(std::get<CollectiveResult>(answer)));
    if (failed()) return;
    if (const auto place = place_of_other_size(run, results)) {
      return note(
          {NcclTrouble::kEnded,
           NcclPhase::kRun,
           *place,
           {},
           make_error(ErrorCode::kFailed, "it reports a measurement of " + std::to_string(results[*place].bytes) +
                                              " bytes, which is not the size that it was asked for"),
           {}});
    }
    for (std::size_t i = 0; i < results.size(); ++i) outcome_.transports[i] = std::move(results[i].transport);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < places_.size(); ++i) names.push_back(name(i));
    outcome_.measured.push_back(measurement_of(run, asked, results, names));
  }

  std::vector<RankAnswer> ask_all(const RunCollective& run) {
    const std::string doing =
        std::string(to_string(run.collective)) + " of " + size_text(run.bytes) + (run.in_place ? " in place" : "");
    progress(doing);
    return ask(std::vector<RankCommand>(places_.size(), run), NcclPhase::kRun, options_.run_timeout, doing);
  }

  /// Sends each rank its command and waits for all answers; empty after a failure.
  std::vector<RankAnswer> ask(const std::vector<RankCommand>& commands, NcclPhase phase, milliseconds limit,
                              const std::string& doing) {
    // Many sizes, each answered just before its time limit, would take hours.
    const auto total = phase == NcclPhase::kRun ? request_end_ : Clock::time_point::max();
    const auto left = std::min(options_.deadline.value_or(Clock::time_point::max()), total) - Clock::now();
    limit = std::clamp(std::chrono::duration_cast<milliseconds>(left), milliseconds(0), limit);
    const auto end = Clock::now() + limit;
    for (std::size_t i = 0; i < clients_.size() && !failed() && !options_.stop.stop_requested(); ++i) {
      auto sent = clients_[i]->send(commands[i], std::min(until(end), kPatienceToSend));
      if (sent || options_.stop.stop_requested()) continue;
      // If the rank has ended, its last answer has a better error.
      std::optional<RankAnswer> ignored;
      take(i, phase, ignored, kGlance);
      if (!failed() && until(end) > milliseconds(0))
        note({NcclTrouble::kConnection, phase, i, {}, std::move(sent).error(), {}});
    }
    std::vector<std::optional<RankAnswer>> answers(clients_.size());
    while (!failed()) {
      std::size_t missing = clients_.size();
      for (std::size_t i = 0; i < clients_.size() && !failed() && !options_.stop.stop_requested(); ++i) {
        // A container also ends without signs of life, which are sent when its rank is read.
        std::optional<RankAnswer> ignored;
        if (answers[i]) take(i, phase, ignored, milliseconds(0));
        if (answers[i] || take(i, phase, answers[i], kGlance)) --missing;
      }
      if (missing == 0) break;
      if (options_.stop.stop_requested()) {
        fail(NcclTrouble::kStopped, phase, 0, make_error(ErrorCode::kInterrupted, "stopped"));
      } else if (Clock::now() >= end) {
        std::vector<bool> answered;
        for (const auto& answer : answers) answered.push_back(answer.has_value());
        const auto silent = static_cast<std::size_t>(std::ranges::find(answered, false) - answered.begin());
        const bool is_total = end + milliseconds(1) >= total;  // The limit is in whole milliseconds.
        Error error =
            is_total ? silent_error("the sizes up to " + doing, options_.request_timeout) : silent_error(doing, limit);
        error.message += beside_silent(places_, answered, phase);
        fail(NcclTrouble::kSilent, phase, silent, std::move(error));
      }
    }
    if (failed()) {
      std::vector<bool> heard;
      for (const auto& answer : answers) heard.push_back(answer.has_value());
      hear_the_others(phase, std::move(heard));
      return {};
    }
    std::vector<RankAnswer> all;
    for (auto& answer : answers) all.push_back(std::move(*answer));
    return all;
  }

  /// Checks for the rank's answer to `phase`; records a failure.
  bool take(std::size_t place, NcclPhase phase, std::optional<RankAnswer>& into, milliseconds patience) {
    if (silenced_[place]) return false;
    auto answer = clients_[place]->receive(patience);
    if (!answer) {
      const bool ended = answer.error().code != ErrorCode::kUnreachable;
      note({ended ? NcclTrouble::kEnded : NcclTrouble::kConnection, phase, place, {}, answer.error(), {}});
      return false;
    }
    if (!*answer) return false;
    if (const auto* failed = std::get_if<RankFailure>(&**answer)) {
      note({NcclTrouble::kFault, phase, place, failed->fault, failed->error, failed->transport});
      return false;
    }
    if (!fits_phase(**answer, phase, place == 0)) {
      note({NcclTrouble::kEnded, phase, place, {}, make_error(ErrorCode::kFailed, "it sent an unexpected answer"), {}});
      return false;
    }
    into = std::move(**answer);
    return true;
  }

  void note(NcclFailure failure) {
    silenced_[failure.place] = true;  // Later messages of this rank, such as its end, add no information.
    if (!outcome_.failure || distance_of(failure) < distance_of(*outcome_.failure))
      outcome_.failure = std::move(failure);
  }

  /// `heard`: the ranks that have answered.
  void hear_the_others(NcclPhase phase, std::vector<bool> heard) {
    const auto end = Clock::now() + kSecondOpinion;
    while (distance_of(*outcome_.failure) > 0 && Clock::now() < end) {
      for (std::size_t i = 0; i < clients_.size() && Clock::now() < end + kPatienceAtEnd; ++i) {
        std::optional<RankAnswer> ignored;
        if (take(i, phase, ignored, kGlance)) heard[i] = true;
      }
    }
    // The report may be the work of a rank that says nothing.
    if (distance_of(*outcome_.failure) == 0) return;
    for (std::size_t i = 0; i < heard.size(); ++i) heard[i] = heard[i] || silenced_[i];
    outcome_.failure->error.message += beside_report(places_, heard, phase);
  }

  void end_all() {
    std::vector<char> ended(clients_.size(), 1);
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < clients_.size(); ++i) {
        if (!clients_[i]) continue;
        const auto patience = places_[i].container ? kPatienceWithContainer : kPatienceAtEnd;
        const auto end = [this, i, patience, &ended] { ended[i] = clients_[i]->end(patience) ? 1 : 0; };
        add_thread_or_run(threads, end);
      }
    }
    for (std::size_t i = 0; i < ended.size(); ++i) {
      if (ended[i] == 0) outcome_.left_running.push_back(places_[i].node->name.str());
    }
  }

  const std::vector<RankPlace>& places_;
  const NcclRunOptions& options_;
  AgentOptions agent_;
  std::vector<std::optional<NcclRankClient>> clients_;
  std::vector<bool> silenced_;
  std::atomic<std::size_t> unopened_{0};  ///< Ranks on their way to their start.
  NcclOutcome outcome_;
  std::int64_t pattern_ = 0;
  Clock::time_point request_end_ = Clock::time_point::max();  ///< Of all sizes of the request that is measured.
};

}  // namespace

NcclOutcome run_nccl(const std::vector<RankPlace>& places, const std::vector<NcclRequest>& requests,
                     const NcclRunOptions& options) {
  RankGroup ranks(places, options);
  ranks.start();
  if (!ranks.failed()) ranks.prepare();
  if (!ranks.failed()) ranks.compare_versions();
  if (!ranks.failed()) ranks.join();
  for (const auto& request : requests) {
    if (!ranks.failed()) ranks.measure(request);
  }
  return ranks.finish();
}

std::vector<NcclOutcome> inspect_nccl(const std::vector<RankPlace>& places, const NcclRunOptions& options) {
  std::vector<NcclOutcome> outcomes(places.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto inspect = [&, i] {
      const std::vector<RankPlace> one{places[i]};
      auto quiet = options;
      quiet.progress = nullptr;
      RankGroup ranks(one, quiet);
      ranks.start();
      if (!ranks.failed()) ranks.prepare();
      outcomes[i] = ranks.finish();
    };
    add_thread_or_run(threads, inspect);
  }
  threads.clear();  // Waits: a return may move the outcomes before it destroys the threads.
  return outcomes;
}

std::string RankPlace::name() const {
  return node->name.str() + (ranks_on_node > 1 ? " GPU " + std::to_string(device) : "");
}

}  // namespace sparkplan
