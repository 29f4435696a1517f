#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/sync/transfer_run.h"

/// The senders of the members of a transfer.
namespace sparkplan {
namespace {

constexpr int kMostNewLinks = 5;  // Per member: then its connections break for a reason that stays.

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

void Transfer::link_all() {
  if (!states_[source_].begun || failed(source_)) return;
  std::vector<std::size_t> alive;
  std::vector<const NodeSpec*> nodes;
  std::size_t source_place = 0;
  bool all_begun = true;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].left()) continue;
    all_begun = all_begun && states_[i].begun;
    if (!states_[i].begun) continue;
    if (i == source_) source_place = alive.size();
    alive.push_back(i);
    nodes.push_back(members_[i].node);
  }
  if (!all_begun && !late_) return;  // It comes with its own CopyBegun, or fails.
  const auto wanted = senders(cluster_, nodes, source_place);
  for (std::size_t place = 0; place < alive.size(); ++place) {
    const std::size_t to = alive[place];
    if (to == source_ || states_[to].left() || states_[to].complete || states_[to].sender) continue;
    const auto from = find_sender(to, wanted[place] ? std::optional(alive[*wanted[place]]) : std::nullopt);
    if (from) {
      link(*from, to);
    } else if (all_begun) {
      fail_locked(to, no_sender(to));
    }
  }
}

Error Transfer::no_sender(std::size_t to) const {
  if (states_[to].last_loss) return *states_[to].last_loss;
  return make_error(ErrorCode::kUnreachable, "the fabric does not join it with a node that has the content");
}

std::optional<std::size_t> Transfer::find_sender(std::size_t to, std::optional<std::size_t> wanted) const {
  if (wanted && can_serve(*wanted, to)) return wanted;
  if (!wanted && !states_[to].last_loss) return std::nullopt;  // The route has no way to it.
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
  return !fabric_paths(cluster_, *members_[from].node, *members_[to].node).empty();
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
  if (++state.links_made > kMostNewLinks) {
    auto error = make_error(ErrorCode::kUnreachable, "its connections to other nodes break again and again");
    return fail_locked(to, state.last_loss.value_or(std::move(error)));
  }
  const auto paths = fabric_paths(cluster_, *members_[from].node, *members_[to].node);
  const auto streams = std::max<std::size_t>(static_cast<std::size_t>(options_.streams) / paths.size(), 1);
  for (const AddressPair& addresses : paths) {
    const auto size = kCopyTokenBytes * std::min(streams, kMostCopyStreams);
    TransferLink made{from, to, addresses, random_bytes(size), options_.encrypt ? random_bytes(size) : "", false};
    if (made.tokens.empty() || (options_.encrypt && made.keys.empty())) return refuse(to, "no random numbers");
    states_[from].to_send.emplace_back(CopyServe{next_link_, addresses.from, addresses.to, made.tokens, made.keys});
    state.live_links.insert(next_link_);
    links_.emplace(next_link_++, std::move(made));
  }
  // The members behind this one get nothing until it does.
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (i == to || receives_from(i, to)) states_[i].last_advance = Clock::now();
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
  receiver.to_send.emplace_back(
      CopyFetch{serving.link, link.addresses.from, serving.port, link.addresses.to, link.tokens, link.keys});
}

void Transfer::take_lost(std::size_t i, const CopyLinkLost& lost) {
  const auto found = links_.find(lost.link);
  if (found == links_.end() || found->second.to != i) {
    return refuse(i, "sparkplan-copy lost a link that is not its own");
  }
  State& state = states_[i];
  if (state.live_links.erase(lost.link) == 0 || state.complete || !state.sender) return;
  const bool forged = lost.error.code == ErrorCode::kVerifyFailed;
  if (forged || state.live_links.empty()) change_sender(i, forged, lost.error);
}

void Transfer::change_sender(std::size_t i, bool unfit, Error why) {
  State& state = states_[i];
  const std::size_t sender = *state.sender;
  if (unfit || ++state.losses[sender] > 1) state.unfit.insert(sender);
  state.last_loss = bounded(std::move(why)).within("receive from " + name(sender));
  leave_sender(state);
  link_all();
}

void Transfer::leave_sender(State& state) {
  for (const std::int64_t link : state.live_links) state.to_send.emplace_back(CopyDrop{link});
  state.live_links.clear();
  state.sender.reset();
}

}  // namespace sparkplan
