#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/planner.h"
#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "engine/resource/steps.h"

// The tests' own resource types and a machine that exists only as data. With them the planner is tested without any
// real type.
namespace sparkplan::testing {

/// A machine: kernel values by name, one text file of "name = value" lines, created keys and links. An image has no
/// links.
struct Machine {
  std::map<std::string, std::int64_t> running;
  std::optional<std::string> file;
  std::map<std::string, std::string> keys;
  std::map<std::string, std::string> links;
  bool live = true;

  bool operator==(const Machine&) const = default;
};

inline const ArtifactId kKnobFile = file_artifact("/etc/knobs.conf");

/// The file with these lines, as the type "knob" writes it.
std::string knob_file(const std::map<std::string, std::int64_t>& lines);

/// The registry has four types:
///   key    exports a key once it exists
///   knob   running in the kernel and persistent in one file
///   link   not applicable on an image, interrupts the network
///   trust  needs other nodes' keys
Registry fake_registry();

Resource knob(const std::string& name, std::int64_t value);
Resource key(const std::string& user);
Resource trust(const std::string& user, Value keys);
Resource link(const std::string& name, std::int64_t mtu);

/// The fake types' observations of the names in `desired` and the manifest.
ObservedState observe(const Machine& machine, const std::vector<Resource>& desired, const Manifest* manifest);

/// Carries out the steps as the agent does: compares first, then writes. The test fails when the observed state differs
/// from the planned `before`.
void carry_out(const NodePlan& plan, Machine& machine);

/// The manifest after every step has succeeded.
Manifest remember(const NodePlan& plan, const Manifest* before);

/// A node under test: a machine, its manifest, and the desired state.
struct Bench {
  Registry registry = fake_registry();
  Machine machine;
  std::optional<Manifest> manifest;
  std::vector<Resource> desired;
  std::function<bool(const ResourceId&)> selected;
  std::map<ResourceId, Error> failed;
  std::set<ResourceId> unresolved;
  std::function<void(ObservedState&)> distort;  ///< Changes the observed state before planning.

  NodePlan plan() const;
  /// Plans, carries out the steps and updates the manifest.
  NodePlan apply();
  const Manifest* known() const { return manifest ? &*manifest : nullptr; }
};

/// A machine with knobs a=1 and b=2 applied; its kernel started with a=10, b=20 and c=30.
Bench applied_bench();
/// "could not look"
Error no_permission();

/// The change with this id ("knob/a", "knob/@file") and origin; null if the plan has no such change.
const Change* find_change(const NodePlan& plan, const std::string& id, std::optional<Origin> origin = {});
const FieldChange* find_field(const Change& change, const std::string& path);
/// "knob/a knob/b": ids of the changes, in their order.
std::string ids_of(const NodePlan& plan);
/// "live:a file:/etc/knobs.conf": artifacts of the steps, in their order.
std::string artifacts_of(const NodePlan& plan);

}  // namespace sparkplan::testing
