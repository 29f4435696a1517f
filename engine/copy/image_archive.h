#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/container_image.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// An image as the controller knows it: by its name in the file, and by its id on the source.
struct ExpectedImage {
  ContainerEngine engine = ContainerEngine::kDocker;
  std::string name;
  std::string id;  ///< 64 hexadecimal digits.
};

/// Whether the open file is an archive of this image alone, under this name alone. An engine would give the image's
/// name to any image in an archive, and names of other images too, before anyone could compare the id.
/// The id is the digest of the image's configuration. With docker's store of containerd, it is the digest of its
/// manifest.
/// docker compares the layers with the configuration. podman does so only since 5.4, so they are read here for it;
/// `sign_of_life` is called every second meanwhile.
/// Source: tarexport and daemon/containerd of moby; docker/archive and oci/archive of containers/image.
/// Errors: kVerifyFailed (another image, another name, or a layer with other content), kUnsupported (an archive of
/// another form), kFailed.
Result<void> check_archive(int file, const ExpectedImage& image, const std::function<void()>& sign_of_life = {});

/// One layer in an archive, and what its configuration says of it.
struct LayerPlace {
  std::string name;
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::string digest;  ///< Of the layer unpacked: 64 hexadecimal digits.
};
/// Whether these layers have the content that the configuration names. A packed layer has not.
/// Errors: kVerifyFailed, kFailed (the file cannot be read).
Result<void> check_layers(int file, const std::vector<LayerPlace>& layers, const std::function<void()>& sign_of_life);

/// Pure. Whether the engine can have taken the one name for the other: docker reads "a" as
/// "docker.io/library/a:latest", and podman finds a name without a registry in several ones.
bool is_same_name(ContainerEngine engine, const std::string& declared, const std::string& found);

}  // namespace sparkplan::copy
