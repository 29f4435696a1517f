#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/plan/report.h"
#include "engine/report/text/text_style.h"

// Sample reports for several tests.
namespace sparkplan::testing {

NodeReport sample_node(int number, NodeStatus status = NodeStatus::kInSync);
Report sample_report(std::string command, std::vector<NodeReport> nodes);

Change sample_change(const std::string& id, Action action, std::vector<FieldChange> fields,
                     Origin origin = Origin::kConfig);

/// One node with these resources.
NodeReport node_with(std::vector<Change> changes);

/// One node for each of the changes.
Report nodes_with(const std::vector<Change>& changes, const std::string& command = "plan");

/// The style of -v.
TextStyle verbose();

/// The columns of the widest line.
std::size_t widest_line(const std::string& text);

/// By name: every statement that plan, drift and apply can print.
std::vector<std::pair<std::string, Report>> sample_reports();

}  // namespace sparkplan::testing
