#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/plan.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {

/// The first lines of every file that sparkplan owns as a whole; `comment` is the format's comment character. They must
/// not change from run to run: a date in a header would make every run a change.
std::string ownership_header(std::string_view comment = "#");

/// The desired content of a file or block.
struct TextArtifact {
  ArtifactId id;
  std::optional<std::string> content;  ///< Nothing: sparkplan's content is removed.
  std::uint32_t mode = 0644;
  std::string group;  ///< Step::group; empty: the type's name.
  /// The changes that need this artifact. Empty: all of them.
  std::function<bool(const Change&)> concerns;
  std::uint32_t uid = 0;  ///< Of a file; a block's file keeps its owner.
  std::uint32_t gid = 0;
};
std::optional<Step> text_artifact_step(const TextArtifact& artifact, const StepsInput& input, const TypeInfo& info);

/// The step that gives a file or block artifact this `content`; nothing if it has it already. Without `content`, the
/// step restores the original from before sparkplan, or removes the artifact if it was absent. The step names every
/// change of `input`.
std::optional<Step> text_artifact_step(const ArtifactId& artifact, const std::optional<std::string>& content,
                                       std::uint32_t mode, const StepsInput& input, const TypeInfo& info);

}  // namespace sparkplan
