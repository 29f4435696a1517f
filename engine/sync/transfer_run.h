#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <semaphore>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "engine/sync/answer_limits.h"
#include "engine/sync/route.h"
#include "engine/sync/transfer.h"

/// The inside of transfer(). Included only by its two sources.
namespace sparkplan {

/// One path from one member to another, as both ends know it.
struct TransferLink {
  std::size_t from = 0;
  std::size_t to = 0;
  AddressPair addresses;
  std::string tokens;
  std::string keys;
  bool served = false;  ///< The sender listens.
};

/// How often a receiver has lost its connections, or has left a sender that sent wrong bytes or too little.
struct TransferLosses {
  int in_row = 0;  ///< Without many new bytes between two of them.
  int in_all = 0;
};

/// One member of a transfer, under the lock.
struct TransferState {
  std::deque<CopyCommand> to_send;
  std::size_t digest_bytes = 0;  ///< Of Transfer::digests_: passed on to this member.
  TransferOutcome outcome;
  bool begun = false;
  bool complete = false;
  bool gone = false;         ///< Complete, and no longer there for others.
  bool moved = false;        ///< To the end of the chain.
  bool first_tried = false;  ///< Of a source: its first receiver has left its place.
  std::int64_t processors = 0;
  std::optional<std::size_t> sender;
  std::set<std::int64_t> live_links;             ///< From the sender.
  std::map<std::size_t, TransferLosses> losses;  ///< By sender.
  std::set<std::size_t> unfit;                   ///< Senders that it no longer receives from.
  std::optional<Error> last_loss;
  std::int64_t done_bytes = 0;
  std::int64_t read_bytes = 0;
  std::int64_t last_received = 0;
  double rate = 0;
  std::int64_t done_at_link = 0;  ///< `done_bytes` when the last link was made.
  std::int64_t done_at_loss = 0;  ///< `done_bytes` at the last one of `losses`.
  std::int64_t least_behind = 0;  ///< Bytes that it was behind its sender, at least.
  std::int64_t judged_bytes = 0;  ///< `done_bytes` at `judged_at`.
  int late_times = 0;             ///< So often in a row it has received too little to end in time.
  int late_senders = 0;           ///< True if it has left for this reason.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_sign = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_advance = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point linked_at = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point in_pace = std::chrono::steady_clock::now();  ///< Not behind its sender.
  std::chrono::steady_clock::time_point judged_at = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point next_display = std::chrono::steady_clock::now();
  AnswerBudget budget{std::chrono::steady_clock::now()};

  bool left() const { return gone || outcome.error.has_value(); }
};

/// One call of transfer(). Each member has a thread; what they share is under one lock.
class Transfer {
 public:
  Transfer(const Cluster& cluster, const std::vector<TransferMember>& members, std::size_t source,
           const std::vector<CopyEntry>& entries, const TransferOptions& options);

  std::vector<TransferOutcome> run();

 private:
  using Clock = std::chrono::steady_clock;
  using State = TransferState;

  bool failed(std::size_t i) const { return states_[i].outcome.error.has_value(); }
  const std::string& name(std::size_t i) const { return members_[i].end.node->name.str(); }
  /// It has had the whole tree from the beginning.
  bool is_source(std::size_t i) const { return i == source_ || members_[i].holds(); }
  bool is_to_receive(std::size_t i) const { return !is_source(i) && !states_[i].left() && !states_[i].complete; }
  bool over() const;
  /// Nothing more is needed from the source.
  bool can_do_without_source() const;
  /// The thread of one member.
  void attend(std::size_t i);
  /// Tells the member what to expect. The parts are made one by one: for all members together they may be gigabytes.
  bool introduce(std::size_t i);
  /// As send(). A part with the digests of a large file takes several times its size while it is encoded.
  bool send_part(std::size_t i, CopyExpect part, std::size_t bytes);
  bool send(std::size_t i, const CopyCommand& command);
  void take_last_answers(std::size_t i);
  /// Between two answers of one member the others have the lock.
  bool exchange(std::size_t i, const std::deque<CopyCommand>& commands);
  void check_time(std::size_t i);
  /// True if the member has had all of its time.
  bool is_too_late(std::size_t i, std::chrono::steady_clock::time_point now) const;
  /// A sender that gets nothing itself comes first: its receivers can get nothing either.
  void check_advance(std::size_t i, std::chrono::steady_clock::time_point now);
  void take(std::size_t i, const CopyAnswer& answer);
  void refuse(std::size_t i, std::string why) { fail_locked(i, make_error(ErrorCode::kFailed, std::move(why))); }
  void flooded(std::size_t i) { refuse(i, "the node sends messages without end"); }
  void take_begun(std::size_t i, const CopyBegun& begun);
  void take_complete(std::size_t i, const CopyComplete& complete);
  /// Only the source says what is right, and once for each chunk.
  void take_digests(std::size_t i, const CopyDigests& digests);
  /// The next ones that a receiver has not got yet.
  void add_digests(std::size_t i, std::deque<CopyCommand>& commands);
  void take_progress(std::size_t i, const CopyProgress& progress);
  /// An error that the node's own program has reported. A receiver may fail over what the source lists or sends, so the
  /// error names the source.
  Error of_node(std::size_t i, Error error) const;
  bool fail(std::size_t i, Error error);
  /// The node is left out; those behind it receive from another one. One that is complete only serves no more.
  void fail_locked(std::size_t i, Error error);

  // transfer_links.cc: the senders.
  /// Every receiver without a sender gets one, once all have begun or have had their time.
  void link_all();
  Error no_sender(std::size_t to) const;
  /// The wanted one, else the source, else one that has everything, else any.
  std::optional<std::size_t> find_sender(std::size_t to, std::optional<std::size_t> wanted) const;
  bool can_serve(std::size_t from, std::size_t to) const;
  /// Directly or through others.
  bool receives_from(std::size_t i, std::size_t sender) const;
  /// By member.
  std::vector<std::optional<std::size_t>> wanted_senders() const;
  void link(std::size_t from, std::size_t to);
  void fetch(std::int64_t id, const TransferLink& link, int port);
  /// The thread of one connection from the controller to a member. `port` is the local one.
  void relay(std::int64_t id, std::size_t to, int port, const std::stop_token& stop);
  void lose(std::int64_t id, std::size_t to, const Error& error);
  void take_serving(std::size_t i, const CopyServing& serving);
  /// A broken connection may be no one's fault. Wrong bytes are: then no further ones are taken from there.
  void take_lost(std::size_t i, const CopyLinkLost& lost);
  /// The receiver leaves its sender, and gets another one if that is `unfit` or was lost before. It fails after too
  /// many losses.
  void change_sender(std::size_t i, bool unfit, Error why);
  TransferLosses& note_loss(std::size_t i);
  /// From all senders that live. The end of one that has failed is no fault of its receiver.
  TransferLosses losses_of(const State& state) const;
  /// Beside the one that it has.
  bool has_other_sender(std::size_t i);
  /// Bytes per second, for judging the node. The bytes that it receives are its own claim, and count only as far as it
  /// then has more.
  static double pace_of(const State& state, Clock::time_point now);
  /// The node whose bytes, as it claims them, the node should have as well: its sender. A source has all from the
  /// beginning, so there the receiver with the most counts, if there are cables. Nothing without such a node.
  std::optional<std::size_t> pacemaker_of(std::size_t i) const;
  /// A node that falls far behind its sender is slow, and the nodes behind it need not be.
  void check_pace(std::size_t i, Clock::time_point now);
  /// The pace of the source shows only at its receiver. So the first one leaves its place once, slow or not: the order
  /// of a chain does not matter otherwise.
  void try_next_first(std::size_t i, Clock::time_point now);
  /// A sender can send so little that its receiver fails only at the deadline, and claim to have everything. So a
  /// receiver that would be too late gets another sender, if there is one. Those behind a late one wait for that one.
  void check_rest(std::size_t i, Clock::time_point now);
  bool is_late_itself(std::size_t sender, Clock::time_point now);
  /// Without effect if nothing is behind it, or if cables leave no other way.
  void move_to_end(std::size_t i);
  /// A receiver can claim a loss, and keep the connections: the sender ends them.
  void drop_at_sender(std::int64_t id);
  /// Its thread, connection and memory go at once. Without effect on a link between two nodes.
  void end_relay(std::int64_t link);
  void leave_sender(State& state);

  const Cluster& cluster_;
  const std::vector<TransferMember>& members_;
  const std::size_t source_;
  const std::vector<CopyEntry>& entries_;
  const TransferOptions& options_;
  const Clock::time_point created_ = Clock::now();
  std::int64_t total_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  bool late_ = false;       ///< The others no longer wait for members that have not begun.
  bool left_late_ = false;  ///< A receiver has left a sender that is late itself.
  std::vector<State> states_;
  KnownChunks known_;
  /// The digests that the source has sent, in pieces of one length except for the last. They are kept once: copies for
  /// receivers that read slowly would be gigabytes.
  std::deque<std::string> digests_;
  /// Two, so that one member that reads slowly holds up no other one.
  std::counting_semaphore<2> large_parts_{2};
  std::map<std::int64_t, TransferLink> links_;
  std::int64_t next_link_ = 1;
  std::map<std::int64_t, std::jthread> relays_;  ///< By link. Last: the threads use all of the others.
};

}  // namespace sparkplan
