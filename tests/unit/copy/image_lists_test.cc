// The lists in an image's archive: their annotations, their types, and their size together.
#include <string>
#include <vector>

#include "engine/copy/images/image_archive.h"
#include "engine/core/digest.h"
#include "tests/support/catch.h"
#include "tests/unit/copy/image_files.h"
#include "tests/unit/copy/tar_files.h"

namespace sparkplan::copy {

using namespace test;

namespace {

const std::string kOfPodman = annotations_of("localhost/local/vllm:1");

/// An annotation, behind a comma.
std::string annotated(const std::string& key) { return R"(,"annotations":{")" + key + R"(":"1"})"; }

Result<void> check_manifest(const std::string& manifest, ContainerEngine engine, const std::string& id) {
  if (engine == ContainerEngine::kPodman)
    return check_image(tar_of(files_with(manifest, kConfig, kOfPodman)), ContainerEngine::kPodman, id);
  return check_image(tar_of(in_both_forms(files_with(manifest, kConfig, kOfDocker), kConfig)), ContainerEngine::kDocker,
                     id, true);
}

/// The archive as podman writes it, with this index.
Result<void> check_index(const std::string& index) {
  Files files = oci_files(kConfig, kOfPodman);
  files[2].second = index;
  return check_image(tar_of(files), ContainerEngine::kPodman, sha256(kConfig));
}

/// The text with `other` in place of `one`.
std::string with_other(std::string text, const std::string& one, const std::string& other) {
  const auto at = text.find(one);
  REQUIRE(at != std::string::npos);
  return text.replace(at, one.size(), other);
}

bool is_unsupported(const Result<void>& checked) { return !checked && checked.error().code == ErrorCode::kUnsupported; }

}  // namespace

TEST_CASE("image archive: an annotation that the id does not cover is refused unless it only describes") {
  const std::string key =
      GENERATE("run.oci.hooks.stdout", "run.oci.handler", "run.oci.keep_original_groups",
               "org.systemd.property.ExecStart", "org.criu.config", "module.wasm.image/variant", "krun.variant",
               "io.podman.annotations.privileged", "cdi.k8s.io/all", "ORG.opencontainers.image.title", "");
  const auto refused = [&](const Result<void>& checked) {
    return is_unsupported(checked) && checked.error().message.find("the annotation " + key) != std::string::npos &&
           checked.error().hint.find("registry") != std::string::npos;
  };
  const std::string of_manifest = manifest_of(kConfig, kContent, "", annotated(key));
  // podman gives it to the runtime of a container.
  CHECK(refused(check_manifest(of_manifest, ContainerEngine::kPodman, sha256(kConfig))));
  CHECK(refused(check_manifest(of_manifest, ContainerEngine::kDocker, sha256(kConfig))));
  const std::string other_case = with_other(of_manifest, R"("annotations")", R"("Annotations")");
  CHECK(is_unsupported(check_manifest(other_case, ContainerEngine::kPodman, sha256(kConfig))));
  const std::string honest = index_of(manifest_of(kConfig), kOfPodman);
  REQUIRE(check_index(honest));
  CHECK(refused(check_index(with_other(honest, R"(,"manifests")", annotated(key) + R"(,"manifests")"))));
  CHECK(refused(check_index(with_other(honest, R"(:1"})", R"(:1",")" + key + R"(":"1"})"))));
}

TEST_CASE("image archive: annotations that builders and registries write are accepted") {
  const std::string key = GENERATE("org.opencontainers.image.created", "org.opencontainers.image.base.digest",
                                   "io.buildah.version", "com.docker.official-images.bashbrew.arch",
                                   "containerd.io/distribution.source.docker.io", "org.label-schema.name");
  const std::string manifest = manifest_of(kConfig, kContent, annotated(key), annotated(key));
  CHECK(check_manifest(manifest, ContainerEngine::kPodman, sha256(kConfig)));
  CHECK(check_manifest(manifest, ContainerEngine::kDocker, sha256(kConfig)));
}

TEST_CASE("image archive: a layer that podman would take from its own store by an annotation is refused") {
  const std::string key =
      GENERATE("io.github.containers.zstd-chunked.manifest-checksum", "containerd.io/snapshot/stargz/toc.digest");
  const std::string manifest = manifest_of(kConfig, kContent, annotated(key));
  CHECK(is_unsupported(check_manifest(manifest, ContainerEngine::kPodman, sha256(kConfig))));
  // The id of docker's store of containerd covers the manifest.
  CHECK(check_manifest(manifest, ContainerEngine::kDocker, sha256(manifest)));
  const std::string any = manifest_of(kConfig, kContent, "", annotated("com.example.any"));
  CHECK(check_manifest(any, ContainerEngine::kDocker, sha256(any)));
}

TEST_CASE("image archive: a part is of the kind that its type states") {
  const std::string manifest = manifest_of(kConfig);
  const std::string index = index_of(manifest, kOfPodman);
  const std::string docker_type = "application/vnd.docker.distribution.manifest.v2+json";
  CHECK(check_index(with_other(index, kManifestType, docker_type)));
  // Of another type, podman would read a list of an old form in the same file.
  for (const std::string& wrong :
       {std::string("application/vnd.docker.distribution.manifest.v1+json"), std::string("application/json"),
        std::string(), kIndexType, kConfigType, kLayerType}) {
    INFO(wrong);
    CHECK(is_unsupported(check_index(with_other(index, kManifestType, wrong))));
  }
  CHECK(is_unsupported(check_index(with_other(index, R"("mediaType":")" + kManifestType + R"(",)", ""))));
  CHECK(is_unsupported(check_index(with_other(index, R"("mediaType")", R"("MediaType")"))));
  const std::string of_index = R"("mediaType":")" + kIndexType + R"(","manifests")";
  CHECK(check_index(with_other(index, R"("manifests")", of_index)));
  CHECK(is_unsupported(
      check_index(with_other(index, R"("manifests")", R"("mediaType":")" + kManifestType + R"(","manifests")"))));

  const auto podman = [](const std::string& text) {
    return check_manifest(text, ContainerEngine::kPodman, sha256(kConfig));
  };
  CHECK(podman(manifest_of(kConfig, kContent, "", R"(,"mediaType":")" + kManifestType + "\"")));
  CHECK(is_unsupported(podman(manifest_of(kConfig, kContent, "", R"(,"mediaType":")" + kIndexType + "\""))));
  CHECK(podman(with_other(manifest, kLayerType, kLayerType + "+gzip")));
  CHECK(podman(with_other(manifest, kLayerType, "")));
  CHECK(is_unsupported(podman(with_other(manifest, kLayerType, kConfigType))));
  CHECK(is_unsupported(podman(with_other(manifest, kLayerType, kLayerType + "+encrypted"))));
  CHECK(is_unsupported(podman(with_other(manifest, kConfigType, kLayerType))));
  // Builders add parts of other types, such as attestations, to what the id of docker's store of containerd covers.
  const std::string attested = with_other(manifest, kLayerType, "application/vnd.in-toto+json");
  CHECK(check_manifest(attested, ContainerEngine::kDocker, sha256(attested)));
}

TEST_CASE("image archive: a manifest that is listed again under another type is refused") {
  const std::string manifest = manifest_of(kConfig);
  const std::string one = descriptor_of(manifest, kManifestType);
  CHECK(check_index(R"({"manifests":[)" + one + "," + one + "]}"));
  for (const std::string& type : {std::string("application/vnd.docker.distribution.manifest.v1+json"), kIndexType}) {
    INFO(type);
    CHECK(is_unsupported(check_index(R"({"manifests":[)" + one + "," + descriptor_of(manifest, type) + "]}")));
  }
}

TEST_CASE("image archive: all lists and configurations together are bounded, because no sign of life comes meanwhile") {
  // Each of these leads to the same image.
  const auto archive = [](std::size_t count) {
    Files files = oci_files(kConfig, kOfPodman);
    std::string descriptors;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string manifest = manifest_of(kConfig) + std::string((std::size_t{7} << 20U) + i, ' ');
      descriptors += (descriptors.empty() ? "" : ",") + descriptor_of(manifest, kManifestType);
      files.emplace_back("blobs/sha256/" + sha256(manifest), manifest);
    }
    files[2].second = R"({"manifests":[)" + descriptors + "]}";
    return tar_of(files);
  };
  CHECK(check_image(archive(2), ContainerEngine::kPodman, sha256(kConfig)));
  CHECK(is_refused(archive(10), ErrorCode::kUnsupported, ContainerEngine::kPodman));
}

TEST_CASE("image archive: of the parts that a list contains itself, only the empty one is accepted") {
  const std::string manifest = manifest_of(kConfig);
  const std::string empty = descriptor_of("{}", "application/vnd.oci.empty.v1+json", R"(,"size":2,"data":"e30=")");
  const auto check_attested = [&](const std::string& config) {
    const std::string statement = descriptor_of("statement", "application/vnd.in-toto+json");
    const std::string attestation =
        R"({"artifactType":"application/vnd.docker.attestation.manifest.v1+json","config":)" + config +
        R"(,"layers":[)" + statement + "]}";
    const std::string list = R"({"manifests":[)" + descriptor_of(manifest, kManifestType) + "," +
                             descriptor_of(attestation, kManifestType) + "]}";
    Files files = both_files(kConfig);
    files[2].second = index_of(list, kOfDocker);
    for (const std::string& part : {list, attestation, std::string("statement")})
      files.emplace_back("blobs/sha256/" + sha256(part), part);
    return check_image(tar_of(files), ContainerEngine::kDocker, sha256(list), true);
  };
  CHECK(check_attested(empty));
  CHECK(is_unsupported(check_attested(with_other(empty, "e30=", "e30K"))));
  CHECK(is_unsupported(check_attested(with_other(empty, "oci.empty", "oci.image.config"))));
  CHECK(is_unsupported(check_attested(with_other(empty, sha256("{}"), sha256(kConfig)))));
  CHECK(is_unsupported(check_attested(with_other(empty, R"("data")", R"("urls":[],"data")"))));
}

TEST_CASE("image archive: signatures that docker lists beside the image are accepted, and no second image is") {
  const std::string manifest = manifest_of(kConfig);
  const std::string payload = "payload";
  const auto signature_of = [&](const std::string& type) {
    return R"({"config":)" + descriptor_of(kConfig, kConfigType) + R"(,"layers":[)" + descriptor_of(payload, type) +
           "]}";
  };
  const std::string signature = signature_of("application/vnd.dev.cosign.simplesigning.v1+json");
  const auto listed = [](const std::string& part, const std::string& subject, const std::string& more = "") {
    return "," + descriptor_of(part, "",
                               R"(,"annotations":{"io.containerd.manifest.subject":"sha256:)" + sha256(subject) + "\"" +
                                   more + "}");
  };
  const auto check_with = [&](const std::string& part, const std::string& entries, const std::string& id = "") {
    Files files = both_files(kConfig);
    files[2].second = with_other(index_of(manifest, kOfDocker), "]}", entries + "]}");
    files.emplace_back("blobs/sha256/" + sha256(part), part);
    files.emplace_back("blobs/sha256/" + sha256(payload), payload);
    return check_image(tar_of(files), ContainerEngine::kDocker, id.empty() ? sha256(manifest) : id, true);
  };
  CHECK(check_with(signature, listed(signature, manifest)));
  // The id of the configuration covers no manifest, and so no signature of one.
  CHECK_FALSE(check_with(signature, listed(signature, manifest), sha256(kConfig)));
  CHECK_FALSE(check_with(signature, listed(signature, "another manifest")));
  CHECK_FALSE(check_with(signature, listed(signature, signature)));
  CHECK_FALSE(check_with(signature, listed(signature, manifest, R"(,"io.containerd.image.name":"local/vllm:1")")));
  CHECK_FALSE(check_with(signature, listed(signature, manifest, R"(,"org.opencontainers.image.ref.name":"1")")));
  // docker before version 29.1 would make an image of it, and unpack that.
  for (const std::string& type :
       {kLayerType, kLayerType + "+gzip", std::string("application/vnd.docker.image.rootfs.diff.tar")}) {
    const std::string image = signature_of(type);
    CHECK(is_unsupported(check_with(image, listed(image, manifest))));
  }
  const std::string list = R"({"manifests":[]})";
  CHECK(is_unsupported(check_with(list, listed(list, manifest))));
  // Also a signature of a signature, in any order.
  const std::string second = with_other(signature, R"({"config")", R"( {"config")");
  Files files = both_files(kConfig);
  files[2].second =
      with_other(index_of(manifest, kOfDocker), "]}", listed(second, signature) + listed(signature, manifest) + "]}");
  for (const std::string& part : {signature, second, payload}) files.emplace_back("blobs/sha256/" + sha256(part), part);
  CHECK(check_image(tar_of(files), ContainerEngine::kDocker, sha256(manifest), true));
  files.pop_back();
  files.emplace_back("blobs/sha256/" + sha256(payload), "other");
  CHECK_FALSE(check_image(tar_of(files), ContainerEngine::kDocker, sha256(manifest), true));
}

TEST_CASE("image archive: a compressed layer in the place of a plain one is refused before an engine unpacks it") {
  // Each begins as compressed bytes do, and has a whole header.
  const std::string mark =
      GENERATE(as<std::string>(), "\x1f\x8b\x08", "BZh9", "\xfd\x37zXZ", "\x28\xb5\x2f\xfd", "P*M\x18", "_*M\x18");
  const std::string layer = entry(mark, "bomb") + end();
  const std::string config = with_other(kConfig, sha256(kContent), sha256(layer));
  const std::string manifest = manifest_of(config, layer);
  Files docker = docker_files(config);
  docker[1].second = layer;
  const Files podman = files_with(manifest, config, kOfPodman, layer);
  const Files both = in_both_forms(files_with(manifest, config, kOfDocker, layer), config, layer);
  CHECK(is_unsupported(check_image(tar_of(docker), ContainerEngine::kDocker, sha256(config))));
  CHECK(is_unsupported(check_image(tar_of(docker), ContainerEngine::kPodman, sha256(config))));
  CHECK(is_unsupported(check_image(tar_of(podman), ContainerEngine::kPodman, sha256(config))));
  CHECK(is_unsupported(check_image(tar_of(both), ContainerEngine::kDocker, sha256(config))));
  CHECK(is_unsupported(check_image(tar_of(both), ContainerEngine::kDocker, sha256(config), true)));
  // docker's store of containerd has packed layers.
  CHECK(check_image(tar_of(both), ContainerEngine::kDocker, sha256(manifest), true));
  // The source states the id. If it decided, the engine of a receiver would unpack what the source likes.
  const auto other_store = check_image(tar_of(both), ContainerEngine::kDocker, sha256(manifest));
  REQUIRE_FALSE(other_store);
  CHECK(other_store.error().code == ErrorCode::kVerifyFailed);
  CHECK(other_store.error().hint == kStoresOfTwoKinds);
}

}  // namespace sparkplan::copy
