#include "engine/copy/images/image_archive.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/copy/images/archive_files.h"
#include "engine/copy/images/archive_lists.h"
#include "engine/copy/images/image_name.h"
#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/model/container_image.h"

namespace sparkplan::copy {
namespace {

/// Manifests and configurations of all platforms.
constexpr std::size_t kMostParts = 200;
/// Of one manifest. The engines stop at 127.
constexpr std::size_t kMostLayers = 500;
constexpr std::size_t kDeepestList = 2;

/// A part that describes another one, by their digests.
struct Referrer {
  std::string digest;
  std::string subject;
};

/// Reads all lists of an archive, and compares what they name.
class ArchiveCheck {
 public:
  ArchiveCheck(ArchiveFiles& archive, const ExpectedImage& image) : archive_(archive), image_(image) {}

  Result<void> run() {
    const bool is_docker = archive_.has(kDockerList);
    const bool is_oci = archive_.has(kOciList);
    // Without this list, docker reads a form whose ids are no digests.
    if (!is_docker && (!is_oci || image_.engine == ContainerEngine::kDocker))
      return refused_image("has no list of its images");
    if (is_docker) SPARK_CHECK(read_docker_list());
    if (is_oci) SPARK_CHECK(read_oci_list());
    if (archive_.has(kRepositories)) SPARK_CHECK(read_repositories());
    return compare();
  }

  /// The id is the digest of the configuration, which has the digests of the layers' files. Otherwise docker's store of
  /// containerd packs the layers, and the id is the digest of a manifest.
  bool is_by_config() const { return image_.engine == ContainerEngine::kPodman || docker_config_ == image_.id; }
  /// By the configuration. Empty if its digests are not those of the layers' files.
  std::vector<LayerPlace> layers() const { return is_by_config() ? layers_ : std::vector<LayerPlace>(); }
  /// The digests of all layers of the configuration, in its order.
  const std::vector<std::string>& unpacked() const { return unpacked_; }
  /// For docker: the layers of the OCI lists, each with the digest of the file, and those that links lead to.
  const std::vector<LayerPlace>& files() const { return files_; }

 private:
  Result<void> check_name(const std::string& name) const {
    if (is_same_name(image_.engine, image_.name, name)) return {};
    return failure(
        ErrorCode::kVerifyFailed,
        "the image's archive also has the name " + shown_text(name, kShownName) + ", which the file does not declare",
        "look at the image on the source");
  }

  Result<void> read_docker_list() {
    SPARK_TRY(const Value list, archive_.json(kDockerList));
    const auto& images = items_of(list);
    if (images.size() != 1) return refused_image("does not contain exactly one image");
    SPARK_CHECK(check_keys(images.front(), {"Config", "RepoTags", "Layers", "Parent"}));
    // docker writes it for several images, and would remove that one of the receiver with this one.
    if (images.front().find("Parent") != nullptr) return refused_image("names another image as its parent");
    for (const Value& name : items_of(images.front().find("RepoTags"))) SPARK_CHECK(check_name(text_of(&name)));
    SPARK_TRY(const std::string config, archive_.read(images.front().text_or("Config", "")));
    docker_config_ = sha256(config);
    SPARK_TRY(const Value configuration, json_from(config));
    docker_architecture_ = configuration.text_or("architecture", "");
    std::vector<std::string> files;
    for (const Value& name : items_of(images.front().find("Layers"))) files.push_back(text_of(&name));
    return take_layers(configuration, files, "");
  }

  /// `files` are the layers in the order of the configuration. Each has the name `prefix` and its digest there; any
  /// name with an empty `prefix`.
  Result<void> take_layers(const Value& configuration, const std::vector<std::string>& files, std::string_view prefix) {
    SPARK_CHECK(check_keys(configuration, {"rootfs", "architecture"}));
    const Value* root = configuration.find("rootfs");
    if (root == nullptr) return refused_image("has a configuration without layers");
    SPARK_CHECK(check_keys(*root, {"diff_ids"}));
    const auto& digests = items_of(root->find("diff_ids"));
    if (digests.size() > kMostLayers) return refused_image("has too many layers");
    if (digests.size() != files.size()) return refused_image("has another number of layers than its configuration");
    // Another list has the same configuration, see compare().
    unpacked_.clear();
    for (std::size_t i = 0; i < files.size(); ++i) {
      SPARK_TRY(std::string digest, digest_from(text_of(&digests[i])));
      unpacked_.push_back(digest);
      // podman would look for the digest of the list, and does not compare what it finds with the configuration.
      if (!prefix.empty() && files[i] != std::string(prefix) + digest) {
        return failure(ErrorCode::kVerifyFailed,
                       "the archive lists a layer by another digest than the image's configuration names",
                       "nothing was loaded; look at the image on the source");
      }
      if (image_.engine == ContainerEngine::kDocker && archive_.is_link(files[i])) {
        layers_.push_back({files[i], 0, 0, digest});
        SPARK_TRY(const TarEntry target, archive_.target_of(files[i]));
        const bool is_left_out = i < image_.left_out && target.size == 0;
        if (!is_left_out) files_.push_back({files[i], target.offset, target.size, std::move(digest)});
        continue;
      }
      SPARK_TRY(const TarEntry entry, archive_.file(files[i]));
      // docker looks for the layer's digest, podman for the one in the file's name.
      const bool is_found = image_.engine == ContainerEngine::kDocker || files[i].find(digest) != std::string::npos;
      const bool is_left_out = i < image_.left_out && entry.size == 0 && is_found;
      if (!is_left_out) layers_.push_back({files[i], entry.offset, entry.size, std::move(digest)});
    }
    return {};
  }

  /// `is_covered`: the image's id is a digest over the manifest.
  Result<void> take_layers_of(const Value& manifest, bool is_covered) {
    for (const Value& layer : items_of(manifest.find("layers"))) {
      SPARK_CHECK(check_descriptor(layer));
      if (is_covered) continue;
      SPARK_CHECK(check_kind(layer, PartKind::kLayer));
      SPARK_CHECK(check_annotations(layer));
    }
    SPARK_TRY(const std::string config, digest_in(*manifest.find("config")));
    // docker's own list comes with this one, and has the same layers.
    if (image_.engine == ContainerEngine::kDocker) return take_blobs(manifest, config == docker_config_);
    SPARK_TRY(const Value configuration, archive_.json(std::string(kBlobs) + config));
    std::vector<std::string> files;
    for (const Value& layer : items_of(manifest.find("layers"))) {
      SPARK_TRY(const std::string digest, digest_in(layer));
      files.push_back(std::string(kBlobs) + digest);
    }
    return take_layers(configuration, files, kBlobs);
  }

  /// docker's store of containerd also keeps an image whose layers are missing or wrong. `all`: none may be missing.
  Result<void> take_blobs(const Value& manifest, bool all) {
    const auto& layers = items_of(manifest.find("layers"));
    if (layers.size() > kMostLayers) return refused_image("has too many layers");
    for (std::size_t i = 0; i < layers.size(); ++i) {
      SPARK_TRY(std::string digest, digest_in(layers[i]));
      const std::string name = std::string(kBlobs) + digest;
      if (!all && !archive_.has(name)) continue;
      SPARK_TRY(const TarEntry entry, archive_.file(name));
      const bool is_left_out = i < image_.left_out && entry.size == 0;
      if (!is_left_out) files_.push_back({name, entry.offset, entry.size, std::move(digest)});
    }
    return {};
  }

  Result<void> read_oci_list() {
    SPARK_TRY(const Value index, archive_.json(kOciList));
    SPARK_CHECK(check_keys(index, {"manifests", "mediaType", "annotations"}));
    SPARK_CHECK(check_kind(index, PartKind::kIndex));
    const bool is_podman = image_.engine == ContainerEngine::kPodman;
    if (is_podman) SPARK_CHECK(check_annotations(index));
    const auto& manifests = items_of(index.find("manifests"));
    if (manifests.empty()) return refused_image("does not contain exactly one image");
    std::vector<Referrer> referrers;
    for (const Value& manifest : manifests) {
      SPARK_CHECK(check_descriptor(manifest));
      SPARK_CHECK(check_names(manifest.find("annotations")));
      if (is_podman) SPARK_CHECK(check_annotations(manifest));
      SPARK_TRY(const std::string digest, digest_in(manifest));
      if (!archive_.has(std::string(kBlobs) + digest)) return refused_image("lacks a part that it lists");
      SPARK_TRY(const std::string subject, is_podman ? Result<std::string>("") : subject_of(manifest));
      if (!subject.empty()) {
        if (referrers.size() == kMostParts) return refused_image("has too many parts");
        referrers.push_back({digest, subject});
        continue;
      }
      targets_.insert(digest);
      SPARK_CHECK(read_manifest(manifest, 0, !is_podman && digest == image_.id));
    }
    return read_referrers(std::move(referrers));
  }

  /// Reads signatures: each describes a part that the id covers, or another signature. They come in any order.
  Result<void> read_referrers(std::vector<Referrer> referrers) {
    while (!referrers.empty()) {
      const auto next =
          std::ranges::find_if(referrers, [this](const Referrer& one) { return covered_.contains(one.subject); });
      if (next == referrers.end()) return refused_image("has a part that belongs to no image");
      SPARK_CHECK(read_referrer(next->digest));
      referrers.erase(next);
    }
    return {};
  }

  /// docker makes no image of it, and an older docker one without a name. It has no layers of an image, so no docker
  /// unpacks it. Its parts may be of any other kind.
  Result<void> read_referrer(const std::string& digest) {
    // An attestation is also in the list that the id covers.
    if (!covered_.insert(digest).second) return {};
    SPARK_TRY(const std::string bytes, read_part(digest));
    SPARK_TRY(const Value manifest, json_from(bytes));
    SPARK_CHECK(check_keys(manifest, {"manifests", "config", "layers", "mediaType", "annotations"}));
    const Value* config = manifest.find("config");
    const auto& layers = items_of(manifest.find("layers"));
    const bool is_list = config == nullptr || manifest.find("manifests") != nullptr;
    if (is_list || std::ranges::any_of(layers, is_unpacked)) return refused_image("has an image beside its own");
    for (const Value& layer : layers) SPARK_CHECK(check_descriptor(layer));
    SPARK_CHECK(read_config(*config));
    return take_blobs(manifest, false);
  }

  /// docker writes the whole name, and the tag alone beside it.
  Result<void> check_names(const Value* annotations) const {
    if (annotations == nullptr || annotations->is_null()) return {};
    if (!annotations->is_map()) return refused_image("has a list of another form");
    // docker would load the image, and not unpack it.
    if (annotations->find("vnd.docker.reference.type") != nullptr) return refused_image("has an image that is none");
    const Value* whole = annotations->find("io.containerd.image.name");
    const Value* reference = annotations->find("org.opencontainers.image.ref.name");
    if (whole != nullptr) SPARK_CHECK(check_name(text_of(whole)));
    if (reference == nullptr) return {};
    const std::string tagged = image_name_parts(image_.name).rest;
    const bool is_tag = image_.engine == ContainerEngine::kDocker && whole != nullptr &&
                        text_of(reference) == tagged.substr(tagged.rfind(':') + 1);
    return is_tag ? Result<void>() : check_name(text_of(reference));
  }

  Result<void> read_repositories() const {
    SPARK_TRY(const Value repositories, archive_.json(kRepositories));
    if (!repositories.is_map()) return refused_image("has a list of another form");
    for (const MapEntry& repository : entries_of(repositories)) {
      if (!repository.value.is_map()) return refused_image("has a list of another form");
      for (const MapEntry& tag : entries_of(repository.value)) {
        SPARK_CHECK(check_name(repository.key + ":" + tag.key));
      }
    }
    return {};
  }

  /// A part whose name is its digest.
  Result<std::string> read_part(const std::string& digest) {
    if (++parts_ > kMostParts) return refused_image("has too many parts");
    SPARK_TRY(std::string bytes, archive_.read(std::string(kBlobs) + digest));
    if (sha256(bytes) != digest) return refused_image("has a part with another digest than its name");
    return bytes;
  }

  /// A manifest, or a list of those of several platforms. An archive lacks the platforms that its machine lacks.
  /// `is_covered`: the image's id is a digest over the descriptor's part.
  Result<void> read_manifest(const Value& descriptor, std::size_t depth, bool is_covered) {
    SPARK_TRY(const std::string digest, digest_in(descriptor));
    if (!archive_.has(std::string(kBlobs) + digest)) return {};
    SPARK_TRY(const auto stated, stated_kind(descriptor));
    // podman guesses the kind that is not stated, and could read a list of an old form.
    if (!stated) return refused_image("has a part without its type");
    if (const auto known = lists_.find(digest); known != lists_.end()) return check_kind(descriptor, known->second);
    SPARK_TRY(const std::string bytes, read_part(digest));
    SPARK_TRY(const Value manifest, json_from(bytes));
    SPARK_CHECK(check_keys(manifest, {"manifests", "config", "layers", "mediaType", "annotations"}));
    const Value* config = manifest.find("config");
    const Value* manifests = manifest.find("manifests");
    if ((config == nullptr) == (manifests == nullptr)) return refused_image("has a list of another form");
    const PartKind kind = config != nullptr ? PartKind::kManifest : PartKind::kIndex;
    lists_.emplace(digest, kind);
    if (is_covered) covered_.insert(digest);
    SPARK_CHECK(check_kind(descriptor, kind));
    SPARK_CHECK(check_kind(manifest, kind));
    if (!is_covered) SPARK_CHECK(check_annotations(manifest));
    if (config != nullptr) {
      SPARK_CHECK(take_config(*config, is_covered));
      return take_layers_of(manifest, is_covered);
    }
    if (depth == kDeepestList) return refused_image("has lists in lists");
    has_platforms_ = true;
    for (const Value& one : items_of(manifests)) {
      SPARK_CHECK(check_descriptor(one));
      if (!is_covered) SPARK_CHECK(check_annotations(one));
      SPARK_CHECK(read_manifest(one, depth + 1, is_covered));
    }
    return {};
  }

  Result<void> take_config(const Value& config, bool is_covered) {
    SPARK_TRY(std::string digest, read_config(config));
    if (!is_covered) {
      SPARK_CHECK(check_kind(config, PartKind::kConfig));
      SPARK_CHECK(check_annotations(config));
    }
    configs_.insert(std::move(digest));
    return {};
  }

  /// Its digest.
  Result<std::string> read_config(const Value& config) {
    SPARK_CHECK(check_descriptor(config));
    SPARK_TRY(std::string digest, digest_in(config));
    const bool is_new = archive_.has(std::string(kBlobs) + digest) && read_configs_.insert(digest).second;
    if (is_new) SPARK_CHECK(read_part(digest));
    return digest;
  }

  /// All lists name one image, so that it does not matter which of them the engine reads.
  Result<void> compare() const {
    const std::set<std::string> only{image_.id};
    const bool is_listed = !targets_.empty();
    const bool by_config = (docker_config_.empty() || docker_config_ == image_.id) &&
                           (!is_listed || (configs_ == only && !has_platforms_));
    const bool by_manifest =
        image_.engine == ContainerEngine::kDocker && targets_ == only && configs_.count(docker_config_) > 0;
    // The source states the id, so the id alone does not decide that layers may be packed.
    if (by_manifest && !image_.packs_layers) {
      return failure(ErrorCode::kVerifyFailed,
                     "the image's id is one of docker's store of containerd, and docker on this node has a store of "
                     "the other kind",
                     kStoresOfTwoKinds);
    }
    // docker would keep the image, and unpack nothing of it.
    if (by_manifest && has_platforms_ && !image_.architecture.empty() && docker_architecture_ != image_.architecture) {
      return failure(ErrorCode::kVerifyFailed,
                     "the archive has the image for " + shown_text(docker_architecture_, kShownName) +
                         ", and not for " + image_.architecture,
                     "name a node of this architecture in `from`");
    }
    if (by_config || by_manifest) return {};
    std::set<std::string> others = configs_;
    others.insert(targets_.begin(), targets_.end());
    others.insert(docker_config_);
    others.erase(image_.id);
    others.erase("");
    const std::string other = others.empty() ? "" : " " + short_image_id(*others.begin());
    return failure(ErrorCode::kVerifyFailed,
                   "the archive contains another image" + other + " than the source has: " + short_image_id(image_.id),
                   "nothing was loaded; look at the image on the source");
  }

  ArchiveFiles& archive_;
  const ExpectedImage& image_;
  std::string docker_architecture_;  ///< Of that configuration.
  std::string docker_config_;        ///< The digest of the configuration in docker's list; empty without that list.
  std::set<std::string> targets_;    ///< The digests in the list of OCI, and ...
  std::set<std::string> configs_;    ///< ... those of the configurations below them.
  bool has_platforms_ = false;       ///< One of the targets is itself a list.
  std::vector<LayerPlace> layers_;
  std::vector<LayerPlace> files_;
  std::vector<std::string> unpacked_;
  std::map<std::string, PartKind> lists_;  ///< The lists read so far, by their digests.
  std::set<std::string> covered_;          ///< Of these, those below the id; and what describes them.
  std::set<std::string> read_configs_;
  std::size_t parts_ = 0;
};

}  // namespace

Result<void> check_archive(int file, const ExpectedImage& image, const std::function<void()>& sign_of_life) {
  SPARK_TRY(ArchiveFiles archive, ArchiveFiles::open(file));
  ArchiveCheck check(archive, image);
  SPARK_CHECK(check.run());
  std::vector<LayerPlace> layers = check.files();
  for (LayerPlace& layer : check.layers()) {
    const bool is_link = layer.offset == 0;
    if (!is_link) layers.push_back(std::move(layer));
  }
  const LayerForm form = check.is_by_config() ? LayerForm::kPlain : LayerForm::kPacked;
  return check_layers(file, layers, check.unpacked(), form, sign_of_life);
}

Result<std::vector<LayerPlace>> layers_in_archive(int file, ExpectedImage image) {
  image.left_out = 0;
  image.architecture.clear();
  // No layer is read here, and none unpacked.
  image.packs_layers = true;
  SPARK_TRY(ArchiveFiles archive, ArchiveFiles::open(file));
  ArchiveCheck check(archive, image);
  SPARK_CHECK(check.run());
  return check.layers();
}

}  // namespace sparkplan::copy
