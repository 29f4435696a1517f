#include "engine/agent/session/observation_room.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/json.h"
#include "engine/model/fields.h"

namespace sparkplan {
namespace {

/// For what the reply has around the observations.
constexpr std::size_t kAroundObservations = 256;

struct Cost {
  std::size_t bytes = 0;
  std::size_t memory = 0;

  bool is_within(const FrameLimits& limits) const { return bytes <= limits.bytes && memory <= limits.memory; }
};

template <class T>
Cost cost_of(const T& object) {
  const Value value = encode(object);
  Cost cost;
  encode_json(value, -1, [&](std::string_view piece) { cost.bytes += piece.size(); });
  cost.memory = cost.bytes + json_weight(value);
  return cost;
}

/// The observations of one type under one name: a file is a resource and an artifact.
struct Candidate {
  std::vector<Observation*> observations;
  Cost cost;
};

std::vector<Candidate> candidates_in(ObservedState& observed) {
  std::vector<Candidate> all;
  for (auto& [type, seen] : observed.types) {
    std::map<std::string, Candidate> by_name;
    const auto add = [&](const std::string& name, Observation& observation) {
      Candidate& candidate = by_name[name];
      const Cost cost = cost_of(observation);
      candidate.observations.push_back(&observation);
      candidate.cost.bytes += cost.bytes;
      candidate.cost.memory += cost.memory;
    };
    for (auto& [name, observation] : seen.resources) add(name, observation);
    for (auto& [artifact, observation] : seen.artifacts) add(artifact.name, observation);
    for (auto& [name, candidate] : by_name) all.push_back(std::move(candidate));
  }
  return all;
}

Error has_no_room(const Cost& cost, const FrameLimits& limits) {
  return make_error(ErrorCode::kUnsupported,
                    "it takes " + std::to_string(cost.bytes) + " bytes of a reply, which has " +
                        std::to_string(limits.bytes) + " for all resources of the node",
                    "shorten the file on the node, or move it away; then plan again");
}

}  // namespace

void keep_within(ObservedState& observed, const FrameLimits& limits) {
  Cost total = cost_of(observed);
  total.bytes += kAroundObservations;
  total.memory += kAroundObservations;
  if (total.is_within(limits)) return;
  std::vector<Candidate> candidates = candidates_in(observed);
  std::ranges::stable_sort(candidates, std::ranges::greater(), [](const Candidate& one) { return one.cost.memory; });
  for (const Candidate& candidate : candidates) {
    if (total.is_within(limits)) return;
    const Observation without(has_no_room(candidate.cost, limits));
    const Cost cost = cost_of(without);
    const std::size_t count = candidate.observations.size();
    if (cost.memory * count >= candidate.cost.memory) return;  // The others are smaller still.
    for (Observation* observation : candidate.observations) *observation = without;
    total.bytes = total.bytes + cost.bytes * count - candidate.cost.bytes;
    total.memory = total.memory + cost.memory * count - candidate.cost.memory;
  }
}

}  // namespace sparkplan
