// The search of `tune`, with a fake measurement: known gains, known noise, fixed seeds.
#include "engine/tune/search.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

constexpr double kRunSeconds = 4;

/// Four knobs with four values each, beside NCCL's own choice.
std::vector<TuneKnob> four_knobs() {
  std::vector<TuneKnob> knobs;
  for (const std::string name : {"A", "B", "C", "D"}) {
    TuneKnob knob{name, {}};
    for (const char* value : {"1", "2", "3", "4"}) knob.values.push_back({{name, value}});
    knobs.push_back(std::move(knob));
  }
  return knobs;
}

/// NCCL with known speeds. A setting multiplies the speed by its factors.
class FakeNccl {
 public:
  FakeNccl(std::map<std::string, double> factors, double noise, unsigned int seed)
      : factors_(std::move(factors)), noise_(noise), random_(seed) {}

  double speed_of(const NcclVariables& variables) const {
    double speed = 1;
    for (const auto& [name, value] : variables) {
      const auto factor = factors_.find(name + "=" + value);
      if (factor != factors_.end()) speed *= factor->second;
    }
    return speed;
  }

  TuneTrial run(const NcclVariables& variables) {
    ++runs_;
    drift_ *= 1.0002;  // The machine becomes warmer, and slower, all the time.
    TuneTrial trial;
    trial.seconds = kRunSeconds;
    for (const std::int64_t bytes : {8192, 1 << 20, 1 << 24}) {
      const double seconds = 1e-9 * static_cast<double>(bytes) * drift_ / speed_of(variables);
      trial.points.push_back({Collective::kAllReduce, bytes, seconds * std::exp(noise_ * next())});
    }
    return trial;
  }

  MeasureTrial measure() {
    return [this](const NcclVariables& variables) { return run(variables); };
  }
  std::size_t runs() const { return runs_; }

 private:
  /// About normal, mean 0, deviation 1: the same on every machine, which std::normal_distribution is not.
  double next() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random_()) / static_cast<double>(std::mt19937::max());
    return sum;
  }

  std::map<std::string, double> factors_;
  double noise_;
  std::mt19937 random_;
  double drift_ = 1;
  std::size_t runs_ = 0;
};

constexpr double kNoLimit = 1e9;

/// The pairs of one value of knob A in one phase.
std::size_t pairs_of_a(const TuneSearch& found, TunePhase phase, const std::string& value) {
  return static_cast<std::size_t>(std::count_if(found.history.begin(), found.history.end(), [&](const PastPair& past) {
    const auto at = past.after.find("A");
    return past.phase == phase && past.before != past.after && at != past.after.end() && at->second == value;
  }));
}

/// The smallest size is slower by this factor, in spite of what a value gains.
void slow_small(TuneTrial& trial, double gain, double factor) { trial.points.at(0).seconds *= gain * factor; }

bool has_value(const NcclVariables& variables, const std::string& value) {
  const auto at = variables.find("A");
  return at != variables.end() && at->second == value;
}

}  // namespace

TEST_CASE("tune: a known optimum is found to 2 %, in a tenth of the time of the whole grid") {
  const std::map<std::string, double> factors{{"A=1", 0.9},  {"A=2", 1.2},  {"A=3", 1.05}, {"B=2", 0.7},
                                              {"B=4", 1.08}, {"C=1", 0.99}, {"C=3", 1.15}, {"D=1", 1.005}};
  const double best = 1.2 * 1.08 * 1.15 * 1.005;
  for (unsigned int seed = 1; seed <= 10; ++seed) {
    INFO(seed);
    FakeNccl nccl(factors, 0.01, seed);
    const TuneSearch found = search_settings(four_knobs(), kNoLimit, nccl.measure());
    CHECK(nccl.speed_of(found.accepted) >= best * 0.98);
    // A grid has 5 values of each knob, and as many pairs per setting as a decision of the search takes.
    const double grid = std::pow(5, 4) * 2 * static_cast<double>(found.pairs_to_decide) * kRunSeconds;
    CHECK(found.seconds <= grid / 10);
    CHECK(found.seconds == Approx(static_cast<double>(nccl.runs()) * kRunSeconds));
    REQUIRE(found.together.has_value());
    CHECK(found.together_refusal.empty());
    CHECK(found.together->gain == Approx(best).epsilon(0.03));
  }
}

TEST_CASE("tune: of 50 runs with settings that change nothing, at most 2 accept one") {
  int accepting = 0;
  for (unsigned int seed = 1; seed <= 50; ++seed) {
    FakeNccl nccl({}, 0.05, seed);
    const TuneSearch found = search_settings(four_knobs(), kNoLimit, nccl.measure());
    CHECK(found.trouble.empty());
    if (!found.accepted.empty()) ++accepting;
  }
  CHECK(accepting <= 2);
}

TEST_CASE("tune: a gain that one size pays for is refused") {
  FakeNccl nccl({{"A=1", 1.5}}, 0.001, 1);
  const TuneSearch found = search_settings(four_knobs(), kNoLimit, [&](const NcclVariables& variables) {
    TuneTrial trial = nccl.run(variables);
    if (variables.contains("A")) trial.points[0].seconds *= 1.7;
    return trial;
  });
  CHECK(found.accepted.empty());
  CHECK(found.tried.at(0).verdict == TuneVerdict::kRefused);
  CHECK(found.tried.at(0).reason.find("all_reduce of 8 KiB is") == 0);
}

TEST_CASE("tune: if the pairs that decide refuse the best value, the next promising one is decided on") {
  FakeNccl nccl({{"A=1", 1.5}, {"A=3", 1.3}, {"A=4", 1.1}}, 0.001, 1);
  const TuneSearch found = search_settings(four_knobs(), kNoLimit, [&](const NcclVariables& variables) {
    TuneTrial trial = nccl.run(variables);
    // Too much for the rule, too little for the first pairs.
    if (has_value(variables, "1")) slow_small(trial, 1.5, 1.055);
    if (has_value(variables, "3")) slow_small(trial, 1.3, 1.055);
    return trial;
  });
  CHECK(found.accepted == NcclVariables{{"A", "4"}});
  CHECK(found.tried.at(0).verdict == TuneVerdict::kRefused);
  CHECK(found.tried.at(0).confirmed);
  CHECK(found.tried.at(0).reason.find("all_reduce of 8 KiB is 5") == 0);
  CHECK(found.tried.at(2).confirmed);
  CHECK(found.tried.at(3).verdict == TuneVerdict::kAccepted);
  CHECK(pairs_of_a(found, TunePhase::kConfirming, "4") == found.pairs_to_decide);
}

TEST_CASE("tune: a value that lost its place to lucky pairs of others is measured further") {
  // In their first pairs, 1 and 2 are lucky. 3 is better than NCCL's own choice all the time.
  FakeNccl nccl({{"A=3", 1.1}}, 0.001, 1);
  std::map<std::string, int> runs;
  const TuneSearch found = search_settings(four_knobs(), kNoLimit, [&](const NcclVariables& variables) {
    TuneTrial trial = nccl.run(variables);
    const bool lucky = has_value(variables, "1") || has_value(variables, "2");
    if (lucky && ++runs[variables.at("A")] == 1) {
      for (TunePoint& point : trial.points) point.seconds /= 1.2;
    } else if (lucky) {
      for (TunePoint& point : trial.points) point.seconds *= 1.3;
    }
    return trial;
  });
  CHECK(found.accepted == NcclVariables{{"A", "3"}});
}

TEST_CASE("tune: each value is decided on at most once per round, and all decisions count in the rule") {
  FakeNccl nccl({}, 0.001, 1);
  const auto knobs = four_knobs();
  const TuneSearch found = search_settings(knobs, kNoLimit, [&](const NcclVariables& variables) {
    TuneTrial trial = nccl.run(variables);
    for (std::size_t at = 1; at < trial.points.size() && !variables.empty(); ++at) trial.points[at].seconds /= 1.5;
    if (!variables.empty()) trial.points.at(0).seconds *= 1.055;
    return trial;
  });
  CHECK(found.accepted.empty());
  CHECK(found.decisions == 2 * found.tried.size() + 1);
  CHECK(found.pairs_to_decide == pairs_for(found.decisions));
  std::map<NcclVariables, std::size_t> deciding;
  for (const PastPair& past : found.history) {
    if (past.phase == TunePhase::kConfirming) ++deciding[past.after];
  }
  CHECK(deciding.size() == found.tried.size());
  for (const auto& [variables, pairs] : deciding) {
    // After the eighth of 14, no further pair can move the median of the smallest size.
    CHECK(pairs == found.pairs_to_decide / 2 + 1);
  }
  for (const TriedSetting& tried : found.tried) {
    CHECK(tried.verdict == TuneVerdict::kRefused);
    CHECK(tried.confirmed);
    CHECK(tried.reason.find("all_reduce of 8 KiB is 5") == 0);
  }
}

TEST_CASE("tune: a clear loss at one size is recognised in the first pairs, and another value wins") {
  for (unsigned int seed = 1; seed <= 10; ++seed) {
    INFO(seed);
    FakeNccl nccl({{"A=1", 2.2}, {"A=2", 1.2}}, 0.03, seed);
    const TuneSearch found = search_settings(four_knobs(), kNoLimit, [&](const NcclVariables& variables) {
      TuneTrial trial = nccl.run(variables);
      if (has_value(variables, "1")) slow_small(trial, 2.2, 1.3);
      return trial;
    });
    CHECK(has_value(found.accepted, "2"));
    CHECK(pairs_of_a(found, TunePhase::kConfirming, "1") == 0);
    CHECK(found.tried.at(0).verdict == TuneVerdict::kRefused);
    CHECK(found.tried.at(0).reason.find("all_reduce of 8 KiB is ") == 0);
    CHECK(found.tried.at(0).reason.find(" % slower in the first pairs") != std::string::npos);
    CHECK(found.tried.at(0).comparison.pairs == kPairsOfClearLoss);
    CHECK(found.tried.at(0).comparison.gain > 1.3);
  }
}

TEST_CASE("tune: one slow small message in the first pairs refuses no value") {
  FakeNccl nccl({{"A=1", 1.5}}, 0.001, 1);
  std::size_t runs = 0;
  const TuneSearch found = search_settings(four_knobs(), kNoLimit, [&](const NcclVariables& variables) {
    TuneTrial trial = nccl.run(variables);
    if (has_value(variables, "1") && ++runs == 2) slow_small(trial, 1.5, 2);
    return trial;
  });
  CHECK(found.accepted == NcclVariables{{"A", "1"}});
}

TEST_CASE("tune: another value gained more only if an accepted one did") {
  const std::map<std::string, double> factors{{"A=1", 1.06}, {"A=2", 1.05}, {"A=3", 1.02}, {"B=1", 1.03},
                                              {"B=2", 1.03}, {"C=3", 1.02}, {"C=4", 1.01}, {"D=2", 1.01}};
  std::size_t said = 0;
  for (unsigned int seed = 1; seed <= 30; ++seed) {
    for (const double budget : {600.0, 1500.0, kNoLimit}) {
      INFO(seed << " " << budget);
      FakeNccl nccl(factors, 0.04, seed);
      const TuneSearch found = search_settings(four_knobs(), budget, nccl.measure());
      for (const TriedSetting& tried : found.tried) {
        if (tried.reason.find("another value") != 0) continue;
        ++said;
        const auto winner = std::find_if(found.tried.begin(), found.tried.end(), [&](const TriedSetting& one) {
          return one.knob == tried.knob && one.verdict == TuneVerdict::kAccepted;
        });
        REQUIRE(winner != found.tried.end());
        if (tried.reason == "another value gained more") CHECK(winner->comparison.gain > tried.comparison.gain);
        if (tried.reason == "another value was accepted first") {
          CHECK(winner->comparison.gain <= tried.comparison.gain);
          CHECK_FALSE(tried.confirmed);
        }
      }
    }
  }
  CHECK(said > 0);
}

TEST_CASE("tune: a promising value without its deciding pairs is not refused, whatever ended the search") {
  for (const bool broken : {false, true}) {
    INFO(broken);
    FakeNccl nccl({{"A=1", 1.3}, {"A=2", 1.2}}, 0.001, 1);
    const TuneSearch found =
        search_settings(four_knobs(), broken ? kNoLimit : 80.0, [&](const NcclVariables& variables) {
          TuneTrial trial = nccl.run(variables);
          if (broken && nccl.runs() > 18) trial.trouble = "spark-02: the connection broke";
          trial.ends_run = broken;
          return trial;
        });
    for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
      CHECK(found.tried.at(place).verdict == TuneVerdict::kNotMeasured);
      const std::string budget_ended = "promising, but the budget ended before the pairs that decide";
      CHECK(found.tried.at(place).reason == (broken ? "the search ended early" : budget_ended));
    }
    CHECK(found.tried.at(2).reason == "no gain in the first pairs");
  }
}

TEST_CASE("tune: the runs of pairs alternate, and those that decide are new") {
  FakeNccl nccl({{"A=1", 1.2}}, 0.001, 1);
  const TuneSearch found = search_settings(four_knobs(), kNoLimit, nccl.measure());
  CHECK(found.accepted == NcclVariables{{"A", "1"}});
  CHECK(found.history.size() * 2 == nccl.runs());
  std::size_t deciding = 0;
  for (std::size_t at = 0; at < found.history.size(); ++at) {
    CHECK(found.history[at].after_first == (at % 2 == 1));
    const bool of_a = found.history[at].after == NcclVariables{{"A", "1"}};
    if (found.history[at].phase == TunePhase::kConfirming && of_a) ++deciding;
  }
  CHECK(deciding == found.pairs_to_decide);
  CHECK(found.tried.at(0).comparison.pairs == deciding);
  CHECK(found.tried.at(0).confirmed);
}

TEST_CASE("tune: nothing is measured beyond the budget, and what was not measured says so") {
  FakeNccl nccl({{"A=1", 1.2}}, 0.001, 1);
  const double budget = 2.5 * 2 * kRunSeconds;
  const TuneSearch found = search_settings(four_knobs(), budget, nccl.measure());
  CHECK(found.seconds <= budget);
  CHECK(found.history.size() == 2);
  CHECK(found.out_of_time);
  CHECK(found.accepted.empty());
  CHECK(found.tried.back().verdict == TuneVerdict::kNotMeasured);
  CHECK(found.tried.back().reason == "the budget ended");
}

TEST_CASE("tune: a value with which NCCL fails is dropped, and the search goes on") {
  FakeNccl nccl({{"A=1", 1.5}, {"B=2", 1.2}}, 0.001, 1);
  const TuneSearch found = search_settings(four_knobs(), kNoLimit, [&](const NcclVariables& variables) {
    TuneTrial trial = nccl.run(variables);
    const auto value = variables.find("A");
    if (value != variables.end() && value->second == "1") trial.trouble = "spark-02: unhandled system error";
    return trial;
  });
  CHECK(found.trouble.empty());
  CHECK(found.accepted == NcclVariables{{"B", "2"}});
  CHECK(found.tried.at(0).verdict == TuneVerdict::kFailed);
  CHECK(found.tried.at(0).reason == "spark-02: unhandled system error");
}

TEST_CASE("tune: the search ends if the present settings fail, or a node is gone") {
  for (const bool gone : {false, true}) {
    INFO(gone);
    FakeNccl nccl({{"A=1", 1.5}}, 0.001, 1);
    const TuneSearch found = search_settings(four_knobs(), kNoLimit, [&](const NcclVariables& variables) {
      TuneTrial trial = nccl.run(variables);
      if (nccl.runs() < 9 || (gone && variables.empty())) return trial;
      trial.trouble = "spark-02: the connection broke";
      trial.ends_run = gone;
      return trial;
    });
    CHECK(found.trouble == "spark-02: the connection broke");
    CHECK(nccl.runs() < 20);
  }
}

TEST_CASE("tune: a value takes the place of another one of its knob") {
  // Alone, MAX=4 is best; beside B=1, MIN=8 is better.
  const std::vector<TuneKnob> knobs{{"channels", {{{"MAX", "4"}}, {{"MIN", "8"}}}}, {"B", {{{"B", "1"}}}}};
  FakeNccl nccl({{"MAX=4", 1.1}, {"B=1", 1.1}}, 0.001, 1);
  const TuneSearch found = search_settings(knobs, kNoLimit, [&](const NcclVariables& variables) {
    CHECK_FALSE((variables.contains("MAX") && variables.contains("MIN")));
    TuneTrial trial = nccl.run(variables);
    const bool both = variables.contains("MIN") && variables.contains("B");
    for (TunePoint& point : trial.points) point.seconds /= both ? 1.3 : 1;
    return trial;
  });
  CHECK(found.accepted == NcclVariables{{"MIN", "8"}, {"B", "1"}});
  CHECK(found.tried.at(0).verdict == TuneVerdict::kRefused);
  CHECK(found.tried.at(1).verdict == TuneVerdict::kAccepted);
}

TEST_CASE("tune: without a knob nothing is measured") {
  FakeNccl nccl({}, 0.001, 1);
  CHECK(search_settings({}, kNoLimit, nccl.measure()).history.empty());
  CHECK(nccl.runs() == 0);
}

}  // namespace sparkplan
