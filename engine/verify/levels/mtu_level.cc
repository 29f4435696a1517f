#include "engine/verify/levels/mtu_level.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "engine/verify/levels/levels.h"
#include "engine/verify/levels/packet_probe.h"
#include "engine/verify/pair_waits.h"

namespace sparkplan {
namespace {

/// A busy machine may answer late.
constexpr std::int64_t kPatience = 1'000;
/// For the echoes of a direction and, where these are dropped, its datagrams.
constexpr std::chrono::seconds kUsualForDirection{2};

/// One half of a pair in one direction.
struct Direction {
  HalfPair pair;
  std::int64_t full = kSmallPacket;  ///< The largest packet that both ends are declared to carry.
  Reached reached;
  Check check;
};

std::int64_t carried_by(const ObservedPort& half) {
  if (half.mtu) return *half.mtu;
  return half.link == nullptr ? kSmallPacket : half.link->mtu;
}

/// The fewest nodes whose paths to a half must be narrow before its node is named: one alone may have the fault itself,
/// or only claim it.
constexpr std::size_t kWitnesses = 2;

/// The check was skipped because the run or the level leaves one of the nodes out.
bool was_left_out(const VerifyContext& context, const HalfPair& pair, const Check& check) {
  if (check.status != CheckStatus::kSkip || check.blocked_by.empty()) return false;
  const auto blocks = [&](std::size_t end) { return context.nodes[end].why_not_paired().check == check.blocked_by; };
  return blocks(pair.from) || blocks(pair.to);
}

/// The results of the paths of one half of a node.
struct HalfFindings {
  std::size_t at = 0;
  std::size_t half = 0;
  std::vector<std::pair<std::size_t, Check*>> narrow;  ///< Of the witnesses.
  std::set<std::size_t> witnesses;                     ///< Nodes whose paths to the half are all narrow.
  std::set<std::size_t> contradicting;                 ///< Nodes with a path to the half that is not narrow.
};

bool is_narrow(const Check& check) { return check.status == CheckStatus::kFail && check.value.has_value(); }

HalfFindings findings_of(const VerifyContext& context, const std::vector<HalfPair>& pairs, std::vector<Check>& checks,
                         std::size_t at, std::size_t half) {
  HalfFindings found{at, half, {}, {}, {}};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const HalfPair& pair = pairs[i];
    const bool from_here = pair.from == at && pair.from_half == half;
    const bool to_here = pair.to == at && pair.to_half == half;
    if ((!from_here && !to_here) || was_left_out(context, pair, checks[i])) continue;
    const std::size_t partner = from_here ? pair.to : pair.from;
    (is_narrow(checks[i]) ? found.witnesses : found.contradicting).insert(partner);
    if (is_narrow(checks[i])) found.narrow.emplace_back(partner, &checks[i]);
  }
  for (const std::size_t partner : found.contradicting) {
    found.witnesses.erase(partner);
    std::erase_if(found.narrow, [&](const auto& one) { return one.first == partner; });
  }
  return found;
}

/// True if enough partners agree, and the paths of the same half elsewhere are not narrow. Where one partner disagrees,
/// it may be the one that claims something, so its paths to the other nodes say nothing.
bool is_common(const VerifyContext& context, const std::vector<HalfPair>& pairs, const std::vector<Check>& checks,
               const HalfFindings& found) {
  if (found.witnesses.size() < kWitnesses || found.contradicting.size() > 1) return false;
  bool others_work = false;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const HalfPair& pair = pairs[i];
    const int half = context.nodes[found.at].halves[found.half].half;
    if (context.nodes[pair.from].halves[pair.from_half].half != half || pair.from == found.at || pair.to == found.at ||
        found.contradicting.contains(pair.from) || found.contradicting.contains(pair.to))
      continue;
    if (checks[i].status == CheckStatus::kPass) others_work = true;
    if (!found.contradicting.empty() && is_narrow(checks[i])) return false;
  }
  return others_work;
}

/// True unless one partner contradicts, and a third node's paths look the same way: with four nodes, one claim can make
/// a sound node look like the affected one. The partner itself may look so, too: it is named already.
bool is_the_only_one(const VerifyContext& context, const std::vector<HalfFindings>& common, const HalfFindings& one) {
  const auto half_of = [&](const HalfFindings& of) { return context.nodes[of.at].halves[of.half].half; };
  return one.contradicting.empty() || std::ranges::none_of(common, [&](const HalfFindings& other) {
           return other.at != one.at && half_of(other) == half_of(one) && !one.contradicting.contains(other.at);
         });
}

void name_end(const VerifyContext& context, const HalfFindings& common) {
  const std::string& name = context.nodes[common.at].name();
  for (const auto& [witness, check] : common.narrow) {
    if (common.contradicting.empty()) {
      check->cause += "; only this node is affected: check the cable or the switch port of " + name;
      continue;
    }
    const std::string& partner = context.nodes[*common.contradicting.begin()].name();
    check->cause += "; of the paths of " + name + ", only those with " + partner +
                    " do not show this: check the cable or the switch port of " + name + ", and " + partner;
  }
}

bool is_back(const HalfPair& one, const HalfPair& other) {
  return one.from == other.to && one.to == other.from && one.from_half == other.to_half &&
         one.to_half == other.from_half;
}

class MtuLevel {
 public:
  explicit MtuLevel(VerifyContext& context) : context_(context) {
    for (const HalfPair& pair : half_pairs(context)) {
      Direction direction;
      direction.pair = pair;
      const VerifyNode& from = context.nodes[pair.from];
      const VerifyNode& to = context.nodes[pair.to];
      direction.full = std::max(kSmallPacket,
                                std::min(carried_by(from.halves[pair.from_half]), carried_by(to.halves[pair.to_half])));
      direction.check = check_of(Level::kMtu, context, pair);
      directions_.push_back(std::move(direction));
    }
  }

  std::vector<Check> run() {
    const auto planned = [&](std::size_t one, std::size_t other) {
      return kUsualForDirection *
             std::ranges::count_if(directions_, [&](const auto& of) { return joins(of, one, other); });
    };
    measure_pairs(context_, planned, [&](std::size_t one, std::size_t other) { probe_between(one, other); });
    std::vector<HalfPair> pairs;
    std::vector<Check> checks;
    for (Direction& direction : directions_) {
      pairs.push_back(direction.pair);
      checks.push_back(std::move(direction.check));
    }
    name_common_ends(context_, pairs, checks);
    append(checks, without_pairs(context_, Level::kMtu, pairs));
    return checks;
  }

 private:
  static bool joins(const Direction& direction, std::size_t one, std::size_t other) {
    return std::minmax(direction.pair.from, direction.pair.to) == std::minmax(one, other);
  }

  void probe_between(std::size_t one, std::size_t other) {
    std::vector<Direction*> mine;
    for (Direction& direction : directions_) {
      if (!joins(direction, one, other)) continue;
      const Blocker blocker = blocker_of(context_, direction.pair, false);
      direction.check.block(blocker);
      if (!blocker) mine.push_back(&direction);
    }
    if (mine.empty()) return;
    context_.progress(context_.nodes[one].name(), "probing " + context_.nodes[other].name());
    context_.progress(context_.nodes[other].name(), "probing " + context_.nodes[one].name());
    for (Direction* direction : mine) {
      PacketProbe(context_, direction->pair).echo({kSmallPacket, direction->full}, kPatience, direction->reached);
    }
    for (Direction* direction : mine) {
      if (direction->reached.echoed.contains(direction->full)) continue;
      PacketProbe(context_, direction->pair).talk({kSmallPacket, direction->full}, direction->reached);
    }
    for (Direction* direction : mine) judge(*direction, mine);
  }

  /// True when an end can no longer be asked; the check then has the reason.
  bool blocked_by_end(Direction& direction) const {
    for (const std::size_t end : {direction.pair.from, direction.pair.to}) {
      const VerifyNode& node = context_.nodes[end];
      if (node.can_be_asked()) continue;
      direction.check.block(node.is_too_late() ? node.why_not_asked()
                                               : Blocker{node.name() + " is no longer connected"});
      return true;
    }
    return false;
  }

  void judge(Direction& direction, const std::vector<Direction*>& mine) {
    Check& check = direction.check;
    if (blocked_by_end(direction)) return;
    const VerifyNode& from = context_.nodes[direction.pair.from];
    const VerifyNode& to = context_.nodes[direction.pair.to];
    const ObservedPort& out = from.halves[direction.pair.from_half];
    check.unit = "bytes";
    check.threshold = static_cast<double>(direction.full);
    if (direction.reached.any(direction.full)) {
      check.pass("unfragmented");
      check.value = static_cast<double>(direction.full);
    } else if (direction.reached.any(kSmallPacket)) {
      const bool by_echo = direction.reached.echoed.contains(kSmallPacket);
      const auto largest = PacketProbe(context_, direction.pair).largest(kSmallPacket, direction.full, by_echo);
      if (blocked_by_end(direction)) return;
      check.text = "largest packet that arrives";
      check.value = static_cast<double>(largest);
      diagnose(check, CheckStatus::kFail, "mtu-narrow",
               "only " + std::to_string(largest) + " of " + std::to_string(direction.full) + " bytes get through");
    } else {
      check.text = "no packet arrives";
      const bool back = std::any_of(mine.begin(), mine.end(), [&](const Direction* other) {
        return is_back(direction.pair, other->pair) && other->reached.any(kSmallPacket);
      });
      const std::string way = from.name() + " to " + to.name() + " through " + out.interface;
      diagnose(check, CheckStatus::kFail, back ? RowId("mtu-one-way") : "mtu-no-reply",
               "no packet gets from " + way + (back ? "; the other direction works" : ""));
    }
  }

  VerifyContext& context_;
  std::vector<Direction> directions_;
};

}  // namespace

void name_common_ends(const VerifyContext& context, const std::vector<HalfPair>& pairs, std::vector<Check>& checks) {
  std::vector<HalfFindings> common;
  for (std::size_t at = 0; at < context.nodes.size(); ++at) {
    for (std::size_t half = 0; half < context.nodes[at].halves.size(); ++half) {
      auto found = findings_of(context, pairs, checks, at, half);
      if (is_common(context, pairs, checks, found)) common.push_back(std::move(found));
    }
  }
  for (const HalfFindings& one : common) {
    if (is_the_only_one(context, common, one)) name_end(context, one);
  }
}

std::vector<Check> verify_mtu(VerifyContext& context) { return MtuLevel(context).run(); }

}  // namespace sparkplan
