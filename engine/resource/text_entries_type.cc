#include "engine/resource/text_entries_type.h"

#include <optional>
#include <utility>

#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"

namespace sparkplan {
namespace {

constexpr std::uint32_t kModeOfNewFile = 0644;

}  // namespace

ObservedType TextEntriesType::observe(const ObserveRequest& request, const NodeReader& node) const {
  ObservedType observed;
  const Observation& text = observed.artifacts[text_] = sparkplan::read_artifact(text_, *this, node);
  const auto content = content_of(text);
  const ValuesByName ours = content ? parse(*content) : ValuesByName();
  auto foreign = claims(request.names, ours, node);
  const auto* error = std::get_if<Error>(&text);
  if (error == nullptr && !foreign) error = &foreign.error();
  for (const std::string& name : request.names) {
    Observation& result = observed.resources[name] = Absent{};
    if (error != nullptr) {
      result = *error;
    } else if (const auto entry = ours.find(name); entry != ours.end()) {
      result = Present{entry->second, {}};
    }
  }
  if (error == nullptr) observed.foreign = *std::move(foreign);
  observe_more(request, node, observed);
  return observed;
}

std::vector<Step> TextEntriesType::steps(const StepsInput& input) const {
  ValuesByName entries;
  for (const Resource& resource : input.target) {
    if (!entries_of(resource.desired).empty()) entries[resource.id.name] = resource.desired;
  }
  std::optional<std::string> content;
  if (!entries.empty()) content = render(entries);
  std::vector<Step> steps = more_steps(input);
  append(steps, text_artifact_step(text_, content, kModeOfNewFile, input, info_));
  return steps;
}

}  // namespace sparkplan
