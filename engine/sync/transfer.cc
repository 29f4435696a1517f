#include "engine/sync/transfer.h"

#include <algorithm>
#include <cerrno>
#include <semaphore>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "engine/core/threads.h"
#include "engine/core/units.h"
#include "engine/fleet/session/last_line.h"
#include "engine/sync/transfer_run.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGlance{5};
constexpr milliseconds kAliveInterval{10'000};
constexpr milliseconds kDisplayInterval{500};
constexpr int kMostAnswers = 64;  // Of one member, before its commands are sent.
/// The names and digests in one command. A message has at most 16 MiB.
constexpr std::size_t kMostBytesInFrame = std::size_t{512} << 10;
constexpr std::size_t kMostRecordBytes = 2000 * kCopyRecordBytes;
/// Free space that a sync leaves to others.
constexpr std::int64_t kReserve = std::int64_t{64} << 20;

/// One of the turns of a semaphore.
class Turn {
 public:
  explicit Turn(std::counting_semaphore<2>& turns) : turns_(turns) { turns_.acquire(); }
  ~Turn() { turns_.release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::counting_semaphore<2>& turns_;
};

/// `source`: the node that says how large the files are.
Error too_little_space(const CopyBegun& begun, const std::string& source) {
  Error error = make_error(ErrorCode::kFailed, "too little space: " + format_megabytes(begun.needed_bytes) +
                                                   " are needed as " + source + " lists the files, " +
                                                   format_megabytes(begun.free_bytes) + " are free");
  error.sys_errno = ENOSPC;
  return error;
}

Error too_late() { return make_error(ErrorCode::kUnreachable, "the node takes too long"); }

}  // namespace

Transfer::Transfer(const Cluster& cluster, const std::vector<TransferMember>& members, std::size_t source,
                   const std::vector<CopyEntry>& entries, const TransferOptions& options)
    : cluster_(cluster), members_(members), source_(source), entries_(entries), options_(options), known_(entries) {
  for (const CopyEntry& entry : entries) total_bytes_ += entry.size;
  states_.resize(members.size());
}

std::vector<TransferOutcome> Transfer::run() {
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      auto started = add_thread(
          threads, [this, i] { last_line([&] { attend(i); }, [&](Error error) { fail(i, std::move(error)); }); });
      if (!started) fail(i, std::move(started).error());
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over(); });
    over_ = true;
  }
  {
    std::unique_lock lock(mutex_);
    auto relays = std::exchange(relays_, {});
    lock.unlock();  // Their threads end under the lock.
  }
  std::vector<TransferOutcome> outcomes;
  for (State& state : states_) outcomes.push_back(std::move(state.outcome));
  return outcomes;
}

bool Transfer::over() const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!is_source(i) && !states_[i].complete && !failed(i)) return false;
  }
  return true;
}

bool Transfer::can_do_without_source() const {
  return known_.all() && std::any_of(states_.begin(), states_.end(),
                                     [](const State& state) { return state.complete && !state.left(); });
}

void Transfer::attend(std::size_t i) {
  if (!introduce(i)) return;
  auto next_alive = Clock::now() + kAliveInterval;
  while (true) {
    std::deque<CopyCommand> commands;
    {
      const std::lock_guard lock(mutex_);
      if (over_ || states_[i].left()) return;
      commands.swap(states_[i].to_send);
      add_digests(i, commands);
    }
    if (Clock::now() >= next_alive) {
      commands.emplace_back(CopyAlive{});
      next_alive = Clock::now() + kAliveInterval;
    }
    if (!exchange(i, commands)) return;
  }
}

bool Transfer::introduce(std::size_t i) {
  CopyExpect part;
  std::size_t bytes = 0;
  std::size_t number = 0;
  for (const CopyEntry& entry : entries_) {
    CopyEntry& own = part.entries.emplace_back(entry);
    // A node that serves its own files needs no digests: it has its own.
    if (is_source(i)) own.digests = {};
    if (members_[i].holds()) own.mtime_ns = members_[i].held_times.at(number++);
    bytes += own.digests.size() + own.path.size() + own.target.size();
    if (part.entries.size() < kMostEntriesInFrame && bytes < kMostBytesInFrame) continue;
    if (!send_part(i, std::exchange(part, {}), bytes)) return false;
    bytes = 0;
  }
  if (!part.entries.empty() && !send(i, std::move(part))) return false;
  CopyBegin begin{is_source(i), members_[i].replace};
  if (!begin.source) begin.root = options_.root;
  if (!send(i, begin)) return false;
  const std::lock_guard lock(mutex_);
  states_[i].last_sign = Clock::now();
  return true;
}

bool Transfer::send_part(std::size_t i, CopyExpect part, std::size_t bytes) {
  if (bytes < 2 * kMostBytesInFrame) return send(i, std::move(part));
  const Turn turn(large_parts_);
  return send(i, std::move(part));
}

bool Transfer::send(std::size_t i, const CopyCommand& command) {
  if (options_.stop.stop_requested()) return fail(i, make_error(ErrorCode::kInterrupted, "stopped"));
  auto sent = members_[i].client->send(command);
  if (!sent) {
    take_last_answers(i);
    return fail(i, std::move(sent).error());
  }
  // A node that reads its commands slowly gets no more time than one that answers slowly.
  const std::lock_guard lock(mutex_);
  if (!states_[i].left() && is_too_late(i, Clock::now())) fail_locked(i, too_late());
  return !states_[i].left();
}

/// Of a program that takes no more commands: it says why before it ends.
void Transfer::take_last_answers(std::size_t i) {
  for (int count = 0; count < kMostAnswers; ++count) {
    auto answer = members_[i].client->receive(milliseconds(0));
    if (!answer) {
      fail(i, of_node(i, std::move(answer).error()));
      return;
    }
    if (!*answer) return;
    const std::lock_guard lock(mutex_);
    if (over_ || states_[i].left()) return;
    take(i, **answer);
  }
}

bool Transfer::exchange(std::size_t i, const std::deque<CopyCommand>& commands) {
  for (const CopyCommand& command : commands) {
    if (!send(i, command)) return false;
  }
  for (int count = 0; count < kMostAnswers; ++count) {
    auto answer = members_[i].client->receive(count == 0 ? kGlance : milliseconds(0));
    if (!answer) return fail(i, of_node(i, std::move(answer).error()));
    if (!*answer) break;
    const std::lock_guard lock(mutex_);
    if (over_ || states_[i].left()) return false;
    states_[i].last_sign = Clock::now();
    take(i, **answer);
  }
  if (options_.stop.stop_requested()) return fail(i, make_error(ErrorCode::kInterrupted, "stopped"));
  const std::lock_guard lock(mutex_);
  check_time(i);
  return true;
}

bool Transfer::is_too_late(std::size_t i, Clock::time_point now) const {
  const State& state = states_[i];
  const bool is_bound = !state.begun || (i != source_ && !state.complete);
  return is_bound && now - created_ > (state.begun ? options_.patience.total : options_.patience.begin);
}

void Transfer::check_time(std::size_t i) {
  State& state = states_[i];
  const TransferPatience& patience = options_.patience;
  const auto now = Clock::now();
  if (state.left()) return;
  if (now - state.last_sign > (state.begun ? patience.silence : 4 * patience.silence)) {
    return fail_locked(i, make_error(ErrorCode::kUnreachable, "the node gives no sign of life"));
  }
  if (is_too_late(i, now)) return fail_locked(i, too_late());
  if (!late_ && now - created_ > patience.late_begin) {
    late_ = true;
    link_all();
  }
  const auto receives = [&] { return is_to_receive(i) && state.sender; };
  if (receives()) check_advance(i, now);
  if (receives()) check_pace(i, now);
  if (receives()) check_rest(i, now);
}

void Transfer::check_advance(std::size_t i, Clock::time_point now) {
  const bool has_all = states_[i].done_bytes >= total_bytes_;
  if (now - states_[i].last_advance <= (has_all ? options_.patience.finish : options_.patience.stall)) return;
  if (has_all) return fail_locked(i, make_error(ErrorCode::kUnreachable, "the node does not finish"));
  const std::size_t sender = *states_[i].sender;
  const State& above = states_[sender];
  const bool waits_itself = sender != source_ && !above.complete && above.done_bytes < total_bytes_ &&
                            now - above.last_advance > options_.patience.stall;
  if (waits_itself) return;
  change_sender(i, true, make_error(ErrorCode::kUnreachable, "nothing arrives"));
}

void Transfer::take(std::size_t i, const CopyAnswer& answer) {
  if (const auto* begun = std::get_if<CopyBegun>(&answer)) return take_begun(i, *begun);
  if (const auto* serving = std::get_if<CopyServing>(&answer)) return take_serving(i, *serving);
  if (const auto* digests = std::get_if<CopyDigests>(&answer)) return take_digests(i, *digests);
  if (const auto* complete = std::get_if<CopyComplete>(&answer)) return take_complete(i, *complete);
  if (!states_[i].budget.take(Clock::now())) return flooded(i);
  if (const auto* progress = std::get_if<CopyProgress>(&answer)) return take_progress(i, *progress);
  if (const auto* lost = std::get_if<CopyLinkLost>(&answer)) return take_lost(i, *lost);
  refuse(i, "sparkplan-copy sent an answer to no command");
}

void Transfer::take_begun(std::size_t i, const CopyBegun& begun) {
  if (states_[i].begun) return refuse(i, "the node began twice");
  states_[i].begun = true;
  states_[i].started = Clock::now();
  states_[i].processors = begun.processors;
  if (members_[i].holds()) {
    states_[i].complete = true;
    states_[i].done_bytes = total_bytes_;
    return link_all();
  }
  if (begun.needed_bytes > begun.free_bytes - kReserve && begun.needed_bytes > 0) {
    return fail_locked(i, too_little_space(begun, name(source_)));
  }
  link_all();
}

void Transfer::take_complete(std::size_t i, const CopyComplete& complete) {
  State& state = states_[i];
  if (i == source_ || !state.begun || state.complete) return refuse(i, "the node is complete without having received");
  state.complete = true;
  state.done_bytes = total_bytes_;
  state.outcome.received_bytes = complete.received_bytes;
  state.outcome.seconds = std::chrono::duration<double>(Clock::now() - state.started).count();
  if (options_.progress && total_bytes_ > 0) {
    options_.progress(
        i, {total_bytes_, total_bytes_, complete.received_bytes, state.rate, TransferPhase::kReceiving, true});
  }
  changed_.notify_all();
}

void Transfer::take_digests(std::size_t i, const CopyDigests& digests) {
  if (members_[i].holds()) {
    // Its digests decide nothing. It computes them of a file whose record it has lost.
    if (!states_[i].budget.take(Clock::now())) flooded(i);
    return;
  }
  if (i != source_) return refuse(i, "a receiver sent digests");
  auto fresh = known_.only_new(digests.records);
  if (!fresh) return fail_locked(i, std::move(fresh).error());
  if (fresh->empty()) {
    if (!states_[i].budget.take(Clock::now())) flooded(i);
    return;
  }
  for (std::string_view rest = *fresh; !rest.empty();) {
    if (digests_.empty() || digests_.back().size() == kMostRecordBytes) digests_.emplace_back();
    std::string& last = digests_.back();
    const auto count = std::min(rest.size(), kMostRecordBytes - last.size());
    last += rest.substr(0, count);
    rest.remove_prefix(count);
  }
}

void Transfer::add_digests(std::size_t i, std::deque<CopyCommand>& commands) {
  std::size_t& sent = states_[i].digest_bytes;
  const std::size_t piece = sent / kMostRecordBytes;
  if (!is_to_receive(i) || piece >= digests_.size()) return;
  std::string records = digests_[piece].substr(sent % kMostRecordBytes);
  if (records.empty()) return;
  sent += records.size();
  commands.emplace_back(CopyDigests{std::move(records)});
}

void Transfer::take_progress(std::size_t i, const CopyProgress& progress) {
  State& state = states_[i];
  const auto done = std::min(progress.done_bytes, total_bytes_);
  const auto read = std::min(progress.read_bytes, 2 * total_bytes_);  // Once as it begins, once as it arrives.
  if (done > state.done_bytes || read > state.read_bytes) state.last_advance = Clock::now();
  state.done_bytes = std::max(state.done_bytes, done);
  state.read_bytes = std::max(state.read_bytes, read);
  if (state.complete) return;
  constexpr double kWeight = 0.3;  // Of the last second, so that the rate does not jump.
  const auto now = static_cast<double>(progress.received_bytes - state.last_received);
  state.rate = state.rate == 0 ? now : state.rate + kWeight * (now - state.rate);
  state.last_received = progress.received_bytes;
  state.outcome.received_bytes = progress.received_bytes;
  if (i == source_ || !options_.progress || Clock::now() < state.next_display) return;
  state.next_display = Clock::now() + kDisplayInterval;
  options_.progress(i, {done, total_bytes_, progress.received_bytes, state.rate});
}

Error Transfer::of_node(std::size_t i, Error error) const {
  using enum ErrorCode;
  const bool is_of_connection = error.code == kUnreachable || error.code == kUntrusted || error.code == kInterrupted;
  if (is_source(i) || is_of_connection) return error;
  return std::move(error).within("receive the content of " + name(source_));
}

bool Transfer::fail(std::size_t i, Error error) {
  const std::lock_guard lock(mutex_);
  fail_locked(i, std::move(error));
  return false;
}

void Transfer::fail_locked(std::size_t i, Error error) {
  State& state = states_[i];
  if (state.left()) return;
  state.gone = state.complete;
  if (!state.complete || members_[i].holds()) {
    // Also in the middle: a source may have listed too little, and other programs write.
    state.outcome.too_little_space = error.sys_errno == ENOSPC;
    state.outcome.error = std::move(error);
  }
  for (const std::int64_t link : state.live_links) {
    drop_at_sender(link);
    end_relay(link);
  }
  state.to_send.clear();
  if (i == source_ && !can_do_without_source()) {
    for (std::size_t k = 0; k < states_.size(); ++k) {
      if (!is_to_receive(k)) continue;
      states_[k].outcome.error = make_error(
          ErrorCode::kFailed, "the source " + name(source_) + " failed: " + states_[source_].outcome.error->describe(),
          "run `sparkplan sync` again: it continues where this one ended");
    }
  } else {
    for (State& other : states_) {
      if (other.sender != i || other.left() || other.complete) continue;
      if (!other.last_loss) other.last_loss = make_error(ErrorCode::kUnreachable, name(i) + " failed");
      leave_sender(other);
    }
    link_all();
  }
  changed_.notify_all();
}

TransferPatience patience_for(std::int64_t bytes, std::size_t members, std::int64_t rate, int streams) {
  using std::chrono::seconds;
  constexpr std::int64_t kSlowestDisk = 50'000'000;  // Bytes per second.
  constexpr std::int64_t kSlowestWay = 8'000'000;
  constexpr std::chrono::hours kLongest{24 * 365};  // With a limit of a few bytes per second.
  bytes = std::clamp<std::int64_t>(bytes, 0, kMostCopyChunks * kCopyChunk);
  TransferPatience patience;
  patience.begin += seconds(bytes / kSlowestDisk);
  std::int64_t slowest = kSlowestWay;
  if (rate > 0) {
    slowest = std::clamp<std::int64_t>(rate / 4, 1, kSlowestWay);
    // With a limit, the connections share the rate: a chunk passes a node only after all of them were slow.
    const auto chunks = static_cast<std::int64_t>(members) * streams * 2;
    patience.stall += seconds(chunks * kCopyChunk / rate);
    patience.total += seconds(chunks * kCopyChunk / rate);
  }
  patience.total += patience.begin + seconds(bytes / slowest);
  patience.stall = std::min<std::chrono::milliseconds>(patience.stall, kLongest);
  patience.total = std::min<std::chrono::milliseconds>(patience.total, kLongest);
  return patience;
}

std::vector<TransferOutcome> transfer(const Cluster& cluster, const std::vector<TransferMember>& members,
                                      std::size_t source, const std::vector<CopyEntry>& entries,
                                      const TransferOptions& options) {
  return Transfer(cluster, members, source, entries, options).run();
}

}  // namespace sparkplan
