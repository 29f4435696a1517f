#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/plan/saved_plan.h"
#include "engine/resource/artifact.h"
#include "tests/unit/report/samples.h"

// Plans that several tests save and compare.
namespace sparkplan::testing {

inline SavedPlan some_plan(Report report = sample_reports().begin()->second) {
  SavedPlan plan;
  plan.id = "0b5e0c3e-7d2a-4c57-8a43-1f3b6c9d2e10";
  plan.created = "2026-03-01T12:00:00Z";
  plan.sparkplan_version = "0.1.0";
  plan.source = "version: 1\nname: lab # \xc3\xa4\n";
  plan.only = {"spark-0*"};
  plan.machines["spark-01"] = {"0123", "SHA256:abc"};
  plan.report = std::move(report);
  plan.report.command = "plan";
  plan.report.config_digest = std::string(64, 'a');
  return plan;
}

inline const ResourceId kA{"fake", "a"};
inline const ResourceId kB{"fake", "b"};

inline Change change_of(const ResourceId& id, Value before, Value after) {
  Change change;
  change.id = id;
  change.fields.push_back({"value", std::move(before), std::move(after)});
  return change;
}

inline Step step_of(const std::string& path, const std::string& before, const std::string& after,
                    std::vector<ResourceId> resources) {
  Step step;
  step.type = "fake";
  step.group = path;
  step.artifact = file_artifact(path);
  step.before = file_present(before, 0644);
  step.after = file_present(after, 0644);
  step.resources = std::move(resources);
  return step;
}

inline NodePlan two_changes() {
  NodePlan plan;
  plan.changes = {change_of(kA, 1, 2), change_of(kB, 1, 2)};
  plan.steps = {step_of("/a", "old", "new", {kA}), step_of("/b", "old", "new", {kB})};
  return plan;
}

/// kA has a field of the node n1 and one of n2; both have a line in its file.
inline NodePlan with_lines_of(const std::string& first, const std::string& second) {
  NodePlan plan = two_changes();
  plan.changes[0].fields = {{"line.n1", "old 1", first}, {"line.n2", "old 2", second}};
  std::erase_if(plan.changes[0].fields, [](const FieldChange& field) { return field.before == field.after; });
  plan.steps[0] = step_of("/a", "old 1\nold 2\n", first + "\n" + second + "\n", {kA});
  plan.after_steps[kA] = Value::map({{"line.n1", first}, {"line.n2", second}});
  return plan;
}

}  // namespace sparkplan::testing
