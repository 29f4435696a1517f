#include "engine/sync/transfer.h"

#include <sys/random.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "engine/sync/route.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kGlance{5};
constexpr milliseconds kAliveInterval{10'000};
constexpr int kMostNewLinks = 5;  // Per member: then its connections break for a reason that stays.
/// Free space that a sync leaves to others.
constexpr std::int64_t kReserve = std::int64_t{64} << 20;

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const auto count = ::getrandom(bytes.data() + done, size - done, 0);
    if (count < 0) return {};
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

Error too_little_space(const CopyBegun& begun) {
  const auto gigabytes = [](std::int64_t bytes) { return std::to_string(bytes / 1'000'000) + " MB"; };
  return make_error(ErrorCode::kFailed, "too little space: " + gigabytes(begun.needed_bytes) + " are needed, " +
                                            gigabytes(begun.free_bytes) + " are free");
}

/// One path from one member to another, as both ends know it.
struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  AddressPair addresses;
  std::string tokens;
  std::string keys;
};

class Transfer {
 public:
  Transfer(const Cluster& cluster, const std::vector<TransferMember>& members, std::size_t source,
           const std::vector<CopyEntry>& entries, const TransferOptions& options)
      : cluster_(cluster), members_(members), source_(source), entries_(entries), options_(options) {
    for (const CopyEntry& entry : entries) total_bytes_ += entry.size;
    states_.resize(members.size());
  }

  std::vector<TransferOutcome> run() {
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < members_.size(); ++i) threads.emplace_back([this, i] { attend(i); });
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return over(); });
      over_ = true;
    }
    std::vector<TransferOutcome> outcomes;
    for (State& state : states_) outcomes.push_back(std::move(state.outcome));
    return outcomes;
  }

 private:
  struct State {
    std::deque<CopyCommand> to_send;
    TransferOutcome outcome;
    bool begun = false;
    bool complete = false;
    std::optional<std::size_t> sender;
    int links_made = 0;
    std::size_t live_links = 0;
    Clock::time_point started = Clock::now();
    Clock::time_point last_sign = Clock::now();
    std::int64_t last_received = 0;
    double rate = 0;
  };

  bool failed(std::size_t i) const { return states_[i].outcome.error.has_value(); }

  bool over() const {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (i != source_ && !states_[i].complete && !failed(i)) return false;
    }
    return true;
  }

  /// The thread of one member.
  void attend(std::size_t i) {
    {
      const std::lock_guard lock(mutex_);
      put_entries(states_[i], i);
      states_[i].last_sign = Clock::now();
    }
    auto next_alive = Clock::now() + kAliveInterval;
    while (true) {
      std::deque<CopyCommand> commands;
      {
        const std::lock_guard lock(mutex_);
        if (over_ || failed(i)) return;
        commands.swap(states_[i].to_send);
      }
      if (Clock::now() >= next_alive) {
        commands.emplace_back(CopyAlive{});
        next_alive = Clock::now() + kAliveInterval;
      }
      if (!exchange(i, commands)) return;
    }
  }

  bool exchange(std::size_t i, const std::deque<CopyCommand>& commands) {
    for (const CopyCommand& command : commands) {
      if (auto sent = members_[i].client->send(command); !sent) return fail(i, std::move(sent).error());
    }
    auto answer = members_[i].client->receive(kGlance);
    if (!answer) return fail(i, std::move(answer).error());
    if (options_.stop.stop_requested()) return fail(i, make_error(ErrorCode::kInterrupted, "stopped"));
    const std::lock_guard lock(mutex_);
    if (*answer) {
      states_[i].last_sign = Clock::now();
      take(i, **answer);
      // Others may be waiting behind it.
      while (!failed(i) && !over_) {
        auto more = members_[i].client->receive(milliseconds(0));
        if (!more) {
          fail_locked(i, std::move(more).error());
          break;
        }
        if (!*more) break;
        take(i, **more);
      }
    } else if (states_[i].begun && Clock::now() - states_[i].last_sign > options_.longest_silence) {
      fail_locked(
          i, make_error(ErrorCode::kUnreachable, "the node gave no sign of life for " +
                                                     std::to_string(options_.longest_silence.count() / 1000) + " s"));
    }
    return true;
  }

  void put_entries(State& state, std::size_t i) {
    CopyExpect part;
    std::size_t bytes = 0;
    for (const CopyEntry& entry : entries_) {
      constexpr std::size_t kMostDigestBytes = std::size_t{2} << 20;
      part.entries.push_back(entry);
      bytes += entry.digests.size();
      if (part.entries.size() < kMostEntriesInFrame && bytes < kMostDigestBytes) continue;
      state.to_send.emplace_back(std::exchange(part, {}));
      bytes = 0;
    }
    if (!part.entries.empty()) state.to_send.emplace_back(std::move(part));
    state.to_send.emplace_back(CopyBegin{i == source_, members_[i].replace});
  }

  void take(std::size_t i, const CopyAnswer& answer) {
    if (const auto* begun = std::get_if<CopyBegun>(&answer)) return take_begun(i, *begun);
    if (const auto* serving = std::get_if<CopyServing>(&answer)) return take_serving(i, *serving);
    if (const auto* progress = std::get_if<CopyProgress>(&answer)) return take_progress(i, *progress);
    if (const auto* lost = std::get_if<CopyLinkLost>(&answer)) return take_lost(i, *lost);
    if (const auto* digests = std::get_if<CopyDigests>(&answer)) {
      // Only the source says what is right.
      if (i != source_) return fail_locked(i, make_error(ErrorCode::kFailed, "a receiver sent digests"));
      for (std::size_t k = 0; k < states_.size(); ++k) {
        if (k != source_ && !failed(k)) states_[k].to_send.emplace_back(*digests);
      }
    } else if (const auto* complete = std::get_if<CopyComplete>(&answer)) {
      states_[i].complete = true;
      states_[i].outcome.received_bytes = complete->received_bytes;
      states_[i].outcome.seconds = std::chrono::duration<double>(Clock::now() - states_[i].started).count();
      changed_.notify_all();
    } else {
      fail_locked(i, make_error(ErrorCode::kFailed, "sparkplan-copy sent an answer to no command"));
    }
  }

  void take_begun(std::size_t i, const CopyBegun& begun) {
    states_[i].begun = true;
    states_[i].started = Clock::now();
    if (begun.needed_bytes > begun.free_bytes - kReserve && begun.needed_bytes > 0) {
      states_[i].outcome.too_little_space = true;
      return fail_locked(i, too_little_space(begun));
    }
    link_all();
  }

  void take_progress(std::size_t i, const CopyProgress& progress) {
    State& state = states_[i];
    constexpr double kWeight = 0.3;  // Of the last second, so that the rate does not jump.
    const auto now = static_cast<double>(progress.received_bytes - state.last_received);
    state.rate = state.rate == 0 ? now : state.rate + kWeight * (now - state.rate);
    state.last_received = progress.received_bytes;
    state.outcome.received_bytes = progress.received_bytes;
    if (i == source_ || !options_.progress) return;
    options_.progress(i, {progress.done_bytes, total_bytes_, progress.received_bytes, state.rate});
  }

  /// Every receiver without a sender gets one, once both have begun.
  void link_all() {
    if (!states_[source_].begun || failed(source_)) return;
    std::vector<std::size_t> alive;
    std::vector<const NodeSpec*> nodes;
    std::size_t source_place = 0;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (failed(i)) continue;
      if (!states_[i].begun) return;  // It comes with its own CopyBegun, or fails.
      if (i == source_) source_place = alive.size();
      alive.push_back(i);
      nodes.push_back(members_[i].node);
    }
    const auto wanted = senders(cluster_, nodes, source_place);
    for (std::size_t place = 0; place < alive.size(); ++place) {
      State& state = states_[alive[place]];
      if (alive[place] == source_ || state.complete) continue;
      if (state.sender && !failed(*state.sender)) continue;
      if (!wanted[place]) {
        fail_locked(alive[place], make_error(ErrorCode::kUnreachable,
                                             "the fabric does not join it with a node that has the content"));
      } else {
        link(alive[*wanted[place]], alive[place]);
      }
    }
  }

  void link(std::size_t from, std::size_t to) {
    State& state = states_[to];
    state.sender = from;
    if (++state.links_made > kMostNewLinks) {
      return fail_locked(to,
                         make_error(ErrorCode::kUnreachable, "its connections to other nodes break again and again"));
    }
    const auto paths = fabric_paths(cluster_, *members_[from].node, *members_[to].node);
    state.live_links = paths.size();
    const auto streams = std::max<std::size_t>(static_cast<std::size_t>(options_.streams) / paths.size(), 1);
    for (const AddressPair& addresses : paths) {
      const auto size = kCopyTokenBytes * std::min(streams, kMostCopyStreams);
      Link made{from, to, addresses, random_bytes(size), options_.encrypt ? random_bytes(size) : ""};
      if (made.tokens.empty()) return fail_locked(to, make_error(ErrorCode::kFailed, "no random numbers"));
      states_[from].to_send.emplace_back(CopyServe{next_link_, addresses.from, addresses.to, made.tokens, made.keys});
      links_.emplace(next_link_++, std::move(made));
    }
  }

  void take_serving(std::size_t i, const CopyServing& serving) {
    const auto found = links_.find(serving.link);
    if (found == links_.end() || found->second.from != i) {
      return fail_locked(i, make_error(ErrorCode::kFailed, "sparkplan-copy serves a link that is not its own"));
    }
    const Link& link = found->second;
    if (failed(link.to) || states_[link.to].sender != i) return;
    states_[link.to].to_send.emplace_back(
        CopyFetch{serving.link, link.addresses.from, serving.port, link.addresses.to, link.tokens, link.keys});
  }

  void take_lost(std::size_t i, const CopyLinkLost& lost) {
    const auto found = links_.find(lost.link);
    if (found == links_.end() || found->second.to != i) {
      return fail_locked(i, make_error(ErrorCode::kFailed, "sparkplan-copy lost a link that is not its own"));
    }
    const bool current = states_[i].sender == found->second.from;
    last_loss_[i] = lost.error;
    links_.erase(found);
    if (!current || states_[i].complete) return;
    if (states_[i].live_links > 0 && --states_[i].live_links > 0) return;
    states_[i].sender.reset();
    if (states_[i].links_made < kMostNewLinks) return link_all();
    fail_locked(i, bounded(last_loss_[i]));
  }

  bool fail(std::size_t i, Error error) {
    const std::lock_guard lock(mutex_);
    fail_locked(i, std::move(error));
    return false;
  }

  /// The node is left out; those behind it receive from another one.
  void fail_locked(std::size_t i, Error error) {
    State& state = states_[i];
    if (failed(i) || state.complete) return;
    state.outcome.error = std::move(error);
    if (i == source_) {
      for (std::size_t k = 0; k < states_.size(); ++k) {
        if (k == source_ || states_[k].complete || failed(k)) continue;
        states_[k].outcome.error = make_error(ErrorCode::kFailed,
                                              "the source " + members_[source_].node->name.str() +
                                                  " failed: " + states_[source_].outcome.error->describe(),
                                              "run `sparkplan sync` again: it continues where this one ended");
      }
    } else {
      for (State& other : states_) {
        if (other.sender == i) other.sender.reset();
      }
      link_all();
    }
    changed_.notify_all();
  }

  const Cluster& cluster_;
  const std::vector<TransferMember>& members_;
  const std::size_t source_;
  const std::vector<CopyEntry>& entries_;
  const TransferOptions& options_;
  std::int64_t total_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::vector<State> states_;
  std::map<std::int64_t, Link> links_;
  std::map<std::size_t, Error> last_loss_;
  std::int64_t next_link_ = 1;
};

}  // namespace

std::vector<TransferOutcome> transfer(const Cluster& cluster, const std::vector<TransferMember>& members,
                                      std::size_t source, const std::vector<CopyEntry>& entries,
                                      const TransferOptions& options) {
  return Transfer(cluster, members, source, entries, options).run();
}

}  // namespace sparkplan
