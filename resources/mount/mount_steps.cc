#include "resources/mount/mount_steps.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/domain/storage/storage.h"
#include "resources/mount/mount_state.h"

namespace sparkplan::mount {
namespace {

const Observation kAbsent = Absent{};

const Observation& observed(const ArtifactId& artifact, const StepsInput& input) {
  const auto found = input.observed.artifacts.find(artifact);
  return found == input.observed.artifacts.end() ? kAbsent : found->second;
}

std::string state_in(const Observation& observation) {
  const auto* present = std::get_if<Present>(&observation);
  return present == nullptr ? "" : present->value.text_or(field::kState, "");
}

bool is_live(const std::string& target, const StepsInput& input) {
  const auto seen = input.observed.resources.find(target);
  const auto* present = seen == input.observed.resources.end() ? nullptr : std::get_if<Present>(&seen->second);
  return input.observed.artifacts.contains(directory_artifact(directories_of(target).front())) ||
         (present != nullptr && present->not_applicable.empty());
}

Step step_for(const ArtifactId& artifact, const Change& change, const TypeInfo& info) {
  Step step;
  step.type = info.name;
  step.artifact = artifact;
  step.phase = info.phase;
  step.before = step.after = Absent{};
  step.resources = {change.id};
  step.group = change.id.str();
  return step;
}

Observation wanted(const Value& desired, bool live) {
  Present present{Value::map({{field::kContent, desired.text_or(field::kContent, "")}}), {}};
  if (live) {
    present.value.set(field::kEnabled, desired.boolean_or(field::kEnabled, false));
    present.value.set(field::kState, state::kMounted);
  }
  return present;
}

/// As it was before sparkplan; what somebody has mounted there since is his, and stays.
Observation given_back(const ArtifactId& artifact, const Observation& now, const StepsInput& input) {
  const auto original = input.originals.find(artifact);
  const bool somebody_elses = state_in(now).starts_with(state::kFrom);
  const bool was_mounted = original != input.originals.end() && !state_in(original->second).empty() &&
                           state_in(original->second).starts_with(state::kMounted);
  if (!somebody_elses && !was_mounted) return Absent{};
  const std::string state = somebody_elses ? state_in(now) : state_in(original->second);
  return Present{Value::map({{field::kEnabled, false}, {field::kState, state}}), {}};
}

bool lies_in_another(const std::string& path, const StepsInput& input) {
  return std::any_of(input.target.begin(), input.target.end(),
                     [&](const Resource& other) { return other.id.name != path && is_within(path, other.id.name); });
}

/// Directories that are to be made, one step each; a mount within a mount finds its own in there.
void add_missing_directories(const Change& change, const StepsInput& input, const TypeInfo& info,
                             std::vector<Step>& steps) {
  if (lies_in_another(change.id.name, input)) return;
  for (const std::string& path : directories_of(change.id.name)) {
    const ArtifactId artifact = directory_artifact(path);
    const auto seen = input.observed.artifacts.find(artifact);
    if (seen == input.observed.artifacts.end() || std::holds_alternative<Present>(seen->second)) continue;
    const auto made =
        std::find_if(steps.begin(), steps.end(), [&](const Step& one) { return one.artifact == artifact; });
    if (made != steps.end()) {
      made->resources.push_back(change.id);
      continue;
    }
    Step step = step_for(artifact, change, info);
    step.after = Present{Value::map({{"directory", true}}), {}};
    // systemd makes what a mount needs; a connection of this run may have been quicker.
    step.activates = true;
    steps.push_back(std::move(step));
  }
}

/// Directories that sparkplan has made and that no mount needs any more, the inner ones first. `going` are changes
/// whose mounts are still there: what they lie in comes after them.
void add_needless_directories(const Change& change, std::span<const std::reference_wrapper<const Change>> going,
                              const StepsInput& input, const TypeInfo& info, std::vector<Step>& steps) {
  std::vector<std::string> paths = directories_of(change.id.name);
  std::reverse(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    const ArtifactId artifact = directory_artifact(path);
    const auto original = input.originals.find(artifact);
    const bool ours = original != input.originals.end() && std::holds_alternative<Absent>(original->second);
    const bool needed = std::any_of(input.target.begin(), input.target.end(),
                                    [&](const Resource& other) { return is_within(other.id.name, path); });
    const bool in_use = std::any_of(going.begin(), going.end(), [&](const Change& other) {
      return input.target_of(other.id) == nullptr && is_within(other.id.name, path);
    });
    const bool there = std::holds_alternative<Present>(observed(artifact, input));
    const bool done =
        std::any_of(steps.begin(), steps.end(), [&](const Step& one) { return one.artifact == artifact; });
    if (!ours || needed || in_use || !there || done) continue;
    Step step = step_for(artifact, change, info);
    step.before = observed(artifact, input);
    steps.push_back(std::move(step));
  }
}

/// Of the first one of `changes`; the others follow it.
void add_steps(std::span<const std::reference_wrapper<const Change>> changes, const StepsInput& input,
               const TypeInfo& info, std::vector<Step>& steps) {
  const Change& change = changes.front();
  const ArtifactId artifact = mount_artifact(change.id.name);
  const Observation& now = observed(artifact, input);
  if (std::holds_alternative<Error>(now)) return;
  const Resource* target = input.target_of(change.id);
  Step step = step_for(artifact, change, info);
  step.before = now;
  if (target != nullptr) {
    add_missing_directories(change, input, info, steps);
    step.after = wanted(target->desired, is_live(change.id.name, input));
    // The unit of a connection that this run makes may mount it by itself.
    step.activates = true;
    steps.push_back(std::move(step));
  } else {
    step.after = given_back(artifact, now, input);
    steps.push_back(std::move(step));
    add_needless_directories(change, changes.subspan(1), input, info, steps);
  }
}

}  // namespace

ArtifactId mount_artifact(std::string_view target) { return {"mount", std::string(target)}; }
ArtifactId directory_artifact(std::string_view path) { return {"directory", std::string(path)}; }

std::vector<std::string> directories_of(std::string_view target) {
  std::vector<std::string> directories;
  std::string path;
  for (const std::string_view part : split(target, '/')) {
    if (part.empty()) continue;
    path += "/" + std::string(part);
    directories.push_back(path);
  }
  return directories;
}

std::vector<Step> mount_steps(const StepsInput& input, const TypeInfo& info) {
  auto changes = input.changes;
  // What goes, goes from the innermost outwards; what comes is put in order by Resource::after.
  std::stable_sort(changes.begin(), changes.end(), [&](const Change& a, const Change& b) {
    const bool a_goes = input.target_of(a.id) == nullptr;
    const bool b_goes = input.target_of(b.id) == nullptr;
    if (a_goes != b_goes) return a_goes;
    return a_goes ? a.id.name > b.id.name : a.id.name < b.id.name;
  });
  std::vector<Step> steps;
  const std::span<const std::reference_wrapper<const Change>> all(changes);
  for (std::size_t i = 0; i < all.size(); ++i) add_steps(all.subspan(i), input, info, steps);
  std::erase_if(steps, [](const Step& step) {
    return step.artifact.kind == "mount" && std::holds_alternative<Absent>(step.before) &&
           std::holds_alternative<Absent>(step.after);
  });
  return steps;
}

}  // namespace sparkplan::mount
