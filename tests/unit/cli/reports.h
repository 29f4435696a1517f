#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/plan/report.h"

// Sample reports of `drift`.

namespace sparkplan::test {

inline Change change(const std::string& id, Origin origin, std::vector<FieldChange> fields) {
  Change made;
  made.id = *ResourceId::parse(id);
  made.origin = origin;
  made.fields = std::move(fields);
  return made;
}

inline NodeReport node(const std::string& name) {
  NodeReport made;
  made.name = name;
  return made;
}

inline Report report_of(std::vector<NodeReport> nodes) {
  Report report;
  report.command = "drift";
  report.cluster = "lab";
  report.nodes = std::move(nodes);
  report.duration = std::chrono::duration<double>(1.5);
  return report;
}

/// One drifted, one pending, one unreachable, one half-read and one skipped node.
inline Report full_report() {
  auto drifted = node("n1");
  drifted.plan.changes = {change("sysctl/a", Origin::kDrift, {{"persistent", 1, 2}, {"running", "x", Value()}}),
                          change("hosts/h", Origin::kForeign, {{"address", "10.0.0.1", "10.0.0.2"}}),
                          change("sysctl/b", Origin::kConfig, {{"persistent", Value(), 2}})};
  auto pending = node("n2");
  pending.plan.changes = {change("sysctl/b", Origin::kConfig, {{"persistent", Value(), 2}})};
  auto unreachable = node("n3");
  unreachable.status = NodeStatus::kUnreachable;
  unreachable.error = Error{ErrorCode::kUnreachable, "no route to \"n3\"", {}, {}, ""};
  auto half_read = node("n4");
  half_read.plan.blocked = {{{"sysctl", "c"}, Error{ErrorCode::kPermissionDenied, "read it", {}, {}, ""}, {}}};
  auto skipped = node("n5");
  skipped.status = NodeStatus::kSkipped;
  return report_of({drifted, pending, unreachable, half_read, skipped});
}

}  // namespace sparkplan::test
