#pragma once

#include <string>

#include "engine/model/cluster.h"
#include "engine/plan/saved_plan.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// What a reader of a saved plan has to know besides its changes: which plan it is, which machines it is for and how
/// they are reached, and what waits for which value. `cluster` is loaded from the text in the plan. At most
/// `style.width` columns where words allow it, safe for a terminal; ends with a newline.
std::string introduction(const SavedPlan& plan, const Cluster& cluster, const Registry& registry,
                         const TextStyle& style);

/// The introduction and the changes.
std::string to_text(const SavedPlan& plan, const Cluster& cluster, const Registry& registry, const TextStyle& style);

/// Per node: resources that wait, with what each waits for and what is written then. Empty where none waits.
std::string waiting_text(const Report& report, const Registry& registry, const TextStyle& style);

/// The report of the plan as JSON, with "saved_plan": ids, selection, machines and how they are reached. Schema:
/// schemas/report.schema.json.
Value to_json_value(const SavedPlan& plan, const Cluster& cluster);

/// `text` in lines of at most `width` columns, each after `indent` blanks; broken between words only.
std::string wrapped(const std::string& text, std::size_t indent, const TextStyle& style);

}  // namespace sparkplan
