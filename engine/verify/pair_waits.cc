#include "engine/verify/pair_waits.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/verify/pairs.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;

bool is_left_out(const VerifyNode& node) { return node.is_too_late() || node.keeps_others_waiting(); }

/// The lost time of a node.
using Account = std::pair<milliseconds, VerifyNode*>;

std::vector<Account> accounts_of(VerifyContext& context) {
  std::vector<Account> accounts;
  for (VerifyNode& node : context.nodes) {
    if (is_left_out(node) || node.waits.lost.empty()) continue;
    milliseconds sum{0};
    for (const auto& [other, lost] : node.waits.lost) {
      if (!is_left_out(context.nodes[other])) sum += std::min<milliseconds>(lost, kMostForPartner);
    }
    accounts.emplace_back(sum, &node);
  }
  return accounts;
}

std::size_t partners_that_waited(const VerifyContext& context, const VerifyNode& node) {
  return static_cast<std::size_t>(std::ranges::count_if(node.waits.lost, [&](const auto& one) {
    return one.second > milliseconds(0) && !is_left_out(context.nodes[one.first]);
  }));
}

void note_lost(VerifyNode& node, std::size_t other, milliseconds lost) { node.waits.lost[other] += lost; }

}  // namespace

void leave_out_of_pairs(VerifyContext& context) {
  const auto by_time = [](const Account& one, const Account& other) { return one.first < other.first; };
  // One at a time, the worst first: the time that the others lost with it then no longer counts.
  for (auto accounts = accounts_of(context); !accounts.empty(); accounts = accounts_of(context)) {
    std::ranges::stable_sort(accounts, by_time);
    const auto& [most, worst] = accounts.back();
    if (most - accounts[(accounts.size() - 1) / 2].first <= kLateAllowance) return;
    worst->waits.kept = partners_that_waited(context, *worst);
  }
}

void measure_pairs(VerifyContext& context, const std::function<milliseconds(std::size_t, std::size_t)>& planned,
                   const std::function<void(std::size_t, std::size_t)>& work) {
  const auto timed = [&](std::size_t one, std::size_t other) {
    VerifyNode& first = context.nodes[one];
    VerifyNode& second = context.nodes[other];
    const milliseconds expected = planned(one, other);
    if (expected == milliseconds(0)) return;
    const bool may_wait = !is_left_out(first) && !is_left_out(second);
    const bool both_there = first.can_be_asked() && second.can_be_asked();
    const auto requests = first.requests + second.requests;
    const auto begun = std::pair(first.now(), second.now());
    work(one, other);
    // A pair without a measurement, such as one behind a failed link, would lower the median.
    if (!may_wait || first.requests + second.requests == requests) return;
    // The same clock, except in tests.
    const auto took = std::chrono::ceil<milliseconds>(std::max(first.now() - begun.first, second.now() - begun.second));
    const auto lost = std::max(milliseconds(0), took - expected);
    // If only one node could be asked, the pair was not measured, and its zero would lower the median.
    if (!both_there && lost == milliseconds(0)) return;
    note_lost(first, other, lost);
    note_lost(second, one, lost);
  };
  in_rounds(
      context.nodes.size(), context.options.workers, timed, [&] { return context.stop.stop_requested(); },
      [&] { leave_out_of_pairs(context); });
}

}  // namespace sparkplan
