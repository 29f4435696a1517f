#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/plan.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {

/// The first lines of every file that sparkplan owns whole; `comment` is the format's own lead-in.
/// They hold nothing that changes from run to run: a date in a header makes every run a change.
std::string ownership_header(std::string_view comment = "#");

/// The resource name under which a text artifact that differs, although every resource in it is as
/// desired, is shown: "sysctl/@file".
inline constexpr std::string_view kWholeFileName = "@file";

/// A file or block that a type wants to hold something.
struct TextArtifact {
  ArtifactId id;
  std::optional<std::string> content;  ///< Nothing: nothing of ours is left in it.
  std::uint32_t mode = 0644;
  std::string group;  ///< Step::group; empty: the type's name.
  /// The changes that need it. Empty: every one.
  std::function<bool(const Change&)> concerns;
  std::uint32_t uid = 0;  ///< Of a file; a block's file keeps its owner.
  std::uint32_t gid = 0;
};
std::optional<Step> text_artifact_step(const TextArtifact& artifact, const StepsInput& input, const TypeInfo& info);

/// The step that makes a file or block artifact hold `content`; nothing when it does already. An
/// empty `content` means nothing of ours is left in it: the original from before sparkplan comes
/// back, or it goes. The step names every change of `input`.
std::optional<Step> text_artifact_step(const ArtifactId& artifact, const std::optional<std::string>& content,
                                       std::uint32_t mode, const StepsInput& input, const TypeInfo& info);

}  // namespace sparkplan
