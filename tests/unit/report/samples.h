#pragma once

#include <string>
#include <vector>

#include "engine/plan/report.h"

// Reports that several tests look at.
namespace sparkplan::testing {

NodeReport sample_node(int number, NodeStatus status = NodeStatus::kInSync);
Report sample_report(std::string command, std::vector<NodeReport> nodes);

Change sample_change(const std::string& id, Action action, std::vector<FieldChange> fields,
                     Origin origin = Origin::kConfig);

/// By name: everything that plan, drift and apply can come to say.
std::vector<std::pair<std::string, Report>> sample_reports();

}  // namespace sparkplan::testing
