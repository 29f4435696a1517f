#include "resources/mount/mount_steps.h"

#include <algorithm>
#include <span>
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

/// Removes directories that sparkplan made and that no mount needs now, the inner ones first. `going` are changes whose
/// mounts still exist; the directories of their targets follow them.
void add_needless_directories(const Change& change, std::span<const std::reference_wrapper<const Change>> going,
                              const StepsInput& input, const TypeInfo& info, std::vector<Step>& steps) {
  std::vector<std::string> paths = directories_of(change.id.name);
  std::ranges::reverse(paths);
  for (const std::string& path : paths) {
    const ArtifactId artifact = directory_artifact(path);
    const Observation* original = input.original(artifact);
    const bool ours = original != nullptr && std::holds_alternative<Absent>(*original);
    const bool there = std::holds_alternative<Present>(observed(artifact, input));
    if (!ours || !there) continue;  // The rest takes long for the many names that a manifest may invent.
    const bool needed =
        std::ranges::any_of(input.target, [&](const Resource& other) { return is_within(other.id.name, path); });
    const bool in_use = std::ranges::any_of(going, [&](const Change& other) {
      return input.target_of(other.id) == nullptr && is_within(other.id.name, path);
    });
    const bool done = std::ranges::any_of(steps, [&](const Step& one) { return one.artifact == artifact; });
    if (needed || in_use || done) continue;
    Step step = step_for(artifact, change, info);
    step.before = observed(artifact, input);
    steps.push_back(std::move(step));
  }
}

/// The steps of the first change in `changes`; the others follow it.
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
    // The unit of a connection of this run may have mounted it already.
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
  // Removals run from the innermost target outwards. Resource::after orders the other mounts.
  std::ranges::stable_sort(changes, [&](const Change& a, const Change& b) {
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
