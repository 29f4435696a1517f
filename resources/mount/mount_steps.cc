#include "resources/mount/mount_steps.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/text.h"
#include "engine/domain/storage/storage.h"
#include "engine/resource/steps.h"
#include "resources/mount/mount_state.h"

namespace sparkplan::mount {
namespace {

const Observation kAbsent = Absent{};

const Observation& observed(const ArtifactId& artifact, const StepsInput& input) {
  const Observation* seen = input.seen(artifact);
  return seen == nullptr ? kAbsent : *seen;
}

bool is_live(const std::string& target, const StepsInput& input) {
  const Present* present = input.seen(target);
  return input.observed.artifacts.contains(directory_artifact(directories_of(target).front())) ||
         (present != nullptr && present->not_applicable.empty());
}

Step step_for(const ArtifactId& artifact, const Change& change, const TypeInfo& info) {
  Step step = sparkplan::step_for(artifact, change.id, info);
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

/// The state before sparkplan. A foreign mount that has been made there since stays.
Observation given_back(const ArtifactId& artifact, const Observation& now, const StepsInput& input) {
  const Observation* original = input.original(artifact);
  const std::string before = original == nullptr ? "" : unit_state_in(*original);
  const bool somebody_elses = unit_state_in(now).starts_with(state::kFrom);
  if (!somebody_elses && !before.starts_with(state::kMounted)) return Absent{};
  const std::string state = somebody_elses ? unit_state_in(now) : before;
  return Present{Value::map({{field::kEnabled, false}, {field::kState, state}}), {}};
}

/// Mount points, sorted. A manifest may invent so many mounts and directories that a directory cannot be compared with
/// each mount. Refers to the names of `input`.
using MountPoints = std::multiset<std::string_view>;

/// True if one of them is the directory or lies in it.
bool any_within(const std::string& directory, const MountPoints& mounts) {
  if (mounts.contains(directory)) return true;
  const std::string inside = directory + "/";
  const auto first = mounts.lower_bound(inside);
  return first != mounts.end() && first->starts_with(inside);
}

/// The mounts that removals have to look at, and the directories they have removed.
struct Removals {
  MountPoints kept;                 ///< In the target.
  MountPoints going;                ///< Removed by later changes: these mounts still exist.
  std::set<std::string> made_free;  ///< Directories with a step.
};

bool lies_in_another(const std::string& path, const StepsInput& input) {
  return std::ranges::any_of(
      input.target, [&](const Resource& other) { return other.id.name != path && is_within(path, other.id.name); });
}

/// One step per missing directory. A mount inside another target finds its directories there.
void add_missing_directories(const Change& change, const StepsInput& input, const TypeInfo& info,
                             std::vector<Step>& steps) {
  if (lies_in_another(change.id.name, input)) return;
  for (const std::string& path : directories_of(change.id.name)) {
    const ArtifactId artifact = directory_artifact(path);
    const Observation* seen = input.seen(artifact);
    if (seen == nullptr || std::holds_alternative<Present>(*seen)) continue;
    const auto made = std::ranges::find(steps, artifact, &Step::artifact);
    if (made != steps.end()) {
      made->resources.push_back(change.id);
      continue;
    }
    Step step = step_for(artifact, change, info);
    step.after = Present{Value::map({{"directory", true}}), {}};
    // systemd makes the directories of a mount, so a connection of this run may have made this one already.
    step.activates = true;
    steps.push_back(std::move(step));
  }
}

/// Removes directories that sparkplan made and that no mount needs now, the inner ones first. The directories of mounts
/// that still exist follow these mounts.
void add_needless_directories(const Change& change, Removals& removals, const StepsInput& input, const TypeInfo& info,
                              std::vector<Step>& steps) {
  std::vector<std::string> paths = directories_of(change.id.name);
  std::ranges::reverse(paths);
  for (const std::string& path : paths) {
    if (removals.made_free.contains(path)) continue;
    const ArtifactId artifact = directory_artifact(path);
    const Observation* original = input.original(artifact);
    const bool ours = original != nullptr && std::holds_alternative<Absent>(*original);
    const bool there = std::holds_alternative<Present>(observed(artifact, input));
    if (!ours || !there) continue;
    // A mount in this directory is in all outer ones, too.
    if (any_within(path, removals.kept) || any_within(path, removals.going)) break;
    Step step = step_for(artifact, change, info);
    step.before = observed(artifact, input);
    steps.push_back(std::move(step));
    removals.made_free.insert(path);
  }
}

void add_steps(const Change& change, Removals& removals, const StepsInput& input, const TypeInfo& info,
               std::vector<Step>& steps) {
  const ArtifactId artifact = mount_artifact(change.id.name);
  const Observation& now = observed(artifact, input);
  if (std::holds_alternative<Error>(now)) return;
  const Resource* target = input.target_of(change.id);
  Step step = step_for(artifact, change, info);
  step.before = now;
  if (target != nullptr) {
    add_missing_directories(change, input, info, steps);
    step.after = wanted(target->desired, is_live(change.id.name, input));
    // The unit of a connection of this run may have mounted it already.
    step.activates = true;
    steps.push_back(std::move(step));
  } else {
    step.after = given_back(artifact, now, input);
    steps.push_back(std::move(step));
    add_needless_directories(change, removals, input, info, steps);
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
  Removals removals;
  for (const Resource& resource : input.target) removals.kept.insert(resource.id.name);
  const auto is_removed = [&](const Change& change) { return !removals.kept.contains(change.id.name); };
  for (const Change& change : input.changes) {
    if (is_removed(change)) removals.going.insert(change.id.name);
  }
  auto changes = input.changes;
  // Removals run from the innermost target outwards. Resource::after orders the other mounts.
  std::ranges::stable_sort(changes, [&](const Change& a, const Change& b) {
    const bool a_goes = is_removed(a);
    const bool b_goes = is_removed(b);
    if (a_goes != b_goes) return a_goes;
    return a_goes ? a.id.name > b.id.name : a.id.name < b.id.name;
  });
  std::vector<Step> steps;
  for (const Change& change : changes) {
    if (is_removed(change)) removals.going.erase(removals.going.find(change.id.name));
    add_steps(change, removals, input, info, steps);
  }
  std::erase_if(steps, [](const Step& step) {
    return step.artifact.kind == "mount" && std::holds_alternative<Absent>(step.before) &&
           std::holds_alternative<Absent>(step.after);
  });
  return steps;
}

}  // namespace sparkplan::mount
