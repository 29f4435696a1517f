#include "engine/job/job_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "engine/job/containers.h"
#include "engine/job/guardian.h"
#include "engine/job/look.h"
#include "engine/job/process_tree.h"
#include "engine/job/shown_record.h"

namespace sparkplan::job {
namespace {

using std::chrono::milliseconds;

/// Frames that wait for the controller. With one more piece per stream, the most memory of this program.
constexpr std::size_t kMostPending = std::size_t{256} << 10;
constexpr milliseconds kLastPatience{1000};
constexpr milliseconds kLongestWait{200};
/// For the processes of containers. Less than the controller waits for the answer to a look.
constexpr milliseconds kEngineAnswers{1500};
/// For the child that asks the engine to end after kEngineAnswers.
constexpr milliseconds kEngineEnds{200};
/// Of the engine's answer: as many bytes as output_of() returns.
constexpr std::size_t kMostLookText = std::size_t{64} << 10;
constexpr int kFailedStatus = 70;

int signal_pipe = -1;       // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): signal handlers need it.
bool asked_to_end = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void on_signal(int number) {
  const int before = errno;
  if (number != SIGCHLD) asked_to_end = true;
  const char wake = '!';
  // A full pipe wakes the loop as well.
  if (::write(signal_pipe, &wake, 1) < 0) errno = before;
  errno = before;
}

/// The end of the pipe that becomes readable when a child ends or this program is asked to end.
int watch_signals() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  signal_pipe = ends[1];
  asked_to_end = false;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaction(number, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return ends[0];
}

void make_non_blocking(int descriptor) { ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK); }

void close_stream(int& stream) {
  if (stream >= 0) ::close(std::exchange(stream, -1));
}

/// As much as the pipe takes at once. A rank that has closed its input gets no more.
void write_input(RankProcess& rank) {
  const auto count = ::write(rank.input, rank.unread.data(), rank.unread.size());
  if (count > 0) rank.unread.erase(0, static_cast<std::size_t>(count));
  if (count >= 0 || errno == EAGAIN || errno == EINTR) return;
  rank.unread.clear();
  close_stream(rank.input);
}

}  // namespace

JobServer::JobServer(int input, int output, JobLimits limits)
    : input_(input), output_(output), limits_(limits), heard_(Clock::now()), spoke_(heard_), started_(heard_) {
  make_non_blocking(input_);
  make_non_blocking(output_);
}

JobServer::~JobServer() {
  close_stream(signals_);
  close_stream(look_);
  for (RankProcess& rank : ranks_) {
    for (int* stream : {&rank.input, &rank.output, &rank.error, &rank.report}) close_stream(*stream);
  }
}

int JobServer::serve(const JobHello& hello) {
  pending_ += kPreamble;
  send(hello);
  signals_ = watch_signals();
  while (!(finished_ && pending_.empty())) {
    wait_for_events();
    std::array<char, 256> wakes{};
    while (::read(signals_, wakes.data(), wakes.size()) > 0) {
    }
    if (asked_to_end && !lost_) lose_controller();
    reap();
    check_clocks();
    if (finish_before_ && Clock::now() >= *finish_before_) break;
    if (!finished_ && !lost_ && failed_) finish();
    if (!finished_ && job_ && all_ended() && (!job_->hold || ending_)) finish();
    if (lost_ && all_ended()) break;
  }
  if (!swept_) kill_all();
  return failed_ ? kFailedStatus : 0;
}

void JobServer::send(const JobAnswer& answer) {
  if (lost_) return;
  if (const auto frame = encode_frame(encode(answer))) pending_ += *frame;
  spoke_ = Clock::now();
}

bool JobServer::has_room() const { return lost_ || pending_.size() < kMostPending; }

bool JobServer::all_ended() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const RankProcess& rank) { return rank.ended; });
}

bool JobServer::output_is_open() const {
  return std::ranges::any_of(ranks_, [](const RankProcess& rank) { return rank.output >= 0 || rank.error >= 0; });
}

void JobServer::wait_for_events() {
  std::vector<pollfd> waiting{{signals_, POLLIN, 0}, {lost_ ? -1 : input_, POLLIN, 0}};
  waiting.push_back({pending_.empty() || lost_ ? -1 : output_, POLLOUT, 0});
  waiting.push_back({look_, POLLIN, 0});
  const std::size_t first = waiting.size();
  for (const RankProcess& rank : ranks_) {
    waiting.push_back({has_room() ? rank.output : -1, POLLIN, 0});
    waiting.push_back({has_room() ? rank.error : -1, POLLIN, 0});
    waiting.push_back({rank.unread.empty() ? -1 : rank.input, POLLOUT, 0});
  }
  // Signals interrupt poll(); one that arrives just before it costs at most this wait.
  if (::poll(waiting.data(), waiting.size(), static_cast<int>(kLongestWait.count())) <= 0) return;
  if (waiting[1].revents != 0) read_commands();
  if (waiting[2].revents != 0) write_pending();
  if (waiting[3].revents != 0) read_look();
  for (std::size_t i = 0; i < ranks_.size() && first + 3 * i + 2 < waiting.size(); ++i) {
    if (waiting[first + 3 * i].revents != 0) read_output(ranks_[i], ranks_[i].output, false);
    if (waiting[first + 3 * i + 1].revents != 0) read_output(ranks_[i], ranks_[i].error, true);
    if (waiting[first + 3 * i + 2].revents != 0) write_input(ranks_[i]);
  }
}

void JobServer::write_pending() {
  const auto count = ::write(output_, pending_.data(), pending_.size());
  if (count > 0) pending_.erase(0, static_cast<std::size_t>(count));
  if (count < 0 && errno != EAGAIN && errno != EINTR) lose_controller();
}

void JobServer::read_commands() {
  std::array<char, 16384> buffer{};
  const auto count = ::read(input_, buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return lose_controller();
  heard_ = Clock::now();
  reader_.feed({buffer.data(), static_cast<std::size_t>(count)});
  while (!failed_) {
    auto message = reader_.next();
    if (!message) return fail(std::move(message).error());
    if (!*message) return;
    auto command = decode<JobCommand>(**message);
    if (!command) return fail(std::move(command).error());
    take(*command);
  }
}

void JobServer::take(const JobCommand& command) {
  if (const auto* started = std::get_if<StartJob>(&command)) {
    if (job_) return fail(make_error(ErrorCode::kInvalidInput, "the job has been started already"));
    return start(*started);
  }
  if (const auto* input = std::get_if<RankInput>(&command)) return take_input(*input);
  if (std::holds_alternative<LookAtJob>(command) && job_) return begin_look();
  if (!std::holds_alternative<StopJob>(command)) return;
  if (!job_) return fail(make_error(ErrorCode::kInvalidInput, "there is no job to stop"));
  begin_end(RankEnding::kStopped, milliseconds(job_->grace_ms));
}

void JobServer::start(StartJob job) {
  job_ = std::move(job);
  name_job_to_guardian(job_->id, job_->containers.engine);
  if (!job_->command.empty()) show_record({job_->id, job_->who, job_->command});
  started_ = Clock::now();
  for (const RankSpec& spec : job_->ranks) {
    std::optional<StartFault> fault;
    ranks_.push_back(start_rank(spec, *job_, fault));
    RankProcess& rank = ranks_.back();
    if (!fault) {
      send(RankStarted{rank.rank, rank.pid});
      continue;
    }
    rank.ended = true;
    send(RankEnded{rank.rank, RankEnding::kNotStarted, {}, {}, fault->errno_value, fault->step, 0});
    if (job_->together) begin_end(RankEnding::kStopped, milliseconds(job_->grace_ms));
  }
}

void JobServer::fail(Error error) {
  failed_ = true;
  send(JobFailure{bounded(std::move(error))});
  kill_all();
}

void JobServer::lose_controller() {
  if (lost_) return;
  lost_ = true;
  pending_.clear();
  const auto grace = job_ ? std::min(limits_.lost_grace, milliseconds(job_->grace_ms)) : milliseconds(0);
  begin_end(RankEnding::kStopped, grace);
}

void JobServer::check_clocks() {
  const auto now = Clock::now();
  if (!lost_ && !finished_ && now - heard_ > limits_.silence) lose_controller();
  if (!lost_ && !finished_ && pending_.empty() && now - spoke_ >= limits_.heartbeat) send(JobAlive{});
  if (!failed_ && now >= look_before_) end_look();
  if (job_ && job_->time_limit_ms > 0 && !ending_ && now - started_ >= milliseconds(job_->time_limit_ms)) {
    begin_end(RankEnding::kTimeLimit, milliseconds(job_->grace_ms));
  }
  if (kill_at_ && now >= *kill_at_ && !all_ended()) kill_late_ranks(now);
}

/// Repeated until none is left: a rank may have started another process meanwhile.
void JobServer::kill_late_ranks(Clock::time_point now) {
  const std::string id = job_ ? job_->id : "";
  const bool contained = job_ && !job_->containers.engine.empty();
  if (!contained && now < *kill_at_ + limits_.sweep) {
    (void)signal_job(id, SIGKILL, 0);
    return;
  }
  // Processes of root, and those in the kernel, survive it.
  kill_all();
}

void JobServer::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    // Others are orphans that this program has adopted.
    const auto rank = std::find_if(ranks_.begin(), ranks_.end(),
                                   [&](const RankProcess& one) { return one.pid == pid && !one.ended; });
    if (rank != ranks_.end()) note_end(*rank, status);
  }
}

void JobServer::note_end(RankProcess& rank, int status) {
  rank.ended = true;
  rank.unread.clear();
  close_stream(rank.input);
  RankEnded ended;
  ended.rank = rank.rank;
  ended.ending = ending_.value_or(RankEnding::kExited);
  if (WIFSIGNALED(status)) {
    ended.signal = WTERMSIG(status);
  } else {
    ended.exit_code = WEXITSTATUS(status);
  }
  ended.duration_ms = std::chrono::duration_cast<milliseconds>(Clock::now() - rank.started).count();
  if (const auto fault = start_fault(rank)) {
    ended.ending = RankEnding::kNotStarted;
    ended.exit_code.reset();
    ended.errno_value = fault->errno_value;
    ended.failed_step = fault->step;
  }
  send(ended);
  const bool succeeded = ended.exit_code == 0;
  if (job_->together && !succeeded) begin_end(RankEnding::kStopped, milliseconds(job_->grace_ms));
}

void JobServer::read_output(RankProcess& rank, int& stream, bool error) {
  // Stack memory for one piece; the piece itself is copied once.
  std::array<char, kJobOutputPiece> buffer{};
  const auto count = ::read(stream, buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return close_stream(stream);
  send(RankOutput{rank.rank, error, std::string(buffer.data(), static_cast<std::size_t>(count))});
}

void JobServer::take_input(const RankInput& input) {
  const auto rank = std::ranges::find_if(ranks_, [&](const RankProcess& one) { return one.rank == input.rank; });
  if (rank == ranks_.end()) return fail(make_error(ErrorCode::kInvalidInput, "there is no such rank to read input"));
  if (rank->input < 0) return;
  if (rank->unread.size() + input.bytes.size() > kMostUnreadInput) {
    return fail(make_error(ErrorCode::kFailed, "the rank does not read its input"));
  }
  rank->unread += input.bytes;
  write_input(*rank);
}

void JobServer::begin_look() {
  end_look();
  look_before_ = Clock::now() + kEngineAnswers + kEngineEnds;
  if (!job_->containers.engine.empty()) look_ = ask_for_processes(job_->containers.engine, job_->id, kEngineAnswers);
  if (look_ < 0) send(look_at_job(job_->id, ranks_, {}));
}

void JobServer::read_look() {
  std::array<char, 4096> buffer{};
  const auto count = ::read(look_, buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0 || look_text_.size() > kMostLookText) return end_look();
  look_text_.append(buffer.data(), static_cast<std::size_t>(count));
}

void JobServer::end_look() {
  if (look_ < 0) return;
  close_stream(look_);
  send(look_at_job(job_->id, ranks_, processes_in(std::exchange(look_text_, ""))));
}

void JobServer::begin_end(RankEnding why, milliseconds grace) {
  const auto kill_at = Clock::now() + grace;
  // A lost controller shortens a grace that has begun already.
  if (!kill_at_ || kill_at < *kill_at_) kill_at_ = kill_at;
  if (ending_) return;
  ending_ = why;
  signal_job(job_ ? job_->id : "", SIGTERM, 0);
}

void JobServer::kill_all() {
  swept_ = true;
  const std::string engine = job_ ? job_->containers.engine : "";
  // First the containers: their engine removes them best while their own processes still live. After the sweep, no
  // client is left that could ask for one more.
  if (!engine.empty()) remove_found_containers(engine, job_->id, limits_.containers);
  reap();  // The clients of the containers, with their exit codes.
  left_ = end_job(job_ ? job_->id : "", 0, limits_.sweep);
  if (!engine.empty()) containers_left_ = remove_containers(engine, job_->id, limits_.containers);
  reap();
  for (RankProcess& rank : ranks_) {
    if (std::exchange(rank.ended, true)) continue;
    RankEnded ended;
    ended.rank = rank.rank;
    ended.ending = ending_.value_or(RankEnding::kStopped);
    ended.duration_ms = std::chrono::duration_cast<milliseconds>(Clock::now() - rank.started).count();
    send(ended);
  }
}

void JobServer::finish() {
  // The output of background processes that a rank has left ends with them.
  if (!swept_) kill_all();
  close_stream(look_);  // No answer may follow the last message.
  for (RankProcess& rank : ranks_) {
    for (const bool error : {false, true}) {
      int& stream = error ? rank.error : rank.output;
      while (stream >= 0 && has_room()) {
        const int before = stream;
        const auto size = pending_.size();
        read_output(rank, stream, error);
        // Only a process that cannot be killed keeps an empty pipe open.
        if (stream == before && pending_.size() == size) close_stream(stream);
      }
    }
  }
  if (output_is_open()) return;  // The controller has to fetch some first.
  JobFinished finished;
  for (const pid_t pid : left_) {
    if (finished.left.size() < 16) finished.left.push_back(pid);
  }
  finished.containers_left = containers_left_;
  if (!failed_) send(finished);
  finished_ = true;
  finish_before_ = Clock::now() + std::max(limits_.silence, kLastPatience);
}

}  // namespace sparkplan::job
