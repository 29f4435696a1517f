#pragma once

#include <string>
#include <vector>

#include "engine/plan/report.h"

// Sample reports for several tests.
namespace sparkplan::testing {

NodeReport sample_node(int number, NodeStatus status = NodeStatus::kInSync);
Report sample_report(std::string command, std::vector<NodeReport> nodes);

Change sample_change(const std::string& id, Action action, std::vector<FieldChange> fields,
                     Origin origin = Origin::kConfig);

/// By name: every statement that plan, drift and apply can print.
std::vector<std::pair<std::string, Report>> sample_reports();

}  // namespace sparkplan::testing
