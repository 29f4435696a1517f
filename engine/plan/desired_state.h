#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/model/resource.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Pure. Sections of the cluster's nodes for which this build has no resource type: refused at plan, never at validate.
/// One finding per section and place in the file, code "section.not-in-this-version".
std::vector<Diagnostic> unsupported_sections(const Cluster& cluster, const Registry& registry);

struct DesiredState : Desired {
  std::set<std::string> incomplete_types;
};

/// Pure. All resources that the file declares for one node, sorted by id. Resources of later phases stay in `after`
/// only if the file declares them.
DesiredState desired_state(const ClusterView& view, const Facts& own, const Registry& registry);

/// Pure. Ends the waits for what no step makes any more. An Unknown whose producer `is_over` keeps its reason and loses
/// its producer, so that its type settles it by what is there. Returns these producers.
std::set<std::string> end_waits(std::vector<Resource>& resources,
                                const std::function<bool(const std::string& producer)>& is_over);

}  // namespace sparkplan
