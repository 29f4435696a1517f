#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/model/plan.h"
#include "engine/resource/registry.h"

namespace sparkplan::test {

/// Hooks into the execution of steps: a log, and a callback through which a test can make a write fail.
struct FakeHooks {
  std::vector<std::string> log;  ///< "a=1" or "a=absent", in the order of the writes.
  /// Called before each write; an error becomes the write's outcome. With `half` the write is half done first.
  std::function<std::optional<Error>(const ArtifactId&, const Observation&)> interfere;
  bool half = false;
  bool exports_everywhere = false;
  bool left_to_others = false;  ///< A step may begin whatever the state of its knob.
  /// The knobs whose apply() can be begun. The log has "a begins", and at the end of the wait "a=1".
  std::set<std::string> begun_first;
  std::vector<Objection> objections;  ///< Objections of the node's own tools to the steps.
};

/// One type "fake" with artifacts of kind "knob", each kept in /knobs/NAME. `hooks` outlives it.
Registry fake_registry(FakeHooks& hooks);
/// With a second type "other", of which each step of other_types() is.
Registry fake_registry_with_other(FakeHooks& hooks);
Step other_types(Step step);

ArtifactId knob(const std::string& name);
Observation set_to(const std::string& value);
Step knob_step(const std::string& name, Observation before, Observation after, const std::string& group = "fake");
Step file_step(const std::string& path, Observation before, Observation after, const std::string& group = "fake");

}  // namespace sparkplan::test
