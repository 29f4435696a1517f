#include "engine/verify/levels/levels.h"

#include <map>
#include <utility>

#include "engine/verify/levels/rdma_pair.h"
#include "engine/verify/levels/rdma_ports.h"
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
  const auto measure = [&](std::size_t one, std::size_t other) {
    const auto found = pairs.find({one, other});
    if (found == pairs.end() || found->second.ways.empty()) return;
    append(found->second.checks, measure_rdma(context, found->second.ways));
  };
  in_rounds(context.nodes.size(), context.options.workers, measure, [&] { return context.stop.stop_requested(); });
  for (auto& [nodes, pair] : pairs) append(checks, std::move(pair.checks));
  append(checks, without_pairs(context, Level::kRdma, all_pairs));
  return checks;
}

}  // namespace sparkplan
