#include "engine/copy/images/archive_lists.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/copy/images/archive_files.h"
#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"

namespace sparkplan::copy {
namespace {

/// Annotations that builders, engines and registries write, and that no runtime acts on: a key, or how keys begin.
/// Source: OCI image-spec, annotations.md; buildah, buildkit, docker and containerd.
constexpr std::array<std::string_view, 10> kDescriptions{"org.opencontainers.image.",
                                                         "org.label-schema.",
                                                         "io.buildah.",
                                                         "io.artifacthub.",
                                                         "io.containerd.image.name",
                                                         "containerd.io/distribution.source.",
                                                         "vnd.docker.reference.",
                                                         "com.docker.",
                                                         "dev.chainguard.",
                                                         "dev.sigstore."};

struct MediaType {
  std::string_view name;
  PartKind kind;
};
/// Source: OCI image-spec, media-types.md; image manifest version 2, schema 2, of docker.
constexpr std::array<MediaType, 17> kMediaTypes{{
    {"application/vnd.oci.image.manifest.v1+json", PartKind::kManifest},
    {"application/vnd.docker.distribution.manifest.v2+json", PartKind::kManifest},
    {"application/vnd.oci.image.index.v1+json", PartKind::kIndex},
    {"application/vnd.docker.distribution.manifest.list.v2+json", PartKind::kIndex},
    {"application/vnd.oci.image.config.v1+json", PartKind::kConfig},
    {"application/vnd.docker.container.image.v1+json", PartKind::kConfig},
    {"application/vnd.oci.image.layer.v1.tar", PartKind::kLayer},
    {"application/vnd.oci.image.layer.v1.tar+gzip", PartKind::kLayer},
    {"application/vnd.oci.image.layer.v1.tar+zstd", PartKind::kLayer},
    {"application/vnd.oci.image.layer.nondistributable.v1.tar", PartKind::kLayer},
    {"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", PartKind::kLayer},
    {"application/vnd.oci.image.layer.nondistributable.v1.tar+zstd", PartKind::kLayer},
    {"application/vnd.docker.image.rootfs.diff.tar", PartKind::kLayer},
    {"application/vnd.docker.image.rootfs.diff.tar.gzip", PartKind::kLayer},
    {"application/vnd.docker.image.rootfs.diff.tar.zstd", PartKind::kLayer},
    {"application/vnd.docker.image.rootfs.foreign.diff.tar", PartKind::kLayer},
    {"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", PartKind::kLayer},
}};

constexpr const char* kWholeName = "io.containerd.image.name";
constexpr const char* kReferenceName = "org.opencontainers.image.ref.name";
constexpr const char* kSubject = "io.containerd.manifest.subject";

/// The configuration of a part that is no image: the attestations of BuildKit have it from version 0.32 on.
bool is_empty_part(const Value& descriptor) {
  constexpr const char* kEmpty = "{}";
  return descriptor.text_or("mediaType", "") == "application/vnd.oci.empty.v1+json" &&
         descriptor.text_or("digest", "") == "sha256:" + sha256(kEmpty) &&
         descriptor.text_or("data", "") == base64_encode(kEmpty);
}

}  // namespace

Result<void> check_keys(const Value& map, std::initializer_list<std::string_view> known) {
  if (!map.is_map()) return refused_image("has a list of another form");
  for (const MapEntry& entry : entries_of(map)) {
    const std::string& key = entry.key;
    const bool is_ascii = std::ranges::all_of(key, [](char c) { return static_cast<unsigned char>(c) < 128; });
    const bool is_other_spelling = std::ranges::any_of(
        known, [&](std::string_view one) { return key != one && lower_case(key) == lower_case(one); });
    if (!is_ascii || is_other_spelling) return refused_image("has the key " + shown_text(key, kShownName));
  }
  return {};
}

Result<void> check_descriptor(const Value& descriptor) {
  SPARK_CHECK(check_keys(descriptor, {"digest", "mediaType", "annotations", "urls", "data"}));
  const bool has_content = descriptor.find("data") != nullptr && !is_empty_part(descriptor);
  if (has_content || descriptor.find("urls") != nullptr)
    return refused_image("has a part that comes from another place");
  return {};
}

Result<void> check_annotations(const Value& map) {
  const Value* annotations = map.find("annotations");
  if (annotations == nullptr || annotations->is_null()) return {};
  if (!annotations->is_map()) return refused_image("has a list of another form");
  for (const MapEntry& annotation : entries_of(annotations)) {
    const std::string_view key = annotation.key;
    if (std::ranges::any_of(kDescriptions, [&](std::string_view one) { return key.starts_with(one); })) continue;
    return failure(ErrorCode::kUnsupported,
                   "the image's archive has the annotation " + shown_text(key, kShownName) +
                       ", which the image's id does not cover, and on which podman or a runtime could act",
                   "pull the image from its registry on each node, or build it without this annotation");
  }
  return {};
}

Result<std::optional<PartKind>> stated_kind(const Value& map) {
  const Value* type = map.find("mediaType");
  const bool is_empty = type != nullptr && type->string() != nullptr && type->string()->empty();
  if (type == nullptr || is_empty) return std::nullopt;
  const auto* known = std::ranges::find(kMediaTypes, text_of(type), &MediaType::name);
  if (known != kMediaTypes.end()) return known->kind;
  return refused_image("has a part of the type " + shown_text(text_of(type), kShownName));
}

Result<void> check_kind(const Value& map, PartKind kind) {
  SPARK_TRY(const auto stated, stated_kind(map));
  if (!stated || *stated == kind) return {};
  return refused_image("has a part of another kind than it states");
}

Result<std::string> subject_of(const Value& descriptor) {
  const Value* annotations = descriptor.find("annotations");
  if (annotations == nullptr || !annotations->is_map()) return "";
  const Value* subject = annotations->find(kSubject);
  const bool is_named = annotations->find(kWholeName) != nullptr || annotations->find(kReferenceName) != nullptr;
  if (subject == nullptr || is_named) return "";
  return digest_from(text_of(subject));
}

bool is_unpacked(const Value& layer) {
  const std::string type = lower_case(layer.text_or("mediaType", ""));
  return type.starts_with("application/vnd.oci.image.layer.") || type.starts_with("application/vnd.docker.image.");
}

Result<std::string> digest_from(const std::string& text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  if (text.starts_with(kAlgorithm) && is_sha256(std::string_view(text).substr(kAlgorithm.size()))) {
    return text.substr(kAlgorithm.size());
  }
  return refused_image("names a part without its digest");
}

Result<std::string> digest_in(const Value& descriptor) { return digest_from(descriptor.text_or("digest", "")); }

}  // namespace sparkplan::copy
