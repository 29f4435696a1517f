#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/fleet/session/last_line.h"
#include "engine/sync/transfer_run.h"

/// The senders of the members of a transfer.
namespace sparkplan {
namespace {

/// Losses of a receiver in a row: then its connections break for a reason that stays.
constexpr int kMostLossesInRow = 4;
constexpr int kMostLossesInRowOfSender = 1;
/// A loss begins a new row if the receiver has so many bytes more than at the last one.
constexpr std::int64_t kBytesBetweenRows = std::int64_t{32} << 20;
/// The bytes that a receiver has are its own claim, and each new link takes a place on its sender. A sender can end
/// its connections after each chunk. So losses are bounded also with bytes between them.
constexpr int kMostLosses = 24;
constexpr int kMostLossesOfSender = 4;  // If there is another sender.

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const auto count = ::getrandom(bytes.data() + done, size - done, 0);
    if (count < 0) return {};
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

}  // namespace

std::vector<std::optional<std::size_t>> Transfer::wanted_senders() const {
  std::vector<std::optional<std::size_t>> wanted(states_.size());
  std::vector<std::size_t> members;
  std::vector<std::optional<std::size_t>> place_of(states_.size());
  std::vector<RoutePlace> places;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].left() || !states_[i].begun) continue;
    place_of[i] = members.size();
    members.push_back(i);
    const RouteEnd& end = members_[i].end;
    places.push_back({end.is_controller ? nullptr : end.node, is_source(i) || states_[i].complete, states_[i].moved});
  }
  for (std::size_t place = 0; place < places.size(); ++place) {
    const auto sender = states_[members[place]].sender;
    if (sender) places[place].sender = place_of[*sender];
  }
  const auto found = senders(cluster_, places);
  for (std::size_t place = 0; place < places.size(); ++place) {
    if (found[place]) wanted[members[place]] = members[*found[place]];
  }
  return wanted;
}

void Transfer::link_all() {
  if (failed(source_) ? !can_do_without_source() : !states_[source_].begun) return;
  bool all_begun = true;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].left()) continue;
    all_begun = all_begun && states_[i].begun;
  }
  if (!all_begun && !late_) return;  // It comes with its own CopyBegun, or fails.
  const auto wanted = wanted_senders();
  for (std::size_t to = 0; to < states_.size(); ++to) {
    const State& state = states_[to];
    if (!is_to_receive(to) || !state.begun || state.sender) continue;
    if (const auto from = find_sender(to, wanted[to])) {
      link(*from, to);
    } else if (all_begun) {
      fail_locked(to, no_sender(to));
    }
  }
}

Error Transfer::no_sender(std::size_t to) const {
  if (states_[to].last_loss) return *states_[to].last_loss;
  return make_error(ErrorCode::kUnreachable,
                    "neither the fabric nor a known address on the management network joins it with a node that has "
                    "the content",
                    "write the nodes' IP addresses into the file");
}

std::optional<std::size_t> Transfer::find_sender(std::size_t to, std::optional<std::size_t> wanted) const {
  if (wanted && can_serve(*wanted, to)) return wanted;
  if (can_serve(source_, to)) return source_;
  for (const bool complete : {true, false}) {
    for (std::size_t from = 0; from < states_.size(); ++from) {
      if (states_[from].complete == complete && can_serve(from, to)) return from;
    }
  }
  return std::nullopt;
}

bool Transfer::can_serve(std::size_t from, std::size_t to) const {
  const State& state = states_[from];
  if (from == to || state.left() || !state.begun || states_[to].unfit.contains(from)) return false;
  if (!state.complete && receives_from(from, to)) return false;
  return !route_between(cluster_, members_[from].end, members_[to].end).paths.empty();
}

bool Transfer::receives_from(std::size_t i, std::size_t sender) const {
  for (auto at = states_[i].sender; at; at = states_[*at].sender) {
    if (*at == sender) return true;
    if (states_[*at].complete) return false;
  }
  return false;
}

void Transfer::link(std::size_t from, std::size_t to) {
  State& state = states_[to];
  state.sender = from;
  state.linked_at = Clock::now();
  state.done_at_link = state.done_bytes;
  const auto route = route_between(cluster_, members_[from].end, members_[to].end);
  state.outcome.network = route.network;
  const bool encrypt = route.network == Network::kManagement || (options_.encrypt && route.network != Network::kSsh);
  const auto wanted = options_.streams > 0 ? static_cast<std::size_t>(options_.streams)
                                           : copy_streams_for(std::min(states_[from].processors, state.processors));
  auto streams = std::max<std::size_t>(wanted / route.paths.size(), 1);
  if (route.network == Network::kSsh) streams = 1;
  for (const AddressPair& addresses : route.paths) {
    const auto size = kCopyTokenBytes * std::min(streams, kMostCopyStreams);
    TransferLink made{from, to, addresses, random_bytes(size), encrypt ? random_bytes(size) : "", false};
    if (made.tokens.empty() || (encrypt && made.keys.empty())) return refuse(to, "no random numbers");
    states_[from].to_send.emplace_back(CopyServe{next_link_, addresses.from, addresses.to, made.tokens, made.keys});
    state.live_links.insert(next_link_);
    links_.emplace(next_link_++, std::move(made));
  }
  // The members behind this one get nothing until it does. With one loss after the other it must not hold them.
  const bool gives_time = losses_of(state).in_all <= kMostLossesInRow;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (i != to && !(gives_time && receives_from(i, to))) continue;
    State& waiting = states_[i];
    waiting.last_advance = waiting.in_pace = waiting.judged_at = Clock::now();
    waiting.judged_bytes = waiting.done_bytes;
    waiting.late_times = 0;
  }
}

void Transfer::take_serving(std::size_t i, const CopyServing& serving) {
  const auto found = links_.find(serving.link);
  if (found == links_.end() || found->second.from != i || found->second.served) {
    return refuse(i, "sparkplan-copy serves a link that is not its own, or again");
  }
  TransferLink& link = found->second;
  link.served = true;
  State& receiver = states_[link.to];
  if (receiver.left() || !receiver.live_links.contains(serving.link)) return;
  if (members_[i].end.is_controller) {
    relays_.emplace(serving.link,
                    [this, id = serving.link, to = link.to, port = serving.port](const std::stop_token& stop) {
                      last_line([&] { relay(id, to, port, stop); }, [&](Error error) { fail(to, std::move(error)); });
                    });
  } else {
    fetch(serving.link, link, serving.port);
  }
}

void Transfer::fetch(std::int64_t id, const TransferLink& link, int port) {
  states_[link.to].to_send.emplace_back(
      CopyFetch{id, link.addresses.from, port, link.addresses.to, link.tokens, link.keys});
}

void Transfer::relay(std::int64_t id, std::size_t to, int port, const std::stop_token& stop) {
  const auto is_wanted = [&] { return !over_ && !states_[to].left() && states_[to].live_links.contains(id); };
  std::string token;
  {
    const std::lock_guard lock(mutex_);
    if (!is_wanted()) return;
    token = links_.at(id).tokens;
  }
  auto relay = options_.relay(to, token, stop);
  {
    const std::lock_guard lock(mutex_);
    if (!is_wanted()) return;
    if (!relay) return lose(id, to, relay.error());
    fetch(id, links_.at(id), relay->port());
  }
  relay->carry(port);
}

void Transfer::take_lost(std::size_t i, const CopyLinkLost& lost) {
  const auto found = links_.find(lost.link);
  if (found == links_.end() || found->second.to != i) {
    return refuse(i, "sparkplan-copy lost a link that is not its own");
  }
  lose(lost.link, i, lost.error);
}

void Transfer::lose(std::int64_t id, std::size_t to, const Error& error) {
  State& state = states_[to];
  end_relay(id);
  if (state.live_links.erase(id) == 0) return;
  drop_at_sender(id);
  if (state.complete || !state.sender) return;
  const bool forged = error.code == ErrorCode::kVerifyFailed;
  if (forged || state.live_links.empty()) change_sender(to, forged, error);
}

void Transfer::change_sender(std::size_t i, bool unfit, Error why) {
  State& state = states_[i];
  const std::size_t sender = *state.sender;
  const TransferLosses& of_sender = note_loss(i);
  const bool is_lost_often =
      of_sender.in_row > kMostLossesInRowOfSender || (of_sender.in_all > kMostLossesOfSender && has_other_sender(i));
  if (unfit || is_lost_often) state.unfit.insert(sender);
  // The sender may be right: the digests are not its own.
  const bool is_by_others = why.code == ErrorCode::kVerifyFailed && sender != source_;
  const std::string whose = is_by_others ? ", with the digests of the source " + name(source_) : "";
  state.last_loss = bounded(std::move(why)).within("receive from " + name(sender) + whose);
  leave_sender(state);
  const TransferLosses all = losses_of(state);
  if (all.in_row <= kMostLossesInRow && all.in_all <= kMostLosses) return link_all();
  fail_locked(i, Error(*state.last_loss).within("its connections to other nodes break again and again"));
}

TransferLosses& Transfer::note_loss(std::size_t i) {
  State& state = states_[i];
  if (state.done_bytes - state.done_at_loss >= kBytesBetweenRows) {
    for (auto& [sender, losses] : state.losses) losses.in_row = 0;
  }
  state.done_at_loss = state.done_bytes;
  TransferLosses& of_sender = state.losses[*state.sender];
  ++of_sender.in_row;
  ++of_sender.in_all;
  return of_sender;
}

TransferLosses Transfer::losses_of(const State& state) const {
  TransferLosses sum;
  for (const auto& [sender, losses] : state.losses) {
    if (states_[sender].left()) continue;
    sum.in_row += losses.in_row;
    sum.in_all += losses.in_all;
  }
  return sum;
}

bool Transfer::has_other_sender(std::size_t i) {
  State& state = states_[i];
  const std::size_t sender = *state.sender;
  const bool is_new = state.unfit.insert(sender).second;
  const bool has_other = find_sender(i, std::nullopt).has_value();
  if (is_new) state.unfit.erase(sender);
  return has_other;
}

double Transfer::pace_of(const State& state, Clock::time_point now) {
  const auto seconds = std::max(std::chrono::duration<double>(now - state.linked_at).count(), 1e-3);
  return std::min(state.rate, static_cast<double>(state.done_bytes - state.done_at_link) / seconds);
}

std::optional<std::size_t> Transfer::pacemaker_of(std::size_t i) const {
  const std::size_t sender = *states_[i].sender;
  if (!is_source(sender)) return sender;
  std::optional<std::size_t> most;
  if (cluster_.cables.empty()) return most;
  for (std::size_t k = 0; k < states_.size(); ++k) {
    if (k == i || states_[k].sender != sender || states_[k].left()) continue;
    if (states_[k].outcome.network != states_[i].outcome.network) continue;
    if (!most || states_[k].done_bytes > states_[*most].done_bytes) most = k;
  }
  return most;
}

void Transfer::check_pace(std::size_t i, Clock::time_point now) {
  State& state = states_[i];
  const TransferPatience& patience = options_.patience;
  const auto pacemaker = pacemaker_of(i);
  if (!pacemaker) return try_next_first(i, now);
  // Both may have begun with a part of the tree, so that only a growing distance counts.
  const auto behind = states_[*pacemaker].done_bytes - state.done_bytes;
  const bool is_new = now - state.linked_at <= patience.lag;
  state.least_behind = is_new ? behind : std::min(state.least_behind, behind);
  const auto fallen = behind - state.least_behind;
  const double in_patience = pace_of(state, now) * std::chrono::duration<double>(patience.lag).count();
  if (fallen <= patience.least_lag || static_cast<double>(fallen) <= in_patience) state.in_pace = now;
  if (now - state.in_pace <= patience.lag) return;
  state.in_pace = now;
  state.outcome.slow = true;
  state.outcome.slower_than = name(*pacemaker);
  move_to_end(i);
}

void Transfer::try_next_first(std::size_t i, Clock::time_point now) {
  constexpr std::int64_t kWorth = 16;  // So that the chunks that are sent twice count for little.
  const State& state = states_[i];
  const TransferPatience& patience = options_.patience;
  bool& tried = states_[*state.sender].first_tried;
  const auto left = total_bytes_ - state.done_bytes;
  const double soon = 4 * pace_of(state, now) * std::chrono::duration<double>(patience.lag).count();
  // With cables, the way around would be longer, and perhaps for nothing.
  if (tried || !cluster_.cables.empty() || now - state.in_pace <= 2 * patience.lag) return;
  if (left / kWorth <= patience.least_lag || static_cast<double>(left) <= soon) return;
  tried = true;
  move_to_end(i);
}

void Transfer::check_rest(std::size_t i, Clock::time_point now) {
  constexpr int kEnough = 2;  // Times: meanwhile a late sender is late, too.
  constexpr int kMostLeft = 2;
  State& state = states_[i];
  if (now - state.judged_at <= options_.patience.stall) return;
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  const double pace = static_cast<double>(state.done_bytes - state.judged_bytes) / seconds(now - state.judged_at);
  const double ahead = pace * seconds(created_ + options_.patience.total - now);
  state.late_times = ahead < static_cast<double>(total_bytes_ - state.done_bytes) ? state.late_times + 1 : 0;
  state.judged_at = now;
  state.judged_bytes = state.done_bytes;
  const std::size_t sender = *state.sender;
  if (state.late_times < kEnough || sender == source_ || state.late_senders == kMostLeft) return;
  if (!has_other_sender(i) || is_late_itself(sender, now)) return;
  ++state.late_senders;
  state.outcome.slow = false;  // It was measured by what its sender claims.
  state.outcome.slower_than.clear();
  change_sender(i, true, make_error(ErrorCode::kUnreachable, "too little arrives to end in time"));
}

bool Transfer::is_late_itself(std::size_t sender, Clock::time_point now) {
  const State& state = states_[sender];
  if (is_source(sender) || state.complete || !state.sender || state.late_times == 0) return false;
  if (now - created_ < options_.patience.total / 2) return true;
  // It may only claim to be late. One receiver tries that: behind a slow source, all of them are late.
  const std::size_t above = *state.sender;
  const bool is_first = above == source_ || states_[above].late_times == 0;
  return !is_first || std::exchange(left_late_, true);
}

void Transfer::move_to_end(std::size_t i) {
  State& state = states_[i];
  std::vector<std::size_t> behind;
  for (std::size_t k = 0; k < states_.size(); ++k) {
    if (is_to_receive(k) && receives_from(k, i)) behind.push_back(k);
  }
  if (state.moved || behind.empty()) return;
  state.moved = true;
  const auto wanted = wanted_senders();
  // Also those that are far behind: on a ring, they now send to the ones that sent to them.
  std::erase_if(behind, [&](std::size_t k) { return !wanted[k] || wanted[k] == states_[k].sender; });
  if (behind.empty()) {
    state.outcome.delays = state.outcome.slow;
    return;
  }
  for (const std::size_t k : behind) leave_sender(states_[k]);
  if (wanted[i] && wanted[i] != state.sender) leave_sender(state);
  link_all();
}

void Transfer::drop_at_sender(std::int64_t id) {
  State& sender = states_[links_.at(id).from];
  if (!sender.left()) sender.to_send.emplace_back(CopyDrop{id});
}

void Transfer::leave_sender(State& state) {
  for (const std::int64_t link : state.live_links) {
    state.to_send.emplace_back(CopyDrop{link});
    drop_at_sender(link);
    end_relay(link);
  }
  state.live_links.clear();
  state.sender.reset();
}

void Transfer::end_relay(std::int64_t link) {
  if (const auto found = relays_.find(link); found != relays_.end()) found->second.request_stop();
}

}  // namespace sparkplan
