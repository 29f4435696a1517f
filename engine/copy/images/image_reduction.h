#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "engine/copy/images/image_archive.h"
#include "engine/core/result.h"

namespace sparkplan::copy {

/// Takes the content of the first `image.left_out` layers out of an archive of the image; their names stay, as empty
/// files. The file becomes shorter in its place. The content of a layer that comes again behind them stays.
/// docker does not read a layer whose chain it has, and podman none whose digest it has.
/// `sign_of_life` is called every second. Errors: as layers_in_archive(); kFailed (the file is useless then).
Result<void> leave_out_layers(int file, const ExpectedImage& image, const std::function<void()>& sign_of_life = {});

/// How many of these layers this node has, from the first one on.
using CountKnownLayers = std::function<std::size_t(const std::vector<std::string>& digests)>;

/// Whether this node has the layers whose content the archive lacks. The source may have named others than those of the
/// image's configuration, and an engine that does not compare layers would take the empty files.
/// Errors: as layers_in_archive(); kVerifyFailed.
Result<void> check_left_out(int file, const ExpectedImage& image, const CountKnownLayers& count_known);

/// Pure. How many layers the two lists share, from the first one on.
std::size_t shared_layers(const std::vector<std::string>& one, const std::vector<std::string>& other);

}  // namespace sparkplan::copy
