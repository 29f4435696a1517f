#include "engine/verify/levels/levels.h"

#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "engine/verify/levels/rdma_pair.h"
#include "engine/verify/levels/rdma_ports.h"
#include "engine/verify/pair_waits.h"
#include "engine/verify/pairs.h"

namespace sparkplan {
namespace {

/// The check of an end without a usable device; null: both ends have one.
const Check* unusable_end(const RdmaHalf& from, const RdmaHalf& to) {
  for (const RdmaHalf* half : {&from, &to}) {
    if (half->device == nullptr) return &half->check;
  }
  return nullptr;
}

struct Pair {
  std::vector<RdmaWay> ways;
  std::vector<Check> checks;
};

/// A second of writes in each direction, a latency, and about 12 requests.
constexpr std::chrono::seconds kUsualForWay{4};
/// A second of writes in each direction, and about 10 requests.
constexpr std::chrono::seconds kUsualForAll{3};

std::chrono::milliseconds usual_time(const std::vector<RdmaWay>& ways) {
  return kUsualForWay * std::ssize(ways) + (ways.size() > 1 ? kUsualForAll : std::chrono::seconds(0));
}

}  // namespace

std::vector<Check> verify_rdma(VerifyContext& context) {
  const auto halves = rdma_halves(context);
  std::vector<Check> checks;
  for (const auto& of_node : halves) {
    for (const RdmaHalf& half : of_node) checks.push_back(half.check);
  }
  std::map<NodePair, Pair> pairs;
  const auto all_pairs = half_pairs(context);
  for (const HalfPair& pair : all_pairs) {
    if (pair.from > pair.to) continue;
    const RdmaHalf& from = halves[pair.from][pair.from_half];
    const RdmaHalf& to = halves[pair.to][pair.to_half];
    Blocker blocker = blocker_of(context, pair, true);
    if (const Check* end = unusable_end(from, to); !blocker && end != nullptr) {
      const bool failed = end->status == CheckStatus::kFail;
      blocker = failed ? Blocker{end->id + " failed", end->id} : Blocker{end->cause, end->blocked_by};
    }
    if (blocker) {
      pairs[{pair.from, pair.to}].checks.push_back(check_of(Level::kRdma, context, pair));
      pairs[{pair.from, pair.to}].checks.back().block(blocker);
    } else {
      pairs[{pair.from, pair.to}].ways.push_back({pair, &from, &to});
    }
  }
  const auto planned = [&](std::size_t one, std::size_t other) {
    const auto found = pairs.find({one, other});
    return found == pairs.end() ? std::chrono::milliseconds(0) : usual_time(found->second.ways);
  };
  const auto measure = [&](std::size_t one, std::size_t other) {
    Pair& pair = pairs.at({one, other});
    append(pair.checks, measure_rdma(context, pair.ways));
  };
  measure_pairs(context, planned, measure);
  for (auto& [nodes, pair] : pairs) append(checks, std::move(pair.checks));
  append(checks, without_pairs(context, Level::kRdma, all_pairs));
  return checks;
}

}  // namespace sparkplan
