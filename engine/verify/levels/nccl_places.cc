#include "engine/verify/levels/nccl_places.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/threads.h"
#include "engine/verify/levels/gpu_checks.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kElementBytes = 4;
constexpr std::int64_t kPlaceMebibyte = std::int64_t{1} << 20;

std::vector<Diagnostic> too_many_ranks(int wanted, const std::vector<NcclNode>& nodes) {
  std::vector<Diagnostic> found;
  for (const NcclNode& node : nodes) {
    if (node.rank.gpus >= wanted) continue;
    found.push_back(finding("verify.ranks-per-node",
                            "--ranks-per-node " + std::to_string(wanted) + ": " + node.name + " has " +
                                std::to_string(node.rank.gpus) + (node.rank.gpus == 1 ? " GPU" : " GPUs"),
                            "a GPU takes one rank; `--ranks-per-node gpus` starts one per GPU on each node"));
    found.back().node = node.name;
  }
  return found;
}

/// In these, each rank waits for all others.
bool is_joint(NcclPhase phase) { return phase == NcclPhase::kJoin || phase == NcclPhase::kRun; }

/// The node whose ranks have the least memory each.
const NcclNode& scarcest(const NcclChoice& choice, const std::vector<NcclNode>& nodes) {
  const auto memory = [&](const NcclNode& node) {
    return memory_of_rank(node.rank, ranks_on_node(choice, node.rank.gpus));
  };
  return *std::ranges::min_element(nodes, [&](const NcclNode& a, const NcclNode& b) { return memory(a) < memory(b); });
}

std::vector<Diagnostic> too_large_sizes(const NcclChoice& choice, const std::vector<NcclNode>& nodes) {
  int ranks = 0;
  for (const NcclNode& node : nodes) ranks += ranks_on_node(choice, node.rank.gpus);
  const NcclNode& least = scarcest(choice, nodes);
  const auto memory = memory_of_rank(least.rank, ranks_on_node(choice, least.rank.gpus));
  const auto largest = choice.sizes.back();
  auto collectives = choice.collectives;
  if (collectives.empty()) collectives = {Collective::kAllReduce, Collective::kAllGather};
  for (const Collective one : collectives) {
    const auto fitting = size_that_fits(one, largest, ranks, memory);
    if (fitting == largest || !fits_ranks(one, ranks)) continue;
    const auto shape = collective_shape(one, largest, ranks);
    const std::string range = "--sizes " + std::to_string(choice.sizes.front()) + ":" + std::to_string(fitting);
    auto misfit =
        finding("verify.sizes",
                size_text(largest) + " is too large: " + std::string(to_string(one)) + " needs buffers of " +
                    size_text((shape.send + shape.receive) * kElementBytes) +
                    " on each rank, and the test takes a fifth of the " +
                    size_text(memory / kPlaceMebibyte * kPlaceMebibyte) + " that are free on " + least.name,
                fitting >= choice.sizes.front() && fitting > 0 ? range + " fits (" + size_text(fitting) + ")"
                                                               : "stop programs on its GPU; `nvidia-smi` lists them");
    misfit.node = least.name;
    return {std::move(misfit)};
  }
  return {};
}

/// The places without a program on their nodes' GPUs.
std::vector<RankPlace> unused_of(const std::vector<RankPlace>& places, const NcclRunOptions& options) {
  const auto seen = list_programs(places, options);
  std::vector<RankPlace> unused;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!forbids_ranks(checks_of_use(places[i].name(), seen[i], false))) unused.push_back(places[i]);
  }
  return unused;
}

constexpr std::string_view kSection = "nccl";
constexpr std::string_view kType = "nccl_env";

/// `conf` is the value for NCCL's own file, `profile` the value for all programs.
std::string value_of(const Value& desired) {
  auto conf = desired.text_or("conf", "");
  if (!conf.empty()) return conf;
  auto profile = desired.text_or("profile", "");
  return profile.empty() ? desired.text_or("prepended", "") : profile;
}

}  // namespace

NcclRunOptions nccl_run_options(const VerifyContext& context) {
  NcclRunOptions options;
  options.agent = context.options.agent;
  options.stop = context.stop;
  options.longest_measurement = std::chrono::seconds(5);
  return options;
}

Result<RankPlace> first_rank_of(const VerifyContext& context, const VerifyNode& node) {
  if (!node.can_be_asked() || node.facts == nullptr) {
    return failure(ErrorCode::kUnreachable, node.absence());
  }
  if (!node.facts->live) return failure(ErrorCode::kUnsupported, "the node is not a running system");
  auto environment = nccl_environment(context.cluster, *node.spec, *node.facts, *context.registry);
  const auto& image = context.options.nccl.image;
  if (image) {
    for (const std::string_view name : kHostVariables) environment.variables.erase(std::string(name));
    const ContainerHardware hardware{image->gpu_nodes.contains(node.name()), !node.facts->rdma_devices.empty()};
    return RankPlace{
        node.spec, 0, "", std::move(environment.variables), 1, RankContainer{image->name, image->engine, hardware}};
  }
  const auto& library = context.options.nccl.library.empty() ? environment.library : context.options.nccl.library;
  return RankPlace{node.spec, 0, library, std::move(environment.variables)};
}

std::vector<GpuOutcome> list_programs(const std::vector<RankPlace>& places, const NcclRunOptions& options) {
  GpuRunOptions gpus;
  gpus.agent = options.agent;
  gpus.stop = options.stop;
  gpus.command.load_ms = 0;
  gpus.patience = options.prepare_timeout;
  std::vector<GpuOutcome> outcomes(places.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto measure = [&, i] { outcomes[i] = measure_gpus(*places[i].node, gpus); };
    add_thread_or_run(threads, measure);
  }
  threads.clear();  // Waits: the outcomes are returned only when they are complete.
  return outcomes;
}

int ranks_on_node(const NcclChoice& choice, int gpus) {
  const int wanted = choice.ranks_per_node.value_or(1);
  return wanted == 0 ? gpus : wanted;
}

void append_ranks(const RankPlace& first, std::vector<RankPlace>& places) {
  for (int gpu = 0; gpu < first.ranks_on_node; ++gpu) {
    places.push_back(first);
    places.back().device = gpu;
  }
}

std::string memory_limit_of(const std::vector<NcclRequest>& requests, const NcclOutcome& outcome,
                            const std::vector<std::string>& names) {
  std::int64_t asked = 0;
  std::int64_t largest = 0;
  for (const NcclRequest& request : requests) {
    for (const std::int64_t size : request.sizes) asked = std::max(asked, size);
  }
  for (const NcclMeasurement& one : outcome.measured) largest = std::max(largest, one.bytes);
  // An operation that divides its data rounds it down a little.
  const auto place = place_of_least_memory(outcome);
  if (largest == 0 || asked / largest < 2 || !place) return "";
  return names.at(*place) + " reports memory for " + size_text(largest) + " at most, of " + size_text(asked);
}

std::string beside_silent(const std::vector<RankPlace>& places, const std::vector<bool>& answered, NcclPhase phase) {
  std::vector<std::string> silent;
  std::vector<std::string> ended;
  for (std::size_t i = 0; i < answered.size(); ++i) (answered[i] ? ended : silent).push_back(places[i].name());
  std::string text;
  if (silent.size() > 1) {
    silent.erase(silent.begin());
    text += ", nor on " + fold_names(silent);
  }
  if (is_joint(phase) && !ended.empty())
    text += "; " + fold_names(ended) + (ended.size() == 1 ? " reports" : " report") + " its end";
  return text;
}

std::string beside_report(const std::vector<RankPlace>& places, const std::vector<bool>& heard, NcclPhase phase) {
  std::vector<std::string> silent;
  for (std::size_t i = 0; i < heard.size() && is_joint(phase); ++i) {
    if (!heard[i]) silent.push_back(places[i].name());
  }
  return silent.empty() ? "" : "; no answer from " + fold_names(silent);
}

std::vector<Diagnostic> misfits_of(const NcclChoice& choice, const std::vector<NcclNode>& nodes) {
  if (nodes.empty()) return {};
  if (auto misfits = too_many_ranks(choice.ranks_per_node.value_or(1), nodes); !misfits.empty()) return misfits;
  return choice.sizes.empty() ? std::vector<Diagnostic>() : too_large_sizes(choice, nodes);
}

std::vector<Diagnostic> nccl_misfits(const VerifyContext& context) {
  const NcclChoice& choice = context.options.nccl;
  if (choice.sizes.empty() && !choice.ranks_per_node) return {};
  std::vector<RankPlace> places;
  for (const VerifyNode& node : context.nodes) {
    auto place = first_rank_of(context, node);
    if (!place) continue;
    places.push_back(*std::move(place));
    context.progress(node.name(), "checking GPU and NCCL");
  }
  const auto options = nccl_run_options(context);
  if (!context.options.force) places = unused_of(places, options);
  const auto looked = inspect_nccl(places, options);
  std::vector<NcclNode> nodes;
  for (std::size_t i = 0; i < looked.size(); ++i) {
    if (!looked[i].failure) nodes.push_back({places[i].name(), looked[i].prepared.at(0)});
  }
  return misfits_of(choice, nodes);
}

NcclEnvironment nccl_environment(const Cluster& cluster, const NodeSpec& node, const Facts& facts,
                                 const Registry& registry) {
  NcclEnvironment environment;
  const auto section = node.sections.find(std::string(kSection));
  const ResourceType* type = registry.find(kType);
  if (section == node.sections.end() || section->second.is_null() || type == nullptr) return environment;
  environment.library = section->second.text_or("library", "");
  const std::map<std::string, NodeExports> no_exports;
  const auto desired = type->desired({cluster, node, no_exports}, section->second, facts);
  for (const auto& resource : desired.resources) {
    environment.variables[resource.id.name] = value_of(resource.desired);
    if (!resource.desired.text_or("prepended", "").empty()) environment.in_front.insert(resource.id.name);
  }
  return environment;
}

}  // namespace sparkplan
