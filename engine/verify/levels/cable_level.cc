#include "engine/verify/levels/cable_level.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/model/port_name.h"
#include "engine/verify/levels/levels.h"
#include "engine/wire/messages.h"

namespace sparkplan {
namespace {

/// Beyond this number, the rest are only counted.
constexpr std::size_t kMostNamed = 3;
/// The agent reads for at most 1 s, until no frame arrives for 100 ms.
constexpr std::chrono::milliseconds kLongestReading{1'100};

/// The half at the other end: "spark-02", "enp1s0f1np1".
using Far = std::pair<std::string, std::string>;

std::string names_of(const std::set<Far>& ends) {
  std::vector<std::string> names;
  for (const auto& [node, interface] : ends) {
    if (names.size() == kMostNamed) {
      names.push_back(std::to_string(ends.size() - kMostNamed) + " more");
      break;
    }
    names.push_back(node + " " + interface);
  }
  return join(names, ", ");
}

class CableJudge {
 public:
  CableJudge(const VerifyContext& context, const HeardCables& heard)
      : context_(context), heard_(heard), pairs_(half_pairs(context)) {}

  std::vector<Check> judge() const {
    std::vector<Check> checks;
    for (std::size_t at = 0; at < context_.nodes.size(); ++at) {
      for (std::size_t half = 0; half < context_.nodes[at].halves.size(); ++half) checks.push_back(check_of(at, half));
    }
    return checks;
  }

 private:
  Check check_of(std::size_t at, std::size_t half_at) const {
    const VerifyNode& node = context_.nodes[at];
    const ObservedPort& half = node.halves[half_at];
    Check check = skipped(Level::kLink, {node.name()}, half.label() + "/cable", "");
    check.text = half.interface;
    const auto calls = heard_.calls.find(at);
    if (const Blocker failed = context_.blocked_by_link(node, half)) {
      check.block(failed);
    } else if (calls == heard_.calls.end() && node.is_too_late()) {
      check.block(node.why_not_asked());
    } else if (calls == heard_.calls.end()) {
      const auto why = heard_.silent.find(at);
      check.cause = why == heard_.silent.end() ? "the node is not a running system" : why->second;
    } else {
      judge_half(at, half_at, calls->second, check);
    }
    return check;
  }

  void judge_half(std::size_t at, std::size_t half_at, const std::vector<ReceivedProbe>& calls, Check& check) const {
    Blocker blocker = unread_peers(context_, context_.nodes[at]);
    if (!blocker) blocker = {"no other end is declared"};
    const std::set<Far> declared = declared_ends(at, half_at, blocker);
    if (declared.empty()) return check.block(blocker);
    const std::string& interface = context_.nodes[at].halves[half_at].interface;
    std::set<Far> there;
    for (const ReceivedProbe& call : calls) {
      if (call.at == interface) there.insert({call.node, call.interface});
    }
    if (const std::string why = why_mute(at, interface); there.empty() && !why.empty()) {
      check.cause = interface + " could not receive: " + why;
      return;
    }
    std::set<Far> missing;
    std::set_difference(declared.begin(), declared.end(), there.begin(), there.end(),
                        std::inserter(missing, missing.end()));
    if (missing.empty()) {
      check.status = CheckStatus::kPass;
      check.text += " cabled as declared";
    } else if (is_overrun(at, interface)) {
      check.cause = interface + " received too many frames, so that probes of other nodes may be missing";
    } else if (there.empty()) {
      check.text += " reaches no other node";
      diagnose(check, CheckStatus::kFail, "cable-nobody",
               interface + " receives nothing from " + names_of(missing) + " or any other node");
    } else if (missing.size() == declared.size()) {
      check.text += " cabled elsewhere";
      diagnose(check, CheckStatus::kFail, "cable-elsewhere",
               interface + " reaches " + names_of(there) + " instead of " + names_of(missing));
    } else {
      check.text += " reaches only some nodes";
      diagnose(check, CheckStatus::kFail, "cable-some", interface + " does not reach " + names_of(missing));
    }
  }

  /// The halves that are declared on the same cable or switch, without halves that cannot send. `blocker` has the
  /// reason if there are no such halves.
  std::set<Far> declared_ends(std::size_t at, std::size_t half_at, Blocker& blocker) const {
    std::set<Far> ends;
    for (const HalfPair& pair : pairs_) {
      if (pair.from != at || pair.from_half != half_at) continue;
      const VerifyNode& to = context_.nodes[pair.to];
      const ObservedPort& half = to.halves[pair.to_half];
      if (!heard_.calls.contains(pair.to)) {
        blocker = to.is_too_late() ? to.why_not_asked() : Blocker{to.name() + " is not connected"};
      } else if (auto failed = context_.blocked_by_link(to, half)) {
        blocker = std::move(failed);
      } else if (const std::string why = why_mute(pair.to, half.interface); !why.empty()) {
        blocker = {to.name() + " " + half.interface + " could not send: " + why};
      } else {
        ends.insert({to.name(), half.interface});
      }
    }
    return ends;
  }

  std::string why_mute(std::size_t at, const std::string& interface) const {
    const auto node = heard_.mute.find(at);
    if (node == heard_.mute.end()) return "";
    const auto found = node->second.find(interface);
    return found == node->second.end() ? "" : found->second;
  }

  bool is_overrun(std::size_t at, const std::string& interface) const {
    const auto node = heard_.overrun.find(at);
    return node != heard_.overrun.end() &&
           std::find(node->second.begin(), node->second.end(), interface) != node->second.end();
  }

  const VerifyContext& context_;
  const HeardCables& heard_;
  std::vector<HalfPair> pairs_;
};

/// All nodes at once: no node sends before all receive, and no node is asked before all have sent.
class CableRound {
 public:
  explicit CableRound(VerifyContext& context) : context_(context), token_(new_token()), replies_(context.nodes.size()) {
    for (std::size_t at = 0; at < context.nodes.size(); ++at) {
      const VerifyNode& node = context.nodes[at];
      if (node.can_be_asked() && node.facts != nullptr && node.facts->live && !node.halves.empty())
        places_.push_back(at);
    }
    for (const std::size_t at : places_) names_[at] = new_token();
  }

  HeardCables run() {
    if (places_.empty()) return std::move(heard_);
    on_each("opening the link probe receivers", [&](VerifyNode& node, std::size_t) {
      return node.ask(StartLinkProbeRequest{interfaces_to_listen_at(node), token_});
    });
    on_each("sending link probes",
            [&](VerifyNode& node, std::size_t at) { return node.ask(SendLinkProbesRequest{names_.at(at)}); });
    // Digests, because other nodes still listen: with the names, a node could send in the name of any other.
    std::vector<std::string> senders;
    for (const auto& [at, name] : names_) senders.push_back(sha256(name));
    on_each("reading link probes", [&](VerifyNode& node, std::size_t at) -> Result<void> {
      const bool knows_senders = node.client->hello().protocol_minor >= kMinorOfProbeSenders;
      const ReadLinkProbesRequest request{knows_senders ? senders : std::vector<std::string>()};
      SPARK_TRY(auto reply, node.ask(request, kLongestReading));
      replies_[at] = std::move(reply);
      return {};
    });
    for (const std::size_t at : places_) {
      heard_.calls[at] = with_node_names(context_, names_, std::move(replies_[at].received));
      if (!replies_[at].send_errors.empty()) heard_.mute[at] = std::move(replies_[at].send_errors);
      heard_.overrun[at] = std::move(replies_[at].overrun);
    }
    for (const auto& [at, why] : heard_.silent) heard_.calls.erase(at);
    return std::move(heard_);
  }

 private:
  template <class Work>
  void on_each(std::string_view doing, Work work) {
    std::vector<std::optional<Error>> errors(context_.nodes.size());
    fan_out(places_, context_.options.workers, [&](std::size_t at) {
      VerifyNode& node = context_.nodes[at];
      if (context_.stop.stop_requested()) return;
      if (node.is_too_late()) errors[at] = make_error(ErrorCode::kFailed, node.why_not_asked().reason);
      if (!node.can_be_asked()) return;
      context_.progress(node.name(), doing);
      auto done = work(node, at);
      if (done) return;
      note_if_lost(node, done.error());
      errors[at] = std::move(done).error();
    });
    for (std::size_t at = 0; at < errors.size(); ++at) {
      if (!errors[at]) continue;
      heard_.silent[at] = errors[at]->describe();
      std::erase(places_, at);
    }
  }

  VerifyContext& context_;
  std::string token_;
  std::vector<std::size_t> places_;
  ProbeNames names_;
  std::vector<ReadLinkProbesReply> replies_;
  HeardCables heard_;
};

}  // namespace

std::vector<std::string> interfaces_to_listen_at(const VerifyNode& node) {
  std::vector<std::string> interfaces;
  for (const LinkFacts& link : node.facts->links) {
    const bool ours = std::any_of(node.halves.begin(), node.halves.end(),
                                  [&](const ObservedPort& half) { return half.interface == link.name; });
    const bool alike = (link.kind.empty() || link.kind == "veth") && (!link.port.empty() || port_in_name(link.name));
    if (link.up && (ours || alike)) interfaces.push_back(link.name);
  }
  return interfaces;
}

std::vector<ReceivedProbe> with_node_names(const VerifyContext& context, const ProbeNames& names,
                                           std::vector<ReceivedProbe> received) {
  std::map<std::string, std::size_t> senders;
  for (const auto& [at, name] : names) senders.emplace(name, at);
  std::vector<ReceivedProbe> known;
  for (ReceivedProbe& probe : received) {
    const auto sender = senders.find(probe.node);
    if (sender == senders.end()) continue;
    probe.node = context.nodes[sender->second].name();
    known.push_back(std::move(probe));
  }
  return known;
}

std::vector<Check> judge_cables(const VerifyContext& context, const HeardCables& heard) {
  return CableJudge(context, heard).judge();
}

std::vector<Check> verify_cables(VerifyContext& context) {
  const HeardCables heard = CableRound(context).run();
  return judge_cables(context, heard);
}

}  // namespace sparkplan
