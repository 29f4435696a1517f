#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/named_enum.h"

/// Container engines, their words about images, and the labels of our containers. Everything here is pure.
namespace sparkplan {

/// Named as the programs are called.
enum class ContainerEngine : std::uint8_t { kDocker, kPodman };
constexpr EnumNames<2> names_of(ContainerEngine /*engine*/) { return {"docker", "podman"}; }

/// The label of all containers of a job, with its id as the value.
inline constexpr const char* kContainerLabel = "sparkplan.job";
/// The label of the container of one rank, with its number as the value.
inline constexpr const char* kRankLabel = "sparkplan.rank";

/// The hint for an image that has another id in the store of another node.
inline constexpr const char* kStoresOfTwoKinds =
    "the engines keep images in stores of two kinds: use the same kind on all nodes";

/// The 64 digits of an image's id, which an engine prints as "sha256:0123..." or "0123..."; nothing for other texts.
std::optional<std::string> image_id_from(std::string_view text);

/// As people compare ids: "0123456789ab".
std::string short_image_id(std::string_view id);

/// True if an engine says with these words that it has no such image. The engines' words are not translated.
bool says_no_such_image(std::string_view words);

}  // namespace sparkplan
