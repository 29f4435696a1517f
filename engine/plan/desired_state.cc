#include "engine/plan/desired_state.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/model/cluster.h"

namespace sparkplan {
namespace {

/// The profile's settings are harmless on other machines, but they were measured on a DGX Spark.
std::optional<Diagnostic> profile_mismatch(const ClusterView& view, const Facts& own) {
  if (view.cluster.profile != "dgx-spark" || !own.live || is_dgx_spark(own)) return std::nullopt;
  return finding(Severity::kWarning, "profile.not-a-spark",
                 "profile dgx-spark is meant for a DGX Spark; this machine is " +
                     (own.product.empty() ? std::string("of an unknown kind") : "a " + own.product),
                 "leave the profile out and write the settings that this machine needs");
}

/// Resources of later phases are awaited only if the file declares them. Otherwise no step would ever provide them: for
/// example, another program may configure the fabric interface that leads to a server.
void drop_needless_waits(std::vector<Resource>& all, const Registry& registry) {
  std::set<ResourceId> asked_for;
  for (const Resource& resource : all) asked_for.insert(resource.id);
  for (Resource& resource : all) {
    const ResourceType* own = registry.find(resource.id.type);
    std::erase_if(resource.after, [&](const ResourceId& needed) {
      const ResourceType* other = registry.find(needed.type);
      return !asked_for.contains(needed) && own != nullptr && other != nullptr &&
             own->info().phase < other->info().phase;
    });
  }
}

void end_waits_in(Value& value, const std::function<bool(const std::string&)>& is_over, std::set<std::string>& ended) {
  if (const Value::Unknown* unknown = value.unknown()) {
    if (unknown->producer.empty() || !is_over(unknown->producer)) return;
    ended.insert(unknown->producer);
    Value settled = Value::Unknown{unknown->reason, {}};
    settled.where = value.where;
    value = std::move(settled);
  } else if (Value::List* items = value.list_items()) {
    for (Value& item : *items) end_waits_in(item, is_over, ended);
  } else if (Value::Map* entries = value.entries()) {
    for (MapEntry& entry : *entries) end_waits_in(entry.value, is_over, ended);
  }
}

}  // namespace

std::vector<Diagnostic> unsupported_sections(const Cluster& cluster, const Registry& registry) {
  std::set<std::pair<SourceRange, std::string>> places;
  for (const NodeSpec& node : cluster.nodes) {
    for (const auto& [section, body] : node.sections) {
      if (needs_no_type(section) || !registry.of_section(section).empty()) continue;
      places.emplace(body.where.known() ? body.where : node.where, section);
    }
  }
  std::vector<Diagnostic> findings;
  for (const auto& [where, section] : places) {
    findings.push_back(finding("section.not-in-this-version", "`" + section + "` is not in this version of sparkplan",
                               "remove the section, or use a version whose `sparkplan types` lists it", where));
    findings.back().file = cluster.file;
  }
  return findings;
}

DesiredState desired_state(const ClusterView& view, const Facts& own, const Registry& registry) {
  DesiredState all;
  if (auto warning = profile_mismatch(view, own)) {
    warning->node = view.self.name.str();
    all.diagnostics.push_back(*std::move(warning));
  }
  for (const auto& [section, body] : view.self.sections) {
    for (const ResourceType* type : registry.of_section(section)) {
      Desired part = type->desired(view, body, own);
      if (part.incomplete) all.incomplete_types.insert(type->info().name);
      all.unresolved.merge(part.unresolved);
      if (part.refused && !all.refused) all.refused = std::move(part.refused);
      std::move(part.resources.begin(), part.resources.end(), std::back_inserter(all.resources));
      for (Diagnostic& finding : part.about_several) {
        if (finding.file.empty() && finding.where.known()) finding.file = view.cluster.file;
        all.about_several.push_back(std::move(finding));
      }
      for (Diagnostic& finding : part.diagnostics) {
        // The finding depends on facts, so it applies to this node only.
        if (finding.node.empty()) finding.node = view.self.name.str();
        if (finding.file.empty() && finding.where.known()) finding.file = view.cluster.file;
        all.diagnostics.push_back(std::move(finding));
      }
    }
  }
  drop_needless_waits(all.resources, registry);
  std::stable_sort(all.resources.begin(), all.resources.end(),
                   [](const Resource& a, const Resource& b) { return a.id < b.id; });
  return all;
}

std::set<std::string> end_waits(std::vector<Resource>& resources,
                                const std::function<bool(const std::string& producer)>& is_over) {
  std::set<std::string> ended;
  for (Resource& resource : resources) end_waits_in(resource.desired, is_over, ended);
  return ended;
}

}  // namespace sparkplan
