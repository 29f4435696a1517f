#include "engine/launch/job_run.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "engine/core/threads.h"
#include "engine/fleet/session/last_line.h"
#include "engine/launch/output_queue.h"
#include "engine/plan/reach.h"
#include "engine/remote/programs/job_client.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{50};
/// After the grace or the time limit: for the sweep on the node, and the last messages.
constexpr milliseconds kPatienceAfterGrace{15'000};

/// The state that the threads of the nodes share.
class SharedRun {
 public:
  SharedRun(std::size_t nodes, JobOutput& output) : queue(output), unopened_(nodes) {}

  OutputQueue queue;
  std::atomic<bool> end_all{false};
  std::optional<JobWatch> watch;
  std::atomic<std::size_t> at_work{0};  ///< Nodes with ranks that have not finished. At 0, nodes that hold end.

  /// Waits until every node is connected or has failed. False: one has failed, or the user stopped the run.
  /// `meanwhile` is called again and again.
  bool wait_for_others(bool opened, const std::stop_token& stop, const std::function<void()>& meanwhile) {
    std::unique_lock lock(mutex_);
    all_opened_ = all_opened_ && opened;
    --unopened_;
    changed_.notify_all();
    const auto goes_on = [&] { return all_opened_ && !end_all && !stop.stop_requested(); };
    while (unopened_ > 0 && goes_on()) {
      changed_.wait_for(lock, kPatience);
      lock.unlock();
      meanwhile();
      lock.lock();
    }
    return goes_on();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t unopened_;
  bool all_opened_ = true;
};

/// A message of a busy node can take this long from its first piece to its last.
constexpr std::chrono::seconds kPatienceForPieces{5};

/// The job on one node, in a separate thread.
class NodeRun {
 public:
  NodeRun(std::size_t place, const NodeJob& job, const JobRunOptions& options, SharedRun& shared, JobNodeReport& report)
      : place_(place), job_(job), options_(options), shared_(shared), report_(report) {}

  void run() {
    AgentOptions agent = options_.agent;
    // The others wait for it.
    if (options_.together) agent.greeting_timeout = options_.greeting;
    auto client = JobClient::open(*job_.node, agent);
    if (!client) fail(client.error());
    spoke_ = Clock::now();
    const auto keep = [&] {
      if (auto kept = keep_waiting(*client); !kept) fail(std::move(kept).error());
    };
    if (options_.together && !shared_.wait_for_others(client.has_value(), options_.stop, keep)) return;
    if (!client) return;
    if (auto served = serve(*client); !served) fail(std::move(served).error());
  }

  void fail(Error error) {
    report_.error = std::move(error);
    if (options_.together) shared_.end_all = true;
    if (options_.node_failed) options_.node_failed(place_, *report_.error);
  }

 private:
  /// A process starter that hears nothing for kLongestJobSilence ends, and another node may take longer to connect.
  Result<void> keep_waiting(JobClient& client) {
    SPARK_TRY(auto answer, client.receive(milliseconds(0)));
    if (answer) {
      if (auto* failed = std::get_if<JobFailure>(&*answer)) return failure(bounded(std::move(failed->error)));
      if (!std::holds_alternative<JobAlive>(*answer)) {
        return failure(ErrorCode::kFailed, "the node reports on a job that was not started");
      }
    }
    const auto now = Clock::now();
    if (now - spoke_ < milliseconds(kJobHeartbeat)) return {};
    spoke_ = now;
    return client.send(KeepJob{});
  }

  Result<void> serve(JobClient& client) {
    for (const RankSpec& rank : job_.start.ranks) {
      report_.ranks.push_back({rank.rank, 0, {}, {}, false, rank.argv.empty() ? std::string() : rank.argv.front()});
    }
    if (auto sent = client.send(job_.start); !sent) unsent_ = std::move(sent).error();
    spoke_ = heard_ = Clock::now();
    if (job_.start.time_limit_ms > 0) {
      // The node enforces the limit. This bound holds if it does not.
      deadline_ = heard_ + milliseconds(job_.start.time_limit_ms + job_.start.grace_ms) + kPatienceAfterGrace;
    }
    if (shared_.watch) shared_.watch->note_start();
    while (true) {
      // A program that has finished cannot be written to, and its last messages still wait to be read.
      if (!unsent_) {
        if (auto spoken = speak(client); !spoken) unsent_ = std::move(spoken).error();
      }
      // Nor can a node that takes no bytes be told to stop. It must not talk for ever.
      if (unsent_ && !unsent_until_) unsent_until_ = Clock::now() + options_.silence;
      // Without room, the node is not heard: its silence then proves nothing.
      if (!shared_.queue.wait_for_room(kPatience)) {
        heard_ = Clock::now();
        if (unsent_until_) unsent_until_ = heard_ + options_.silence;
        continue;
      }
      auto received = client.receive(kPatience);
      const auto now = Clock::now();
      if (unsent_ && (!received || !may_say_more(*received, now))) return failure(*unsent_);
      SPARK_TRY(auto answer, std::move(received));
      if (answer) heard_ = now;
      SPARK_CHECK(check_patience(now));
      if (!answer) continue;
      SPARK_TRY(const bool finished, take(*std::move(answer)));
      if (finished) return {};
    }
  }

  /// Sends what is due: a stop, or a sign of life.
  Result<void> speak(JobClient& client) {
    const auto now = Clock::now();
    const bool released = job_.start.hold && shared_.at_work == 0;
    const bool stop =
        options_.stop.stop_requested() || shared_.end_all || released || shared_.queue.error().has_value();
    if (stop && !give_up_at_) {
      give_up_at_ = now + milliseconds(job_.start.grace_ms) + kPatienceAfterGrace;
      spoke_ = now;
      return client.send(StopJob{});
    }
    if (const int looks = shared_.watch ? shared_.watch->looks() : 0; looks != looks_) {
      looks_ = looks;
      spoke_ = now;
      return client.send(LookAtJob{});
    }
    if (now - spoke_ < milliseconds(kJobHeartbeat)) return {};
    spoke_ = now;
    return client.send(KeepJob{});
  }

  /// True while messages of a node that takes none may still be on their way: one, or a piece of one, has come just
  /// now.
  bool may_say_more(const std::optional<JobAnswer>& answer, Clock::time_point now) const {
    if (now >= *unsent_until_) return false;
    const auto quiet_since = std::max(heard_, *unsent_until_ - options_.silence);
    return answer || now - quiet_since < std::min<Clock::duration>(kPatienceForPieces, options_.silence);
  }

  Result<void> check_patience(Clock::time_point now) const {
    if (now - heard_ > options_.silence) {
      return failure(ErrorCode::kUnreachable,
                     "the node has sent nothing for " + std::to_string(options_.silence.count() / 1000) + " s",
                     "its processes end by themselves within 25 s, unless the node is down");
    }
    if (give_up_at_ && now > *give_up_at_) {
      return failure(ErrorCode::kUnreachable, "the command could not be stopped in time");
    }
    if (deadline_ && now > *deadline_) {
      return failure(ErrorCode::kUnreachable, "the node did not end the command at its time limit");
    }
    return {};
  }

  /// True at the last message. Errors: kFailed.
  Result<bool> take(JobAnswer answer) {
    if (const auto* started = std::get_if<RankStarted>(&answer)) {
      SPARK_TRY(auto* rank, rank_of(started->rank));
      rank->pid = started->pid;
    } else if (auto* output = std::get_if<RankOutput>(&answer)) {
      SPARK_TRY([[maybe_unused]] const auto* rank, rank_of(output->rank));
      if (!output->bytes.empty()) {
        if (shared_.watch) shared_.watch->note_output(place_);
        shared_.queue.put({place_, output->rank, output->error}, std::move(output->bytes));
      }
    } else if (const auto* ended = std::get_if<RankEnded>(&answer)) {
      SPARK_TRY(auto* rank, rank_of(ended->rank));
      // A success in the place of the failure that has ended the job would hide which node failed.
      if (rank->ended) return failure(ErrorCode::kFailed, "the node reports the end of a rank twice");
      SPARK_CHECK(check_stop(*ended));
      rank->ended = *ended;
      if (options_.together && !rank->succeeded()) shared_.end_all = true;
      if (options_.rank_ended) options_.rank_ended(place_, *ended);
    } else if (auto* seen = std::get_if<JobSeen>(&answer)) {
      SPARK_CHECK(check_seen(*seen));
      if (shared_.watch) shared_.watch->put(place_, std::move(*seen));
    } else if (const auto* finished = std::get_if<JobFinished>(&answer)) {
      report_.left = finished->left;
      report_.containers_left = finished->containers_left;
      const bool complete = std::all_of(report_.ranks.begin(), report_.ranks.end(),
                                        [](const RankReport& rank) { return rank.ended.has_value(); });
      if (!complete) return failure(ErrorCode::kFailed, "the process starter reported no end of a rank");
      return true;
    } else if (auto* failed = std::get_if<JobFailure>(&answer)) {
      return failure(bounded(std::move(failed->error)));
    }
    return false;
  }

  /// A stopped rank is a consequence, which names no node: of a stop that was sent, or of another rank's failure here.
  Result<void> check_stop(const RankEnded& ended) const {
    if (ended.ending != RankEnding::kStopped || give_up_at_) return {};
    const bool has_reason = std::ranges::any_of(report_.ranks, [](const RankReport& rank) {
      return rank.ended && !rank.succeeded() && rank.ended->ending != RankEnding::kStopped;
    });
    if (has_reason) return {};
    return failure(ErrorCode::kFailed, "the node reports a stop that nobody has asked for");
  }

  /// A node can report only its own ranks, and each once.
  Result<void> check_seen(const JobSeen& seen) {
    std::set<int> reported;
    for (const SeenRank& one : seen.ranks) {
      if (one.rank >= 0) SPARK_CHECK(rank_of(one.rank));
      if (!reported.insert(one.rank).second) return failure(ErrorCode::kFailed, "the node reports a rank twice");
    }
    return {};
  }

  Result<RankReport*> rank_of(int number) {
    const auto found = std::ranges::find_if(report_.ranks, [&](const RankReport& rank) { return rank.rank == number; });
    if (found == report_.ranks.end()) {
      return failure(ErrorCode::kFailed, "the node reports rank " + std::to_string(number) + ", which it has not");
    }
    return &*found;
  }

  std::size_t place_;
  const NodeJob& job_;
  const JobRunOptions& options_;
  SharedRun& shared_;
  JobNodeReport& report_;
  Clock::time_point spoke_;
  Clock::time_point heard_;
  std::optional<Clock::time_point> give_up_at_;  ///< Set when the stop was sent.
  std::optional<Clock::time_point> deadline_;
  std::optional<Error> unsent_;                    ///< Why no more can be written.
  std::optional<Clock::time_point> unsent_until_;  ///< So long the last messages may take to arrive.
  int looks_ = 0;                                  ///< The number of looks that the node was asked for.
};

}  // namespace

JobReport run_job(const std::vector<NodeJob>& jobs, JobOutput& output, const JobRunOptions& options) {
  const auto begun = Clock::now();
  JobReport report;
  report.command = options.command;
  report.nodes.resize(jobs.size());
  SharedRun shared(jobs.size(), output);
  const auto starts_ranks = [](const NodeJob& job) { return !job.start.hold; };
  shared.at_work = static_cast<std::size_t>(std::count_if(jobs.begin(), jobs.end(), starts_ranks));
  if (options.watch.count() > 0) {
    std::vector<bool> has_ranks;
    std::transform(jobs.begin(), jobs.end(), std::back_inserter(has_ranks), starts_ranks);
    shared.watch.emplace(has_ranks, options.watch, options.watch_report);
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      report.nodes[i].name = jobs[i].node->name.str();
      report.nodes[i].address = shown_address(*jobs[i].node);
      auto started = add_thread(threads, [&, i] {
        NodeRun node(i, jobs[i], options, shared, report.nodes[i]);
        last_line([&] { node.run(); }, [&](Error error) { node.fail(std::move(error)); });
        if (shared.watch) shared.watch->note_end(i);
        if (starts_ranks(jobs[i])) --shared.at_work;
      });
      if (started) continue;
      // The others must not wait for this node.
      NodeRun(i, jobs[i], options, shared, report.nodes[i]).fail(std::move(started).error());
      if (options.together) (void)shared.wait_for_others(false, options.stop, [] {});
      if (starts_ranks(jobs[i])) --shared.at_work;
    }
  }
  shared.watch.reset();
  shared.queue.finish();
  report.output_error = shared.queue.error();
  report.interrupted = options.stop.stop_requested();
  report.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return report;
}

}  // namespace sparkplan
