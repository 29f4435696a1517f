#include "engine/fleet/session/node_reply.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/reported.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestCode = 80;

/// Of the values from before a run that is rolled back. They are in the plan, its shown copy, the request and its text.
/// A manifest.json has up to 8 MiB; 2,000 resources with 30 values of 136 bytes each are 8 MB.
constexpr std::size_t kMostManagedBefore = std::size_t{12} << 20;

Error no_observation(const Error& why) {
  std::string reason = why.describe();
  if (reason.size() > kLongestReason) reason = reason.substr(0, kLongestReason) + "...";
  return Error{ErrorCode::kFailed,
               "the node's agent sent an invalid reply: " + printable(reason),
               {},
               std::nullopt,
               "find out what runs on that node before anything else: sparkplan's agent never sends this"};
}

/// A node can only name a roster that this very request has offered to it.
Result<void> check_known_roster(const FactsReply& reply, const FactsRequest& request) {
  if (reply.known_roster.empty()) return {};
  const auto& offered = request.known_rosters;
  if (std::find(offered.begin(), offered.end(), reply.known_roster) == offered.end()) {
    return failure(ErrorCode::kInvalidInput, "a roster that was not offered to it");
  }
  if (!reply.manifest || reply.manifest->roster != Roster{}) {
    return failure(ErrorCode::kInvalidInput, "the digest of a roster without a manifest, or beside a roster");
  }
  return {};
}

Result<void> check(FactsReply& reply, const FactsRequest& request, const Registry& registry) {
  SPARK_CHECK(check_known_roster(reply, request));
  std::set<std::string> exporting;
  for (const auto& [type, section] : request.exports) exporting.insert(type);
  SPARK_CHECK(check_exports(exporting, registry, reply.exports));
  std::erase_if(reply.export_errors, [&](const auto& one) { return !exporting.contains(one.first); });
  if (reply.manifest) SPARK_CHECK(check_manifest(*reply.manifest, registry));
  const bool observes = request.observe_managed && reply.manifest;
  if (!observes) reply.observed = {};
  return observes ? check_observed(names_managed(*reply.manifest), registry, reply.observed) : Result<void>();
}

/// A run changes no more resources than a manifest can have. Each one becomes a change.
Result<void> check_resources(const std::vector<Step>& steps, const Registry& registry) {
  std::map<std::string_view, std::set<std::string_view>> names;
  std::size_t total = 0;
  for (const Step& step : steps) {
    for (const ResourceId& id : step.resources) total += names[id.type].insert(id.name).second ? 1U : 0U;
  }
  const auto is_too_large = [&](const auto& one) {
    const ResourceType* type = registry.find(one.first);
    return type == nullptr || one.second.size() > type->info().reported.most;
  };
  if (total <= kMostManaged && std::ranges::none_of(names, is_too_large)) return {};
  return failure(ErrorCode::kInvalidInput,
                 "steps for " + std::to_string(total) + " resources, more than a node can have");
}

Result<void> check(const UndoReply& reply, const Registry& registry) {
  SPARK_CHECK(check_steps(reply.steps, registry));
  SPARK_CHECK(check_resources(reply.steps, registry));
  // Each repetition would cost the run another stage.
  std::set<ArtifactId> undone;
  for (const Step& step : reply.steps) {
    if (undone.insert(step.artifact).second) continue;
    return failure(ErrorCode::kInvalidInput, "two steps for one artifact: " + step.artifact.str());
  }
  std::size_t bytes = 0;
  for (const auto& [id, before] : reply.managed_before) {
    if (!before) continue;
    SPARK_CHECK(check_managed(id, before->last_applied, registry));
    bytes += memory_of(before->last_applied);
  }
  if (bytes <= kMostManagedBefore) return {};
  return failure(ErrorCode::kInvalidInput,
                 "earlier values of " + std::to_string(bytes) + " bytes, more than a manifest can have");
}

/// Moves the findings within the limits, each once. So a node cannot push the warnings about itself and others away.
void take_findings(const std::string& type, std::vector<Ineffective> findings, std::size_t& taken,
                   CheckedFindings& into) {
  std::set<std::tuple<std::string, std::string, std::string, std::string>> seen;
  std::map<std::pair<std::string, std::string>, std::size_t> of_code;
  for (Ineffective& one : findings) {
    if (!seen.emplace(one.name, one.code, one.message, one.hint).second) continue;
    if (taken == kMostFindingsOfNode || of_code[{one.name, one.code}] == kMostFindingsOfACode) {
      ++into.left_out;
      into.without_finding[type].insert(std::move(one.name));
      continue;
    }
    ++taken;
    ++of_code[{one.name, one.code}];
    into.ineffective[type].push_back(std::move(one));
  }
  for (const Ineffective& one : into.ineffective[type]) into.without_finding[type].erase(one.name);
}

/// `asked` are the resources of the request by type.
Result<CheckedFindings> checked_findings(EffectReply reply,
                                         const std::map<std::string, std::map<std::string, Value>>& asked) {
  CheckedFindings kept;
  std::size_t taken = 0;
  std::erase_if(reply.ineffective, [&](const auto& one) { return !asked.contains(one.first); });
  for (auto& [type, findings] : reply.ineffective) {
    const auto& resources = asked.at(type);
    std::erase_if(findings, [&](const Ineffective& one) { return !resources.contains(one.name); });
    for (const Ineffective& one : findings) {
      const bool of_type = one.code.starts_with(type + ".") && check_shape(one.code, Shape::line(kLongestCode));
      const Error why{ErrorCode::kInvalidInput, "a finding whose code is not of " + type, {}, std::nullopt, {}};
      if (!of_type) return failure(no_observation(why));
    }
    take_findings(type, std::move(findings), taken, kept);
  }
  return kept;
}

}  // namespace

Result<FactsReply> checked(FactsReply reply, const FactsRequest& request, const Registry& registry) {
  if (auto fits = check(reply, request, registry); !fits) return failure(no_observation(fits.error()));
  return reply;
}

Result<ObservedState> checked(ObservedState observed, const std::map<std::string, std::vector<std::string>>& asked,
                              const Registry& registry) {
  if (auto fits = check_observed(asked, registry, observed); !fits) return failure(no_observation(fits.error()));
  return observed;
}

Result<UndoReply> checked(UndoReply reply, const Registry& registry) {
  if (auto fits = check(reply, registry); !fits) return failure(no_observation(fits.error()));
  return reply;
}

Result<CheckedFindings> checked(EffectReply reply, const EffectRequest& request) {
  return checked_findings(std::move(reply), request.desired);
}

Result<CheckedFindings> checked(EffectReply reply, const ForesightRequest& request) {
  return checked_findings(std::move(reply), request.ahead);
}

Result<ObservedState> observe_node(AgentClient& client, const ObserveNodeRequest& request, const Registry& registry) {
  SPARK_TRY(auto observed, client.call(request));
  return checked(std::move(observed), request.names, registry);
}

Result<UndoReply> what_undoes(AgentClient& client, const UndoRequest& request, const Registry& registry) {
  SPARK_TRY(auto reply, client.call(request));
  return checked(std::move(reply), registry);
}

}  // namespace sparkplan
