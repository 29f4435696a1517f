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
  std::string id;            ///< 64 hexadecimal digits.
  std::size_t left_out = 0;  ///< Of the layers, from the first one on, so many may lack their content.
  /// Of the machine that loads it, as docker names it ("amd64", "arm64"). Empty: any.
  std::string architecture = {};
  /// The docker that loads it keeps packed layers, as its store of containerd does. Its own answer, never the source's.
  bool packs_layers = false;
};

/// Whether the open file is an archive of this image alone, under this name alone. An engine would give the image's
/// name to any image in an archive, and names of other images too, before anyone could compare the id.
/// The id is the digest of the image's configuration. With docker's store of containerd, it is the digest of its
/// manifest: such an id is refused without `packs_layers`, because packed layers may unpack to anything.
/// The layers are compared with the configuration, or with the manifest if docker's store of containerd packs them:
/// podman compares them only since 5.4, docker only after it has unpacked what may fill the disk. So each layer that
/// the configuration covers is plain. `sign_of_life` is called every second meanwhile. What the id does not cover has
/// annotations that only describe, see check_annotations(). Of an image for several platforms, the one of this machine
/// must be there. A layer that is left out may lack its content, for podman only under its own digest: then the engine
/// finds the layer of this digest in its own store, or refuses the image. Source: tarexport and daemon/containerd of
/// moby; docker/archive and oci/archive of containers/image. Errors: kVerifyFailed (another image, another name, or a
/// layer with other content), kUnsupported (an archive of another form), kFailed.
Result<void> check_archive(int file, const ExpectedImage& image, const std::function<void()>& sign_of_life = {});

/// One layer in an archive, and what its configuration says of it.
struct LayerPlace {
  std::string name;
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::string digest;  ///< Of the layer unpacked: 64 hexadecimal digits.
};
/// Whether layers are plain archives, or also compressed ones, as in docker's store of containerd.
enum class LayerForm : std::uint8_t { kPlain, kPacked };
/// Whether these layers have the content that the configuration names. A packed layer has not. A plain one must also
/// unpack to about the bytes that it has, see LayerHeaders. Plain ones together have at most 2 GiB of extended headers,
/// and at most eight million directories that their names only imply. `unpacked` are the digests of the layers in the
/// order in which an engine unpacks them: those that come again may cost as much as all of them once, and 1 GiB more.
/// Errors: kVerifyFailed, kUnsupported (no plain layer), kFailed (the file cannot be read).
Result<void> check_layers(int file, const std::vector<LayerPlace>& layers, const std::vector<std::string>& unpacked,
                          LayerForm form, const std::function<void()>& sign_of_life);

/// The layers of such an archive, in the order of its configuration. Empty if the digests of the layers' files are not
/// those of the configuration, as in docker's store of containerd.
/// The size of a link to another layer is 0. Errors: as check_archive(), but no content of layers is read.
Result<std::vector<LayerPlace>> layers_in_archive(int file, ExpectedImage image);

}  // namespace sparkplan::copy
