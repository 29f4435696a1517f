#include "engine/copy/images/image_archive.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/copy/file_bytes.h"
#include "engine/copy/images/image_name.h"
#include "engine/copy/images/tar_headers.h"
#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/core/value.h"
#include "engine/model/container_image.h"

namespace sparkplan::copy {
namespace {

/// Of the files that are read here: lists and configurations. containerd has the same bound for a manifest.
constexpr std::int64_t kLargestPart = std::int64_t{8} << 20U;
/// Manifests and configurations of all platforms.
constexpr std::size_t kMostParts = 200;
/// Of one manifest. The engines stop at 127.
constexpr std::size_t kMostLayers = 500;
constexpr std::size_t kDeepestList = 2;
constexpr std::size_t kShownName = 100;
constexpr std::string_view kBlobs = "blobs/sha256/";
constexpr const char* kDockerList = "manifest.json";
constexpr const char* kOciList = "index.json";
constexpr const char* kRepositories = "repositories";

tl::unexpected<Error> refused(const std::string& why) {
  return failure(ErrorCode::kUnsupported, "the image's archive " + why,
                 "look at the image on the source; another version of the engine may write archives in another way");
}

/// The files of an image in the forms that docker and podman write. No file lies below a link.
bool is_usual_file(std::string_view name) {
  constexpr std::array<std::string_view, 4> kLists{kDockerList, kOciList, kRepositories, "oci-layout"};
  constexpr std::array<std::string_view, 3> kOfLayer{"layer.tar", "VERSION", "json"};
  if (std::find(kLists.begin(), kLists.end(), name) != kLists.end()) return true;
  if (name.starts_with(kBlobs)) return is_sha256(name.substr(kBlobs.size()));
  const auto digest = name.substr(0, 2 * kCopyDigestBytes);
  const auto rest = name.substr(digest.size());
  if (!is_sha256(digest)) return false;
  if (rest.empty() || rest == ".json" || rest == ".tar") return true;
  return rest.front() == '/' && std::find(kOfLayer.begin(), kOfLayer.end(), rest.substr(1)) != kOfLayer.end();
}

bool is_usual(const TarEntry& entry) {
  std::string_view name = entry.name;
  switch (entry.kind) {
    case TarEntry::Kind::kFile:
      return is_usual_file(name);
    case TarEntry::Kind::kLink:  // A layer that the archive has already.
      return name.ends_with("/layer.tar") && is_usual_file(name);
    case TarEntry::Kind::kDirectory:
      break;
  }
  if (name.ends_with('/')) name.remove_suffix(1);
  return name == "blobs" || name == "blobs/sha256" || is_sha256(name);
}

/// The engines read a key in any case, also with letters beyond ASCII that fold to it, and take the last one.
Result<void> check_keys(const Value& map, std::initializer_list<std::string_view> known) {
  if (!map.is_map()) return refused("has a list of another form");
  for (const MapEntry& entry : entries_of(map)) {
    const std::string& key = entry.key;
    const bool is_ascii = std::ranges::all_of(key, [](char c) { return static_cast<unsigned char>(c) < 128; });
    const bool is_other_spelling = std::ranges::any_of(
        known, [&](std::string_view one) { return key != one && lower_case(key) == lower_case(one); });
    if (!is_ascii || is_other_spelling) return refused("has the key " + shown_text(key, kShownName));
  }
  return {};
}

/// A reference to another part. An engine would take the part from its addresses, or from the reference itself, in
/// place of the file that is checked here. Source: OCI image-spec, descriptor.md.
Result<void> check_descriptor(const Value& descriptor) {
  SPARK_CHECK(check_keys(descriptor, {"digest", "annotations", "urls", "data"}));
  for (const char* key : {"urls", "data"}) {
    if (descriptor.find(key) != nullptr) return refused("has a part that comes from another place");
  }
  // With such an annotation, podman would use a layer from its own store, and not the file.
  for (const MapEntry& annotation : entries_of(descriptor.find("annotations"))) {
    if (annotation.key.find("zstd-chunked") != std::string::npos)
      return refused("has a part that comes from another place");
  }
  return {};
}

Result<std::string> digest_from(const std::string& text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  if (text.starts_with(kAlgorithm) && is_sha256(std::string_view(text).substr(kAlgorithm.size()))) {
    return text.substr(kAlgorithm.size());
  }
  return refused("names a part without its digest");
}

Result<std::string> digest_in(const Value& descriptor) { return digest_from(descriptor.text_or("digest", "")); }

Result<Value> json_from(const std::string& bytes) {
  auto value = parse_plain_json(bytes);
  if (value) return value;
  return refused("has a list that is no JSON: " + value.error().describe());
}

/// The files of an archive by their names.
class Archive {
 public:
  static Result<Archive> open(int file) {
    Archive archive(file);
    SPARK_TRY(auto entries, tar_entries(file));
    for (TarEntry& entry : entries) {
      if (!is_usual(entry)) return refused("has the name " + shown_text(entry.name, kShownName));
      std::string name = entry.name;
      if (name.ends_with('/')) name.pop_back();
      if (!archive.entries_.emplace(std::move(name), std::move(entry)).second) return refused("has a name twice");
    }
    SPARK_CHECK(archive.check_links());
    return archive;
  }

  bool has(const std::string& name) const { return entries_.count(name) > 0; }

  bool is_link(const std::string& name) const {
    const auto found = entries_.find(name);
    return found != entries_.end() && found->second.kind == TarEntry::Kind::kLink;
  }

  Result<TarEntry> file(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found != entries_.end() && found->second.kind == TarEntry::Kind::kFile) return found->second;
    return refused("lacks " + shown_text(name, kShownName));
  }

  Result<std::string> read(const std::string& name) const {
    SPARK_TRY(const TarEntry entry, file(name));
    if (entry.size > kLargestPart) return refused("has a list or a configuration above 8 MiB");
    std::vector<char> bytes(static_cast<std::size_t>(entry.size));
    SPARK_CHECK(read_at(file_, bytes, entry.offset));
    return std::string(bytes.begin(), bytes.end());
  }

  Result<Value> json(const std::string& name) const {
    SPARK_TRY(const std::string bytes, read(name));
    return json_from(bytes);
  }

 private:
  explicit Archive(int file) : file_(file) {}

  /// A link leads to a layer beside its own folder: "../NAME". So no reader looks for it outside the archive.
  Result<void> check_links() const {
    constexpr std::string_view kUp = "../";
    for (const auto& [name, entry] : entries_) {
      if (entry.kind != TarEntry::Kind::kLink) continue;
      const auto layer =
          entry.target.starts_with(kUp) ? entries_.find(entry.target.substr(kUp.size())) : entries_.end();
      const bool is_layer = layer != entries_.end() && layer->second.kind == TarEntry::Kind::kFile;
      if (!is_layer) return refused("has a link to " + shown_text(entry.target, kShownName));
    }
    return {};
  }

  int file_;
  std::map<std::string, TarEntry> entries_;
};

/// Reads all lists of an archive, and compares what they name.
class ArchiveCheck {
 public:
  /// `wants_layers`: also those that the engine compares by itself.
  ArchiveCheck(const Archive& archive, const ExpectedImage& image, bool wants_layers)
      : archive_(archive), image_(image), wants_layers_(wants_layers) {}

  Result<void> run() {
    const bool is_docker = archive_.has(kDockerList);
    const bool is_oci = archive_.has(kOciList);
    // Without this list, docker reads a form whose ids are no digests.
    if (!is_docker && (!is_oci || image_.engine == ContainerEngine::kDocker))
      return refused("has no list of its images");
    if (is_docker) SPARK_CHECK(read_docker_list());
    if (is_oci) SPARK_CHECK(read_oci_list());
    if (archive_.has(kRepositories)) SPARK_CHECK(read_repositories());
    return compare();
  }

  const std::vector<LayerPlace>& layers() const { return layers_; }
  /// For docker: the layers of the OCI lists, each with the digest of the file.
  const std::vector<LayerPlace>& blobs() const { return blobs_; }
  /// The id is the digest of the configuration that docker's list names.
  bool is_by_docker_config() const { return docker_config_ == image_.id; }

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
    if (images.size() != 1) return refused("does not contain exactly one image");
    SPARK_CHECK(check_keys(images.front(), {"Config", "RepoTags", "Layers"}));
    for (const Value& name : items_of(images.front().find("RepoTags"))) SPARK_CHECK(check_name(text_of(&name)));
    SPARK_TRY(const std::string config, archive_.read(images.front().text_or("Config", "")));
    docker_config_ = sha256(config);
    std::vector<std::string> files;
    for (const Value& name : items_of(images.front().find("Layers"))) files.push_back(text_of(&name));
    return take_layers(config, files, "");
  }

  /// `files` are the layers in the order of the configuration. Each has the name `prefix` and its digest there; any
  /// name with an empty `prefix`.
  Result<void> take_layers(const std::string& config, const std::vector<std::string>& files, std::string_view prefix) {
    if (!wants_layers_) return {};
    SPARK_TRY(const Value value, json_from(config));
    SPARK_CHECK(check_keys(value, {"rootfs"}));
    const Value* root = value.find("rootfs");
    if (root == nullptr) return refused("has a configuration without layers");
    SPARK_CHECK(check_keys(*root, {"diff_ids"}));
    const auto& digests = items_of(root->find("diff_ids"));
    if (digests.size() > kMostLayers) return refused("has too many layers");
    if (digests.size() != files.size()) return refused("has another number of layers than its configuration");
    for (std::size_t i = 0; i < files.size(); ++i) {
      SPARK_TRY(std::string digest, digest_from(text_of(&digests[i])));
      // podman would look for the digest of the list, and does not compare what it finds with the configuration.
      if (!prefix.empty() && files[i] != std::string(prefix) + digest) {
        return failure(ErrorCode::kVerifyFailed,
                       "the archive lists a layer by another digest than the image's configuration names",
                       "nothing was loaded; look at the image on the source");
      }
      if (image_.engine == ContainerEngine::kDocker && archive_.is_link(files[i])) {
        layers_.push_back({files[i], 0, 0, std::move(digest)});
        continue;
      }
      SPARK_TRY(const TarEntry entry, archive_.file(files[i]));
      const bool is_left_out = i < image_.left_out && entry.size == 0 && files[i].find(digest) != std::string::npos;
      if (!is_left_out) layers_.push_back({files[i], entry.offset, entry.size, std::move(digest)});
    }
    return {};
  }

  Result<void> take_layers_of(const Value& manifest) {
    for (const Value& layer : items_of(manifest.find("layers"))) SPARK_CHECK(check_descriptor(layer));
    SPARK_TRY(const std::string config, digest_in(*manifest.find("config")));
    // docker's own list comes with this one, and has the same layers.
    if (image_.engine == ContainerEngine::kDocker) return take_blobs(manifest, config == docker_config_);
    SPARK_TRY(const std::string bytes, archive_.read(std::string(kBlobs) + config));
    std::vector<std::string> files;
    for (const Value& layer : items_of(manifest.find("layers"))) {
      SPARK_TRY(const std::string digest, digest_in(layer));
      files.push_back(std::string(kBlobs) + digest);
    }
    return take_layers(bytes, files, kBlobs);
  }

  /// docker's store of containerd also keeps an image whose layers are missing or wrong. `all`: none may be missing.
  Result<void> take_blobs(const Value& manifest, bool all) {
    const auto& layers = items_of(manifest.find("layers"));
    if (layers.size() > kMostLayers) return refused("has too many layers");
    for (std::size_t i = 0; i < layers.size(); ++i) {
      SPARK_TRY(std::string digest, digest_in(layers[i]));
      const std::string name = std::string(kBlobs) + digest;
      if (!all && !archive_.has(name)) continue;
      SPARK_TRY(const TarEntry entry, archive_.file(name));
      const bool is_left_out = i < image_.left_out && entry.size == 0;
      if (!is_left_out) blobs_.push_back({name, entry.offset, entry.size, std::move(digest)});
    }
    return {};
  }

  Result<void> read_oci_list() {
    SPARK_TRY(const Value index, archive_.json(kOciList));
    SPARK_CHECK(check_keys(index, {"manifests"}));
    const auto& manifests = items_of(index.find("manifests"));
    if (manifests.empty()) return refused("does not contain exactly one image");
    for (const Value& manifest : manifests) {
      SPARK_CHECK(check_descriptor(manifest));
      SPARK_CHECK(check_annotations(manifest.find("annotations")));
      SPARK_TRY(const std::string digest, digest_in(manifest));
      if (!archive_.has(std::string(kBlobs) + digest)) return refused("lacks a part that it lists");
      targets_.insert(digest);
      SPARK_CHECK(read_manifest(digest, 0));
    }
    return {};
  }

  /// docker writes the whole name, and the tag alone beside it.
  Result<void> check_annotations(const Value* annotations) const {
    if (annotations == nullptr || annotations->is_null()) return {};
    if (!annotations->is_map()) return refused("has a list of another form");
    // docker would load the image, and not unpack it.
    if (annotations->find("vnd.docker.reference.type") != nullptr) return refused("has an image that is none");
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
    if (!repositories.is_map()) return refused("has a list of another form");
    for (const MapEntry& repository : entries_of(repositories)) {
      if (!repository.value.is_map()) return refused("has a list of another form");
      for (const MapEntry& tag : entries_of(repository.value)) {
        SPARK_CHECK(check_name(repository.key + ":" + tag.key));
      }
    }
    return {};
  }

  /// A part whose name is its digest.
  Result<std::string> read_part(const std::string& digest) {
    if (++parts_ > kMostParts) return refused("has too many parts");
    SPARK_TRY(std::string bytes, archive_.read(std::string(kBlobs) + digest));
    if (sha256(bytes) != digest) return refused("has a part with another digest than its name");
    return bytes;
  }

  /// A manifest, or a list of those of several platforms. An archive lacks the platforms that its machine lacks.
  Result<void> read_manifest(const std::string& digest, std::size_t depth) {
    if (!archive_.has(std::string(kBlobs) + digest) || !read_.insert(digest).second) return {};
    SPARK_TRY(const std::string bytes, read_part(digest));
    SPARK_TRY(const Value manifest, json_from(bytes));
    SPARK_CHECK(check_keys(manifest, {"manifests", "config", "layers"}));
    const Value* config = manifest.find("config");
    const Value* manifests = manifest.find("manifests");
    if ((config == nullptr) == (manifests == nullptr)) return refused("has a list of another form");
    if (config != nullptr) {
      SPARK_CHECK(take_config(*config));
      return take_layers_of(manifest);
    }
    if (depth == kDeepestList) return refused("has lists in lists");
    has_platforms_ = true;
    for (const Value& one : items_of(manifests)) {
      SPARK_CHECK(check_descriptor(one));
      SPARK_TRY(const std::string below, digest_in(one));
      SPARK_CHECK(read_manifest(below, depth + 1));
    }
    return {};
  }

  Result<void> take_config(const Value& config) {
    SPARK_CHECK(check_descriptor(config));
    SPARK_TRY(const std::string digest, digest_in(config));
    if (archive_.has(std::string(kBlobs) + digest) && read_.insert(digest).second) SPARK_CHECK(read_part(digest));
    configs_.insert(digest);
    return {};
  }

  /// All lists name one image, so that it does not matter which of them the engine reads.
  Result<void> compare() const {
    const std::set<std::string> only{image_.id};
    const bool is_listed = !targets_.empty();
    const bool by_config = (docker_config_.empty() || docker_config_ == image_.id) &&
                           (!is_listed || (configs_ == only && !has_platforms_));
    const bool by_manifest =
        image_.engine == ContainerEngine::kDocker && targets_ == only && configs_.count(docker_config_) > 0;
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

  const Archive& archive_;
  const ExpectedImage& image_;
  const bool wants_layers_;
  std::string docker_config_;      ///< The digest of the configuration in docker's list; empty without that list.
  std::set<std::string> targets_;  ///< The digests in the list of OCI, and ...
  std::set<std::string> configs_;  ///< ... those of the configurations below them.
  bool has_platforms_ = false;     ///< One of the targets is itself a list.
  std::vector<LayerPlace> layers_;
  std::vector<LayerPlace> blobs_;
  std::set<std::string> read_;
  std::size_t parts_ = 0;
};

}  // namespace

Result<void> check_archive(int file, const ExpectedImage& image, const std::function<void()>& sign_of_life) {
  SPARK_TRY(const Archive archive, Archive::open(file));
  ArchiveCheck check(archive, image, image.engine == ContainerEngine::kPodman);
  SPARK_CHECK(check.run());
  SPARK_CHECK(check_layers(file, check.blobs(), sign_of_life));
  return check_layers(file, check.layers(), sign_of_life);
}

Result<std::vector<LayerPlace>> layers_in_archive(int file, ExpectedImage image) {
  image.left_out = 0;
  SPARK_TRY(const Archive archive, Archive::open(file));
  ArchiveCheck check(archive, image, true);
  SPARK_CHECK(check.run());
  const bool is_by_config = image.engine == ContainerEngine::kPodman || check.is_by_docker_config();
  return is_by_config ? check.layers() : std::vector<LayerPlace>();
}

}  // namespace sparkplan::copy
