#include "engine/plan/desired_state.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sparkplan {
namespace {

/// Thresholds for measurements: declared like the others, but nothing on a node is made from them.
bool needs_no_type(const std::string& section) { return section == "verify"; }

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
    Diagnostic finding;
    finding.code = "section.not-in-this-version";
    finding.message = "`" + section + "` is not in this version of sparkplan";
    finding.hint = "take the section out, or use a version whose `sparkplan types` lists it";
    finding.file = cluster.file;
    finding.where = where;
    findings.push_back(std::move(finding));
  }
  return findings;
}

Desired desired_state(const ClusterView& view, const Facts& own, const Registry& registry) {
  Desired all;
  for (const auto& [section, body] : view.self.sections) {
    for (const ResourceType* type : registry.of_section(section)) {
      Desired part = type->desired(view, body, own);
      if (part.refused && !all.refused) all.refused = std::move(part.refused);
      std::move(part.resources.begin(), part.resources.end(), std::back_inserter(all.resources));
      for (Diagnostic& finding : part.diagnostics) {
        // Facts decided it, so it holds for this node only.
        if (finding.node.empty()) finding.node = view.self.name.str();
        if (finding.file.empty() && finding.where.known()) finding.file = view.cluster.file;
        all.diagnostics.push_back(std::move(finding));
      }
    }
  }
  std::stable_sort(all.resources.begin(), all.resources.end(),
                   [](const Resource& a, const Resource& b) { return a.id < b.id; });
  return all;
}

}  // namespace sparkplan
