#include "engine/tune/search.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace sparkplan {
namespace {

constexpr int kRounds = 2;
constexpr std::size_t kMostScreeningPairs = 4;  ///< Per value.
constexpr std::string_view kNoTime = "the budget ended";
constexpr std::string_view kPromising = "promising, but the budget ended before the pairs that decide";

struct TuneDecision {
  TuneComparison comparison;
  std::string refusal;  ///< Empty: accepted.
};

class Search {
 public:
  Search(const std::vector<TuneKnob>& knobs, double budget, const MeasureTrial& measure)
      : knobs_(knobs), budget_(budget), measure_(measure) {
    for (const TuneKnob& knob : knobs_) {
      for (const NcclVariables& value : knob.values) {
        TriedSetting tried;
        tried.knob = knob.name;
        tried.variables = value;
        tried.reason = kNoTime;
        found_.tried.push_back(std::move(tried));
      }
    }
    // At most one decision per value and round, and one on all accepted values.
    found_.decisions = found_.tried.size() * kRounds + 1;
    found_.pairs_to_decide = pairs_for(found_.decisions);
  }

  TuneSearch run() {
    for (int round = 0; round < kRounds && !ended(); ++round) {
      const NcclVariables before = found_.accepted;
      for (std::size_t knob = 0; knob < knobs_.size() && !ended(); ++knob) look_at(knob);
      if (found_.accepted == before) break;
    }
    if (found_.trouble.empty()) judge_together();
    if (!found_.trouble.empty()) note_trouble();
    return std::move(found_);
  }

 private:
  bool ended() const { return !found_.trouble.empty() || found_.out_of_time; }

  void note_trouble() {
    for (TriedSetting& tried : found_.tried) {
      if (tried.verdict == TuneVerdict::kNotMeasured) tried.reason = "the search ended early";
    }
  }

  bool time_for(std::size_t pairs) const {
    return found_.seconds + longest_pair_ * static_cast<double>(pairs) <= budget_;
  }

  /// The accepted variables, with this value of its knob.
  NcclVariables with(const TriedSetting& tried) const {
    const auto knob = std::ranges::find_if(knobs_, [&](const TuneKnob& one) { return one.name == tried.knob; });
    return with_value(found_.accepted, *knob, tried.variables);
  }

  /// The values of a knob in `found_.tried`.
  std::vector<std::size_t> places_of(std::size_t knob) const {
    std::vector<std::size_t> places;
    for (std::size_t at = 0; at < found_.tried.size(); ++at) {
      if (found_.tried[at].knob == knobs_[knob].name) places.push_back(at);
    }
    return places;
  }

  void look_at(std::size_t knob) {
    // Nothing has changed since the last look at this knob: the same pairs would be measured again.
    const auto earlier = looked_at_.find(knob);
    if (earlier != looked_at_.end() && earlier->second == found_.accepted) return;
    std::vector<std::size_t> open = contenders_of(knob);
    ScreenedPairs screened;
    while (!open.empty()) {
      const auto best = most_promising(open, screened);
      const bool accepted = best && decide(*best);
      if (ended()) return;
      if (accepted) {
        refuse_beside(*best, open);
        break;
      }
      // The survivors of the screening end here, decided on or without a gain: each turn shortens the list.
      std::erase_if(open, [&](std::size_t place) { return place == best || !is_promising(place); });
    }
    looked_at_[knob] = found_.accepted;
  }

  /// The values of a knob that can be measured against what counts so far.
  std::vector<std::size_t> contenders_of(std::size_t knob) const {
    std::vector<std::size_t> contenders;
    for (const std::size_t place : places_of(knob)) {
      const TriedSetting& tried = found_.tried[place];
      const bool counts = with(tried) == found_.accepted;
      if (!counts && tried.verdict != TuneVerdict::kFailed) contenders.push_back(place);
    }
    return contenders;
  }

  bool is_promising(std::size_t place) const {
    const TriedSetting& tried = found_.tried[place];
    return tried.verdict != TuneVerdict::kFailed && tried.comparison.gain >= kLeastTuneGain &&
           clear_loss_of(tried.comparison).empty();
  }

  /// The pairs of a value, screened against what counts so far.
  using ScreenedPairs = std::map<std::size_t, std::vector<TunePair>>;

  /// Of the values `left`, the one with the best gain in a few pairs. After each pair, the worse half is dropped. Pairs
  /// of an earlier call for the same knob are not measured again.
  std::optional<std::size_t> most_promising(std::vector<std::size_t> left, ScreenedPairs& screened) {
    for (std::size_t number = 0; number < kMostScreeningPairs && !left.empty(); ++number) {
      for (const std::size_t place : std::vector<std::size_t>(left)) {
        if (screened[place].size() > number) continue;
        const bool stays = screen(place, screened[place]);
        if (ended()) return std::nullopt;
        if (!stays) std::erase(left, place);
      }
      std::stable_sort(left.begin(), left.end(), [&](std::size_t a, std::size_t b) {
        return found_.tried[a].comparison.gain > found_.tried[b].comparison.gain;
      });
      if (left.size() > 1) left.resize((left.size() + 1) / 2);
      if (number > 0) std::erase_if(left, [&](std::size_t place) { return found_.tried[place].comparison.gain < 1; });
    }
    if (left.empty() || !is_promising(left.front())) return std::nullopt;
    return left.front();
  }

  /// One pair of a value. False if the value is out, or the search ends.
  bool screen(std::size_t place, std::vector<TunePair>& pairs) {
    TriedSetting& tried = found_.tried[place];
    const auto pair = measure_pair(TunePhase::kScreening, found_.accepted, with(tried), tried);
    if (!pair) return false;
    pairs.push_back(*pair);
    tried.comparison = compare_pairs(pairs);
    tried.confirmed = false;
    if (is_promising(place)) {
      // It stays so only if the search ends first: else the value is decided on, or another one is accepted.
      tried.verdict = TuneVerdict::kNotMeasured;
      tried.reason = kPromising;
      return true;
    }
    const std::string loss = clear_loss_of(tried.comparison);
    tried.verdict = TuneVerdict::kRefused;
    tried.reason = loss.empty() ? "no gain in the first pairs" : loss + " in the first pairs";
    return loss.empty();
  }

  /// New pairs for one value; true if it is accepted. The pairs of the screening are left out: of several values,
  /// chance favours the best.
  bool decide(std::size_t place) {
    TriedSetting& tried = found_.tried[place];
    if (!time_for(found_.pairs_to_decide)) {
      found_.out_of_time = true;
      return false;
    }
    const auto after = with(tried);
    const auto decision = compare(TunePhase::kConfirming, found_.accepted, after, tried);
    if (!decision) return false;
    tried.comparison = decision->comparison;
    tried.confirmed = true;
    tried.reason = decision->refusal;
    tried.verdict = tried.reason.empty() ? TuneVerdict::kAccepted : TuneVerdict::kRefused;
    if (tried.verdict != TuneVerdict::kAccepted) return false;
    // A later value of the same knob takes the place of the earlier one: its pairs were measured against that one.
    for (TriedSetting& other : found_.tried) {
      if (&other == &tried || other.knob != tried.knob || other.verdict != TuneVerdict::kAccepted) continue;
      other.verdict = TuneVerdict::kRefused;
      other.reason = "another value is faster than it";
    }
    found_.accepted = after;
    return true;
  }

  /// `winner` is accepted: the other promising values that are left are not decided on.
  void refuse_beside(std::size_t winner, const std::vector<std::size_t>& open) {
    for (const std::size_t place : open) {
      TriedSetting& tried = found_.tried[place];
      if (place == winner || tried.verdict != TuneVerdict::kNotMeasured) continue;
      tried.verdict = TuneVerdict::kRefused;
      // One or two lucky pairs can show more than the winner's pairs that decide.
      const bool less = tried.comparison.gain < found_.tried[winner].comparison.gain;
      tried.reason = less ? "another value gained more" : "another value was accepted first";
    }
  }

  void judge_together() {
    const auto accepted = std::count_if(found_.tried.begin(), found_.tried.end(),
                                        [](const TriedSetting& one) { return one.verdict == TuneVerdict::kAccepted; });
    if (accepted < 2 || !time_for(found_.pairs_to_decide)) return;
    TriedSetting all;
    const auto decision = compare(TunePhase::kTogether, {}, found_.accepted, all);
    if (decision) {
      found_.together = decision->comparison;
      found_.together_refusal = decision->refusal;
    } else if (all.verdict == TuneVerdict::kFailed) {
      found_.together_refusal = all.reason;
    }
    if (!found_.together_refusal.empty()) found_.accepted.clear();
  }

  /// All pairs of one decision, fewer if no further pair can make it a yes. Nothing if one cannot be measured.
  std::optional<TuneDecision> compare(TunePhase phase, const NcclVariables& before, const NcclVariables& after,
                                      TriedSetting& tried) {
    std::vector<TunePair> pairs;
    std::string hopeless;
    while (pairs.size() < found_.pairs_to_decide && hopeless.empty()) {
      const auto pair = measure_pair(phase, before, after, tried);
      if (!pair) return std::nullopt;
      pairs.push_back(*pair);
      hopeless = hopeless_reason(pairs, found_.pairs_to_decide, found_.decisions);
    }
    TuneComparison comparison = compare_pairs(pairs);
    std::string refusal = hopeless.empty() ? refusal_of(comparison, found_.decisions) : hopeless;
    return TuneDecision{std::move(comparison), std::move(refusal)};
  }

  /// Two runs. `tried` gets the reason if there is no pair.
  std::optional<TunePair> measure_pair(TunePhase phase, const NcclVariables& before, const NcclVariables& after,
                                       TriedSetting& tried) {
    if (!time_for(1)) {
      found_.out_of_time = true;
      return std::nullopt;
    }
    // A change of the machine that lasts through both pairs favours each side once: A B, B A.
    const bool after_first = found_.history.size() % 2 == 1;
    std::array<TuneTrial, 2> trials;  // Before, after.
    for (const bool is_after : {after_first, !after_first}) {
      TuneTrial& trial = trials.at(is_after ? std::size_t{1} : std::size_t{0});
      trial = measure_(is_after ? after : before);
      found_.seconds += trial.seconds;
      if (trial.trouble.empty()) continue;
      if (!is_after || trial.ends_run) {
        found_.trouble = trial.trouble;
      } else {
        tried.verdict = TuneVerdict::kFailed;
        tried.reason = trial.trouble;
      }
      return std::nullopt;
    }
    longest_pair_ = std::max(longest_pair_, trials[0].seconds + trials[1].seconds);
    TunePair pair{std::move(trials[0].points), std::move(trials[1].points)};
    if (!gain_of(pair)) {
      tried.verdict = TuneVerdict::kFailed;
      tried.reason = "its measurements cannot be compared";
      return std::nullopt;
    }
    found_.history.push_back({phase, before, after, after_first, pair});
    return pair;
  }

  const std::vector<TuneKnob>& knobs_;
  const double budget_;
  const MeasureTrial& measure_;
  TuneSearch found_;
  double longest_pair_ = 0;
  std::map<std::size_t, NcclVariables> looked_at_;  ///< By knob: `accepted` after its last look.
};

}  // namespace

TuneSearch search_settings(const std::vector<TuneKnob>& knobs, double budget, const MeasureTrial& measure) {
  return Search(knobs, budget, measure).run();
}

}  // namespace sparkplan
