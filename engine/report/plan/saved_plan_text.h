#pragma once

#include <string>

#include "engine/model/cluster.h"
#include "engine/plan/saved_plan.h"
#include "engine/report/text/text_style.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// A saved plan without its changes: its id, its machines with their connections, and the resources that wait for a
/// value. `cluster` is loaded from the text in the plan. At most `style.width` columns if words allow it, safe for a
/// terminal; ends with a newline.
std::string introduction(const SavedPlan& plan, const Cluster& cluster, const Registry& registry,
                         const TextStyle& style);

/// The introduction and the changes.
std::string to_text(const SavedPlan& plan, const Cluster& cluster, const Registry& registry, const TextStyle& style);

/// Per node: the resources that wait, with the value that each waits for and what is then written. Empty if none waits.
std::string waiting_text(const Report& report, const Registry& registry, const TextStyle& style);

/// The report of the plan as JSON, with "saved_plan": ids, selection, machines and their connections.
/// Schema: schemas/report.schema.json.
Value to_json_value(const SavedPlan& plan, const Cluster& cluster);

}  // namespace sparkplan
