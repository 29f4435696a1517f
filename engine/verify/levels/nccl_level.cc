#include "engine/verify/levels/levels.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/verify/levels/gpu_checks.h"
#include "engine/verify/levels/nccl_checks.h"
#include "engine/verify/levels/nccl_places.h"
#include "engine/verify/levels/nccl_run.h"
#include "engine/verify/pairs.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kLargest = 1024 * kMebibyte;
constexpr const char* kMixedVersions = "all/version";
constexpr std::array kBelow{Level::kLink, Level::kMtu, Level::kTcp, Level::kRdma};

constexpr std::int64_t kLatencySize = 8192;

/// A pair is measured at the largest size; the whole group at all sizes, as nccl-tests does. The latency comes last: a
/// failure belongs to the bandwidth.
std::vector<NcclRequest> requests_for(const NcclChoice& choice, bool pair) {
  auto sizes = choice.sizes;
  if (sizes.empty() && pair) sizes = {kLargest};
  if (sizes.empty()) {
    sizes = {kMebibyte, 4 * kMebibyte, 16 * kMebibyte, 64 * kMebibyte, 256 * kMebibyte, kLargest};
  }
  auto collectives = choice.collectives;
  if (collectives.empty()) collectives = {Collective::kAllReduce, Collective::kAllGather};
  std::vector<NcclRequest> requests;
  for (const Collective one : collectives) requests.push_back({one, sizes, !choice.sizes.empty()});
  if (choice.sizes.empty()) requests.push_back({Collective::kAllReduce, {kLatencySize}, false, true});
  return requests;
}

/// "=rocep1s0f1,roceP2p1s0f1": two.
std::size_t hcas_in(const std::map<std::string, std::string>& variables) {
  const auto wanted = variables.find("NCCL_IB_HCA");
  if (wanted == variables.end() || wanted->second.empty() || wanted->second.starts_with("^")) return 0;
  return split(wanted->second, ',').size();
}

class NcclLevel {
 public:
  explicit NcclLevel(VerifyContext& context)
      : context_(context),
        choice_(context.options.nccl),
        options_(nccl_run_options(context)),
        places_(context.nodes.size()) {}

  std::vector<Check> run() {
    inspect_nodes();
    refuse_mixed_versions();
    // With two nodes, the only pair is also the whole group. A sweep of each pair would take hours.
    if (context_.nodes.size() > 2 && choice_.sizes.empty()) measure_pairs();
    measure_group();
    report_left_running();
    return std::move(checks_);
  }

 private:
  std::size_t count() const { return context_.nodes.size(); }
  std::vector<std::string> names(const std::vector<std::size_t>& members) const {
    std::vector<std::string> result;
    for (const auto member : members) result.push_back(context_.nodes[member].name());
    return result;
  }

  /// A measured bandwidth of RDMA between some of these nodes, and no failed RDMA check among them.
  bool rdma_passed(const std::vector<std::size_t>& members) const {
    const auto among = names(members);
    bool measured = false;
    for (const Check& check : context_.checks) {
      const bool ours = std::all_of(check.nodes.begin(), check.nodes.end(), [&](const std::string& name) {
        return std::find(among.begin(), among.end(), name) != among.end();
      });
      if (check.level != Level::kRdma || check.nodes.size() != 2 || !ours) continue;
      if (check.status == CheckStatus::kFail) return false;
      measured = measured || (check.status == CheckStatus::kPass && check.value.has_value());
    }
    return measured;
  }

  bool ring() const { return context_.cluster.cables.size() > 2; }

  NcclGround ground(const std::vector<std::size_t>& members) const {
    NcclGround ground{names(members), true, ring(), context_.options.nccl_busbw, 0, false, false, rdma_passed(members)};
    for (std::size_t i = 0; i < members.size(); ++i) {
      const VerifyNode& node = context_.nodes[members[i]];
      const RankPlace& place = places_[members[i]];
      const bool is_spark = node.facts != nullptr && is_dgx_spark(*node.facts);
      if (!is_spark) ground.other_nodes.push_back(node.name());
      ground.sparks = ground.sparks && is_spark;
      ground.library_declared = ground.library_declared || !place.library.empty();
      ground.nccl_declared = ground.nccl_declared || node.spec->sections.contains("nccl");
      const auto hcas = hcas_in(place.environment);
      ground.hcas_wanted = i == 0 ? hcas : std::min(ground.hcas_wanted, hcas);
    }
    if (ground.other_nodes.size() == members.size()) ground.other_nodes.clear();
    ground.one_off = !choice_.usual();
    ground.library = choice_.library;
    if (choice_.image) ground.image = choice_.image->name;
    const VerifyNode& first = context_.nodes[members.at(0)];
    if (members.size() == 1 && first.facts != nullptr) ground.host_nccl = first.facts->nccl_version;
    // Neighbours in a ring have one cable between them, with its two halves.
    if (ring() && members.size() == 2) ground.hcas_wanted = std::min<std::size_t>(ground.hcas_wanted, 2);
    return ground;
  }

  void inspect_nodes() {
    std::vector<std::size_t> askable;
    for (std::size_t i = 0; i < count(); ++i) {
      auto place = first_rank_of(context_, context_.nodes[i]);
      if (!place) {
        note_absent(i, place.error().message);
        continue;
      }
      places_[i] = *std::move(place);
      askable.push_back(i);
    }
    exclude_used(askable);
    std::vector<RankPlace> places;
    for (const auto i : askable) {
      context_.progress(context_.nodes[i].name(), "checking GPU and NCCL");
      places.push_back(places_[i]);
    }
    const auto looked = inspect_nccl(places, options_);
    for (std::size_t at = 0; at < askable.size(); ++at) note_inspection(askable[at], looked[at]);
  }

  /// Removes the nodes that a program uses, before a rank takes memory of their GPUs. A node that does not answer is
  /// left to inspect_nccl(), which has a better error.
  void exclude_used(std::vector<std::size_t>& askable) {
    std::vector<RankPlace> places;
    for (const auto i : askable) {
      context_.progress(context_.nodes[i].name(), "looking for programs on its GPUs");
      places.push_back(places_[i]);
    }
    const auto seen = list_programs(places, options_);
    std::vector<std::size_t> unused;
    for (std::size_t at = 0; at < seen.size(); ++at) {
      const std::size_t node = askable[at];
      if (seen[at].left_running) left_running_.insert(context_.nodes[node].name());
      auto uses = checks_of_use(context_.nodes[node].name(), seen[at], context_.options.force);
      if (forbids_ranks(uses)) {
        const auto is_skipped = [](const Check& use) { return use.status == CheckStatus::kSkip; };
        in_use_[node] = std::find_if(uses.begin(), uses.end(), is_skipped)->id;
      } else {
        unused.push_back(node);
      }
      append(checks_, std::move(uses));
    }
    askable = std::move(unused);
  }

  /// Called by several threads at a time while pairs are measured.
  void note_left_running(const NcclOutcome& outcome) {
    const std::lock_guard lock(left_running_mutex_);
    left_running_.insert(outcome.left_running.begin(), outcome.left_running.end());
  }

  /// Reports a rank that does not end: it keeps its GPU, and the next run finds the GPU in use.
  void report_left_running() {
    for (const std::string& name : left_running_) {
      Check check = skipped(Level::kNccl, {name}, "rank", "");
      check.text = "a rank may still be running";
      diagnose(check, CheckStatus::kFail, "nccl-rank-left", name);
      checks_.push_back(std::move(check));
    }
  }

  void note_absent(std::size_t node, const std::string& reason) {
    checks_.push_back(skipped(Level::kNccl, names({node}), "", reason));
  }

  void note_inspection(std::size_t node, const NcclOutcome& looked) {
    checks_.push_back(check_of_node(looked, ground({node})));
    if (checks_.back().status == CheckStatus::kSkip) without_gpu_.insert(node);
    note_left_running(looked);
    if (looked.failure) return;
    able_[node] = looked.prepared.at(0).nccl_version;
    places_[node].ranks_on_node = ranks_on_node(choice_, looked.prepared.at(0).gpus);
  }

  /// One check that names all versions, instead of one failure per pair.
  void refuse_mixed_versions() {
    std::map<int, std::vector<std::string>> by_version;
    for (const auto& [node, version] : able_) by_version[version].push_back(context_.nodes[node].name());
    if (by_version.size() < 2) return;
    std::vector<std::string> parts;
    std::vector<std::size_t> members;
    for (const auto& [version, nodes] : by_version)
      parts.push_back(nccl_version_text(version) + " on " + fold_names(nodes));
    for (const auto& [node, version] : able_) members.push_back(node);
    Check check = skipped(Level::kNccl, {}, kMixedVersions, "");
    check.nodes = names(members);
    check.text = "NCCL " + join(parts, ", ");
    diagnose(check, CheckStatus::kFail, "nccl-mixed-versions", join(parts, ", "));
    checks_.push_back(std::move(check));
    mixed_ = true;
  }

  /// Why these nodes cannot be measured together.
  Blocker blocker_of(const std::vector<std::size_t>& members) const {
    for (const auto member : members) {
      if (able_.contains(member)) continue;
      const std::string& name = context_.nodes[member].name();
      const auto use = in_use_.find(member);
      return {name + " is excluded, see " + (use == in_use_.end() ? "nccl/" + name : use->second)};
    }
    if (mixed_) {
      for (const auto member : members) {
        if (able_.at(member) != able_.at(members[0])) return failed(check_id(Level::kNccl, {}, kMixedVersions));
      }
    }
    const auto among = names(members);
    for (const Check& check : context_.checks) {
      const bool below = std::find(kBelow.begin(), kBelow.end(), check.level) != kBelow.end();
      if (!below || check.status != CheckStatus::kFail || check.nodes.empty()) continue;
      const bool ours = std::all_of(check.nodes.begin(), check.nodes.end(), [&](const std::string& name) {
        return std::find(among.begin(), among.end(), name) != among.end();
      });
      if (ours) return failed(check.id);
    }
    return {};
  }
  static Blocker failed(const std::string& id) { return {id + " failed", id}; }

  /// Pairs that no network joins (in a ring, nodes that are no neighbours) cannot exchange data by RDMA.
  std::set<NodePair> joined_pairs() const {
    std::set<NodePair> pairs;
    const bool fabric = std::any_of(context_.nodes.begin(), context_.nodes.end(),
                                    [](const VerifyNode& node) { return !node.halves.empty(); });
    if (fabric) {
      for (const HalfPair& pair : half_pairs(context_)) pairs.insert(std::minmax(pair.from, pair.to));
      return pairs;
    }
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = i + 1; j < count(); ++j) pairs.emplace(i, j);
    }
    return pairs;
  }

  void measure_pairs() {
    const auto joined = joined_pairs();
    std::map<NodePair, std::vector<Check>> found;
    std::mutex mutex;
    const auto work = [&](std::size_t one, std::size_t other) {
      const NodePair pair = std::minmax(one, other);
      if (!joined.contains(pair)) return;
      const std::vector<std::size_t> members{pair.first, pair.second};
      auto checks = measure("", members, requests_for(choice_, true));
      const std::lock_guard lock(mutex);
      found[pair] = std::move(checks);
    };
    // A round with a rank that answers just in time takes minutes, and the agents have no part in it.
    in_rounds(
        count(), context_.options.workers, work, [&] { return context_.stop.stop_requested(); },
        [&] { keep_agents(context_); });
    keep_agents(context_);
    for (auto& [pair, checks] : found) append(checks_, std::move(checks));
  }

  void measure_group() {
    // A machine without a GPU, such as a storage node, is not part of the group. A GPU in use is left alone.
    std::vector<std::size_t> all;
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < count(); ++i) {
      all.push_back(i);
      if (!without_gpu_.contains(i) && !in_use_.contains(i)) members.push_back(i);
    }
    // Then the checks of all nodes are skipped, with the reason.
    if (count_ranks(members) < 2) members = all;
    if (count_ranks(members) < 2 || context_.stop.stop_requested()) return;
    if (!in_use_.empty() && is_known_pair(members)) return;
    append(checks_, measure(members.size() <= 2 ? "" : "all", members, requests_for(choice_, false)));
  }

  /// True for two nodes that measure_pairs() has measured: the group would have the same checks again.
  bool is_known_pair(const std::vector<std::size_t>& members) const {
    return members.size() == 2 && std::any_of(checks_.begin(), checks_.end(), [&](const Check& check) {
             return check.what != kMixedVersions && check.nodes == names(members);
           });
  }

  std::vector<Check> measure(const std::string& group, const std::vector<std::size_t>& members,
                             const std::vector<NcclRequest>& requests) {
    if (const Blocker blocker = blocker_of(members)) {
      std::vector<Check> checks;
      for (const auto& request : requests) {
        checks.push_back(check_of_operation(group, request, names(members), ""));
        checks.back().block(blocker);
      }
      return checks;
    }
    std::vector<RankPlace> places;
    for (const auto member : members) append_ranks(places_[member], places);
    auto options = options_;
    options.progress = [&](std::string_view doing) {
      for (const auto member : members) context_.progress(context_.nodes[member].name(), doing);
    };
    const auto outcome = run_nccl(places, requests, options);
    note_left_running(outcome);
    const bool sweep = requests.front().sizes.size() > 1 || requests.front().in_place;
    if (sweep && !outcome.measured.empty()) {
      context_.tables.push_back(nccl_table(outcome.measured, static_cast<int>(places.size())));
    }
    auto of_run = ground(members);
    if (places.size() != members.size()) {
      for (const RankPlace& place : places) of_run.ranks.push_back(place.name());
    }
    return checks_of_run(group, requests, outcome, of_run);
  }

  std::size_t count_ranks(const std::vector<std::size_t>& members) const {
    std::size_t ranks = 0;
    for (const auto member : members) ranks += static_cast<std::size_t>(places_[member].ranks_on_node);
    return ranks;
  }

  VerifyContext& context_;
  const NcclChoice& choice_;
  NcclRunOptions options_;
  std::vector<RankPlace> places_;    ///< By node: its first rank.
  std::map<std::size_t, int> able_;  ///< Nodes that can take part, and their NCCL's version.
  std::set<std::size_t> without_gpu_;
  std::map<std::size_t, std::string> in_use_;  ///< Nodes that programs use, and the check that names them.
  bool mixed_ = false;
  std::mutex left_running_mutex_;
  std::set<std::string> left_running_;
  std::vector<Check> checks_;
};

}  // namespace

std::vector<Check> verify_nccl(VerifyContext& context) { return NcclLevel(context).run(); }

}  // namespace sparkplan
