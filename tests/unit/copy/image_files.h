#pragma once

#include <string>

#include "engine/copy/images/image_archive.h"
#include "engine/core/digest.h"
#include "tests/support/catch.h"
#include "tests/unit/copy/tar_files.h"

/// Archives of one image with one layer, in the forms that docker and podman write.
namespace sparkplan::test {

inline const std::string kName = "local/vllm:1";
inline const std::string kLayer = std::string(64, 'c');
inline const std::string kContent = entry("file", "layer") + end();
inline const std::string kDiffs = R"(,"diff_ids":["sha256:)" + sha256(kContent) + R"("]}})";
inline const std::string kConfig = R"({"rootfs":{"type":"layers")" + kDiffs;
inline const std::string kOtherConfig = R"({"rootfs":{"type":"forged")" + kDiffs;

/// `packs_layers`: docker has its store of containerd.
inline Result<void> check_image(const std::string& bytes, ContainerEngine engine, const std::string& id,
                                bool packs_layers = false) {
  return with_file(bytes, [&](int file) {
    return copy::check_archive(file, {engine, kName, id, 0, "", packs_layers});
  });
}

inline bool is_refused(const std::string& bytes, ErrorCode code, ContainerEngine engine = ContainerEngine::kDocker) {
  const auto checked = check_image(bytes, engine, sha256(kConfig));
  INFO((checked ? "accepted" : checked.error().describe()));
  CHECK_FALSE(checked);
  return !checked && checked.error().code == code;
}

inline std::string docker_list(const std::string& config_file, const std::string& tags,
                               const std::string& layer = kLayer + "/layer.tar") {
  return R"([{"Config":")" + config_file + R"(","RepoTags":)" + tags + R"(,"Layers":[")" + layer + R"("]}])";
}

/// As docker wrote it until version 24, and podman in the format docker-archive.
inline Files docker_files(const std::string& config, const std::string& tags = R"(["local/vllm:1"])") {
  const std::string file = sha256(config) + ".json";
  return {{file, config}, {kLayer + "/layer.tar", kContent}, {"manifest.json", docker_list(file, tags)}};
}

inline const std::string kManifestType = "application/vnd.oci.image.manifest.v1+json";
inline const std::string kIndexType = "application/vnd.oci.image.index.v1+json";
inline const std::string kConfigType = "application/vnd.oci.image.config.v1+json";
inline const std::string kLayerType = "application/vnd.oci.image.layer.v1.tar";

/// A descriptor; `more` begins with a comma.
inline std::string descriptor_of(const std::string& part, const std::string& type, const std::string& more = "") {
  return R"({"mediaType":")" + type + R"(","digest":"sha256:)" + sha256(part) + "\"" + more + "}";
}

/// `of_layer` and `more` begin with a comma.
inline std::string manifest_of(const std::string& config, const std::string& layer = kContent,
                               const std::string& of_layer = "", const std::string& more = "") {
  return R"({"schemaVersion":2,"config":)" + descriptor_of(config, kConfigType) + R"(,"layers":[)" +
         descriptor_of(layer, kLayerType, of_layer) + "]" + more + "}";
}

inline std::string index_of(const std::string& part, const std::string& annotations) {
  const bool is_index = part.find(R"("manifests")") != std::string::npos;
  return R"({"schemaVersion":2,"manifests":[)" +
         descriptor_of(part, is_index ? kIndexType : kManifestType, R"(,"annotations":)" + annotations) + "]}";
}

inline std::string annotations_of(const std::string& reference, const std::string& whole = "") {
  std::string text = R"({"org.opencontainers.image.ref.name":")" + reference + "\"";
  if (!whole.empty()) text += R"(,"io.containerd.image.name":")" + whole + "\"";
  return text + "}";
}

inline const std::string kOfDocker = annotations_of("1", "docker.io/local/vllm:1");

/// As podman writes it in the format oci-archive, with this manifest.
inline Files files_with(const std::string& manifest, const std::string& config, const std::string& annotations,
                        const std::string& layer = kContent) {
  return {{"blobs/sha256/" + sha256(manifest), manifest},
          {"blobs/sha256/" + sha256(config), config},
          {"index.json", index_of(manifest, annotations)},
          {"oci-layout", R"({"imageLayoutVersion":"1.0.0"})"},
          {"blobs/sha256/" + sha256(layer), layer}};
}

inline Files oci_files(const std::string& config, const std::string& annotations, const std::string& layer = kContent) {
  return files_with(manifest_of(config, layer), config, annotations, layer);
}

/// As docker writes it from version 25 on: in both forms.
inline Files in_both_forms(Files files, const std::string& config, const std::string& layer = kContent) {
  files.emplace_back("manifest.json", docker_list("blobs/sha256/" + sha256(config), R"(["local/vllm:1"])",
                                                  "blobs/sha256/" + sha256(layer)));
  files.emplace_back("repositories", R"({"local/vllm":{"1":")" + kLayer + R"("}})");
  return files;
}

inline Files both_files(const std::string& config, const std::string& annotations = kOfDocker) {
  return in_both_forms(oci_files(config, annotations), config);
}

/// The second platform is not there.
inline std::string platforms_of(const std::string& manifest) {
  return R"({"manifests":[)" + descriptor_of(manifest, kManifestType) + "," + descriptor_of("other", kManifestType) +
         "]}";
}

inline Files with_platforms() {
  const std::string list = platforms_of(manifest_of(kConfig));
  Files files = both_files(kConfig);
  files[2].second = index_of(list, kOfDocker);
  files.emplace_back("blobs/sha256/" + sha256(list), list);
  return files;
}

}  // namespace sparkplan::test
