// The paired test of `tune`.
#include "engine/tune/comparison.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// A pair with two sizes. The candidate is faster by these factors.
TunePair pair_of(double small, double large) {
  TunePair pair;
  pair.before = {{Collective::kAllReduce, 8192, 40e-6}, {Collective::kAllReduce, 1 << 20, 200e-6}};
  pair.after = {{Collective::kAllReduce, 8192, 40e-6 / small}, {Collective::kAllReduce, 1 << 20, 200e-6 / large}};
  return pair;
}

std::vector<TunePair> pairs_of(std::size_t count, double small, double large) {
  std::vector<TunePair> pairs;
  for (std::size_t number = 0; number < count; ++number) {
    const double noise = 1 + 0.0001 * static_cast<double>(number);
    pairs.push_back(pair_of(small * noise, large * noise));
  }
  return pairs;
}

}  // namespace

TEST_CASE("tune: the signed-rank test has the exact chances of the tables") {
  // With n positive numbers, all of 2^n signs but one are worse.
  CHECK(signed_rank_chance({1, 2, 3, 4, 5}) == Approx(1.0 / 32));
  // Ranks 1 to 5 with a negative smallest one: the sums 14 and 15 of 32.
  CHECK(signed_rank_chance({-1, 2, 3, 4, 5}) == Approx(2.0 / 32));
  // The sums 13, 14, 15.
  CHECK(signed_rank_chance({1, -2, 3, 4, 5}) == Approx(3.0 / 32));
  CHECK(signed_rank_chance({-1, -2, -3}) == Approx(1));
  // Equal sizes: of the four sums 0, 1.5, 1.5, 3, three are 1.5 or more.
  CHECK(signed_rank_chance({1, -1}) == Approx(0.75));
  CHECK(signed_rank_chance({0, 0, 0}) == Approx(1));
  CHECK(signed_rank_chance({}) == 1);
}

TEST_CASE("tune: the gain of a pair is the geometric mean of its points") {
  CHECK(gain_of(pair_of(1.21, 1.0)).value() == Approx(1.1));
  CHECK(compare_pairs({pair_of(1.21, 1.0)}).points.at(0).gain == Approx(1.21));
}

TEST_CASE("tune: pairs of other sizes do not count for the sizes of the first pair") {
  auto pairs = pairs_of(12, 1.1, 1.1);
  for (std::size_t at = 1; at < pairs.size(); ++at) {
    // A node claims less memory: both runs have smaller messages.
    pairs[at].before[1].bytes = pairs[at].after[1].bytes = 512;
  }
  CHECK(compare_pairs(pairs).pairs == 1);
  CHECK(refusal_of(compare_pairs(pairs), 1) == "too few pairs");
}

TEST_CASE("tune: runs with other points, and times that are none, have no gain") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double seconds : {0.0, -1.0, infinity, std::nan("")}) {
    TunePair pair = pair_of(1, 1);
    pair.after[1].seconds = seconds;
    CHECK_FALSE(gain_of(pair).has_value());
  }
  TunePair shorter = pair_of(1, 1);
  shorter.after.pop_back();
  CHECK_FALSE(gain_of(shorter).has_value());
  TunePair other = pair_of(1, 1);
  other.after[0].bytes = 4096;
  CHECK_FALSE(gain_of(other).has_value());
  CHECK_FALSE(gain_of(TunePair{}).has_value());
  CHECK(compare_pairs({other, pair_of(1, 1)}).pairs == 1);
}

TEST_CASE("tune: the interval of the median has its 95 % only from six pairs on") {
  CHECK(compare_pairs(pairs_of(5, 1.1, 1.1)).low == 0);
  const TuneComparison six = compare_pairs(pairs_of(6, 1.1, 1.1));
  CHECK(six.low == Approx(1.1));
  CHECK(six.high == Approx(1.1 * 1.0005));
  // Of ten, the second and the ninth: each tail has 11 of 1024.
  const TuneComparison ten = compare_pairs(pairs_of(10, 1.1, 1.1));
  CHECK(ten.low == Approx(1.1 * 1.0001));
  CHECK(ten.high == Approx(1.1 * 1.0008));
}

TEST_CASE("tune: a clear gain is accepted, and each part of the rule refuses") {
  const std::size_t decisions = 13;
  const std::size_t enough = pairs_for(decisions);
  CHECK(enough >= kFewestTunePairs);
  CHECK(std::exp2(-static_cast<double>(enough)) < kFalseAcceptance / static_cast<double>(decisions));
  CHECK(refusal_of(compare_pairs(pairs_of(enough, 1.05, 1.05)), decisions).empty());
  CHECK(refusal_of(compare_pairs(pairs_of(9, 1.05, 1.05)), decisions) == "too few pairs");
  CHECK(refusal_of(compare_pairs(pairs_of(enough, 1.004, 1.004)), decisions) == "the gain is below 1 %");
  const std::string slower = refusal_of(compare_pairs(pairs_of(enough, 0.9, 1.3)), decisions);
  CHECK(slower.find("all_reduce of 8 KiB is 11") == 0);
  auto mixed = pairs_of(enough, 1.05, 1.05);
  for (std::size_t at = 0; at < mixed.size(); at += 2) mixed[at] = pair_of(0.95, 0.95);
  CHECK(refusal_of(compare_pairs(mixed), decisions) == "within the noise");
}

TEST_CASE("tune: more decisions take more pairs") {
  CHECK(pairs_for(1) == kFewestTunePairs);
  CHECK(pairs_for(1000) > pairs_for(13));
}

TEST_CASE("tune: a decision ends early only if it can no longer be a yes, and says why") {
  const std::size_t decisions = 13;
  const std::size_t wanted = pairs_for(decisions);
  CHECK(hopeless_reason(pairs_of(3, 1.05, 1.05), wanted, decisions).empty());
  CHECK(hopeless_reason({pair_of(0.99, 0.99)}, wanted, decisions).empty());
  CHECK(hopeless_reason(pairs_of(wanted / 2, 0.95, 0.95), wanted, decisions) == "the gain is below 1 %");
  // The median of a size is lost with more than half of all pairs, and not before.
  CHECK(hopeless_reason(pairs_of(wanted / 2, 0.9, 1.3), wanted, decisions).empty());
  CHECK(hopeless_reason(pairs_of(wanted / 2 + 1, 0.9, 1.3), wanted, decisions).find("all_reduce of 8 KiB is 11") == 0);
}

TEST_CASE("tune: a clear loss is large in the median, and in no pair absent") {
  CHECK(clear_loss_of(compare_pairs(pairs_of(kPairsOfClearLoss, 0.8, 3))).find("all_reduce of 8 KiB is 2") == 0);
  CHECK(slower_text(0.8) == "25 % slower");
  CHECK(clear_loss_of(compare_pairs(pairs_of(kPairsOfClearLoss - 1, 0.5, 3))).empty());
  CHECK(clear_loss_of(compare_pairs(pairs_of(4, 0.95, 3))).empty());
  CHECK(clear_loss_of(compare_pairs({pair_of(0.7, 3), pair_of(1, 3), pair_of(0.7, 3)})).empty());
  // The sizes of the pairs of two H200 hosts over TCP.
  CHECK_FALSE(clear_loss_of(compare_pairs({pair_of(0.95, 3.6), pair_of(0.7, 3.5), pair_of(0.83, 3.6)})).empty());
  CHECK(clear_loss_of({}).empty());
}

}  // namespace sparkplan
