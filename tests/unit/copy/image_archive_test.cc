// The checks of an archive before docker or podman may load it.
#include "engine/copy/images/image_archive.h"
#include "engine/copy/images/image_name.h"

#include <algorithm>
#include <string>

#include "engine/core/digest.h"
#include "tests/support/catch.h"
#include "tests/unit/copy/image_files.h"
#include "tests/unit/copy/tar_files.h"

namespace sparkplan::copy {

using namespace test;

TEST_CASE("image archive: the forms that docker and podman write are accepted") {
  const std::string id = sha256(kConfig);
  CHECK(check_image(tar_of(docker_files(kConfig)), ContainerEngine::kDocker, id));
  CHECK(check_image(tar_of(both_files(kConfig)), ContainerEngine::kDocker, id));
  CHECK(check_image(tar_of(docker_files(kConfig, R"(["localhost/local/vllm:1"])")), ContainerEngine::kPodman, id));
  CHECK(
      check_image(tar_of(oci_files(kConfig, annotations_of("localhost/local/vllm:1"))), ContainerEngine::kPodman, id));
  // In docker's store of containerd, the id is the digest of the manifest, or of the list of all platforms.
  CHECK(check_image(tar_of(both_files(kConfig)), ContainerEngine::kDocker, sha256(manifest_of(kConfig)), true));
  const Files platforms = with_platforms();
  CHECK(check_image(tar_of(platforms), ContainerEngine::kDocker, platforms.back().first.substr(13), true));
  const std::string with_folders = entry("blobs/", "", '5') + entry("blobs/sha256/", "", '5') +
                                   entry(std::string(64, 'd') + "/", "", '5') +
                                   link(std::string(64, 'd') + "/layer.tar", "../" + kLayer + "/layer.tar");
  CHECK(check_image(with_folders + tar_of(docker_files(kConfig)), ContainerEngine::kDocker, id));
}

TEST_CASE("image archive: another image is refused, whichever list names it") {
  CHECK(is_refused(tar_of(docker_files(kOtherConfig)), ErrorCode::kVerifyFailed));
  CHECK(is_refused(tar_of(both_files(kOtherConfig)), ErrorCode::kVerifyFailed));
  CHECK(is_refused(tar_of(oci_files(kOtherConfig, annotations_of("localhost/local/vllm:1"))), ErrorCode::kVerifyFailed,
                   ContainerEngine::kPodman));
  // One list for each reader.
  Files two_lists = both_files(kConfig);
  two_lists[5].second = docker_list(sha256(kOtherConfig) + ".json", "[]", "blobs/sha256/" + sha256(kContent));
  REQUIRE(two_lists[5].first == "manifest.json");
  two_lists.emplace_back(sha256(kOtherConfig) + ".json", kOtherConfig);
  CHECK(is_refused(tar_of(two_lists), ErrorCode::kVerifyFailed));
  CHECK_FALSE(check_image(tar_of(two_lists), ContainerEngine::kDocker, sha256(manifest_of(kConfig)), true));
  Files other_index = oci_files(kOtherConfig, kOfDocker);
  for (auto& file : docker_files(kConfig)) other_index.push_back(std::move(file));
  CHECK(is_refused(tar_of(other_index), ErrorCode::kVerifyFailed));
  // Podman's ids are never those of manifests.
  const auto by_manifest = check_image(tar_of(oci_files(kConfig, annotations_of("localhost/local/vllm:1"))),
                                       ContainerEngine::kPodman, sha256(manifest_of(kConfig)));
  CHECK_FALSE(by_manifest);
}

TEST_CASE("image archive: a list of platforms counts only by its own digest") {
  CHECK(is_refused(tar_of(with_platforms()), ErrorCode::kVerifyFailed));
}

TEST_CASE("image archive: a file under the right digest with other content is refused") {
  Files files = both_files(kConfig);
  files[1].second = kOtherConfig;
  CHECK(is_refused(tar_of(files), ErrorCode::kUnsupported));
  Files manifest = both_files(kConfig);
  manifest[0].second = manifest_of(kOtherConfig);
  CHECK(is_refused(tar_of(manifest), ErrorCode::kUnsupported));
}

TEST_CASE("image archive: a layer that the configuration does not name is refused before an engine loads it") {
  const std::string id = sha256(kConfig);
  const std::string names = annotations_of("localhost/local/vllm:1");
  const auto refused = [&](const Files& files) {
    return is_refused(tar_of(files), ErrorCode::kVerifyFailed, ContainerEngine::kPodman);
  };
  Files docker = docker_files(kConfig);
  docker[1].second = "other";
  CHECK(refused(docker));
  // docker compares them only after it has unpacked what may fill the disk.
  CHECK(is_refused(tar_of(docker), ErrorCode::kVerifyFailed, ContainerEngine::kDocker));
  CHECK(refused(oci_files(kConfig, names, "other")));
  Files other_content = oci_files(kConfig, names);
  other_content.back().second = "other";
  CHECK(refused(other_content));

  const std::string whole = tar_of(docker_files(kConfig));
  int signs = 0;
  const auto checked = with_file(whole, [&](int file) {
    return check_archive(file, {ContainerEngine::kPodman, kName, id}, [&] { ++signs; });
  });
  CHECK(checked);
  CHECK(signs > 0);
}

TEST_CASE("image archive: an honest layer under the digest of another one is refused") {
  // podman would look for the digest in its list, and take that content from an address.
  Files files = oci_files(kConfig, annotations_of("localhost/local/vllm:1"), "other");
  files.back().second = kContent;
  CHECK(is_refused(tar_of(files), ErrorCode::kVerifyFailed, ContainerEngine::kPodman));
}

TEST_CASE("image archive: a part that an engine would take from an address or from the list itself is refused") {
  const std::string names = annotations_of("localhost/local/vllm:1");
  const std::string more = GENERATE(R"(,"urls":["http://10.0.0.1/e"])", R"(,"data":"bGF5ZXI=")", R"(,"urls":null)",
                                    R"(,"Urls":["http://10.0.0.1/e"])", R"(,"URLS":[])");
  const auto with_more = [&](std::string text, const std::string& digest) {
    const std::string whole = digest + "\"";
    return text.replace(text.find(whole), whole.size(), whole + more);
  };
  const auto archive = [&](const std::string& manifest, const std::string& index) {
    return tar_of({{"blobs/sha256/" + sha256(manifest), manifest},
                   {"blobs/sha256/" + sha256(kConfig), kConfig},
                   {"blobs/sha256/" + sha256(kContent), kContent},
                   {"index.json", index}});
  };
  const std::string honest = manifest_of(kConfig);
  REQUIRE(check_image(archive(honest, index_of(honest, names)), ContainerEngine::kPodman, sha256(kConfig)));
  const auto refused = [&](const std::string& bytes) {
    return is_refused(bytes, ErrorCode::kUnsupported, ContainerEngine::kPodman);
  };
  const std::string of_layer = with_more(honest, sha256(kContent));
  CHECK(refused(archive(of_layer, index_of(of_layer, names))));
  const std::string of_config = with_more(honest, sha256(kConfig));
  CHECK(refused(archive(of_config, index_of(of_config, names))));
  CHECK(refused(archive(honest, with_more(index_of(honest, names), sha256(honest)))));
}

TEST_CASE("image archive: for docker, the layers of the image are there, with the digests of their names") {
  const std::string name = "blobs/sha256/" + sha256(kContent);
  Files files = both_files(kConfig);
  REQUIRE(check_image(tar_of(files), ContainerEngine::kDocker, sha256(kConfig)));
  const auto layer = std::ranges::find(files, name, &Files::value_type::first);
  REQUIRE(layer != files.end());
  SECTION("other content") {
    layer->second = "other";
    CHECK(is_refused(tar_of(files), ErrorCode::kVerifyFailed));
  }
  SECTION("missing") {
    files.erase(layer);
    CHECK(is_refused(tar_of(files), ErrorCode::kUnsupported));
  }
  SECTION("an image that docker would not unpack") {
    const std::string annotations =
        kOfDocker.substr(0, kOfDocker.size() - 1) + R"(,"vnd.docker.reference.type":"attestation-manifest"})";
    CHECK(is_refused(tar_of(both_files(kConfig, annotations)), ErrorCode::kUnsupported));
  }
}

TEST_CASE("image archive: of an image for several platforms, the one of this machine has to be there") {
  const std::string config = R"({"architecture":"arm64","rootfs":{"type":"layers")" + kDiffs;
  const std::string manifest = manifest_of(config);
  const std::string list = platforms_of(manifest);
  Files files = both_files(config);
  files[2].second = index_of(list, kOfDocker);
  files.emplace_back("blobs/sha256/" + sha256(list), list);
  const auto checked = [&](const std::string& architecture) {
    return with_file(tar_of(files), [&](int file) {
      return check_archive(file, {ContainerEngine::kDocker, kName, sha256(list), 0, architecture, true});
    });
  };
  CHECK(checked("arm64"));
  const auto other = checked("amd64");
  REQUIRE_FALSE(other);
  CHECK(other.error().message == "the archive has the image for arm64, and not for amd64");
}

TEST_CASE("image archive: for podman, each layer is a file and has its digest in the configuration") {
  const auto refused = [&](const Files& files, const std::string& id) {
    const auto checked = check_image(tar_of(files), ContainerEngine::kPodman, id);
    return !checked && checked.error().code == ErrorCode::kUnsupported;
  };
  for (const std::string config : {R"({"rootfs":{"diff_ids":[]}})", R"({"rootfs":{"diff_ids":["md5:0"]}})",
                                   R"({"rootfs":{}})", "{}", "[]", R"({"rootfs":{"diff_ids":[]},"RootFS":{}})"}) {
    INFO(config);
    CHECK(refused(docker_files(config), sha256(config)));
    CHECK(refused(oci_files(config, annotations_of("localhost/local/vllm:1")), sha256(config)));
  }
  Files absent = docker_files(kConfig);
  absent.erase(absent.begin() + 1);
  CHECK(refused(absent, sha256(kConfig)));
  const auto linked =
      check_image(entry(kLayer + "/layer.tar", "", '2') + tar_of(absent), ContainerEngine::kPodman, sha256(kConfig));
  REQUIRE_FALSE(linked);
  CHECK(linked.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("image archive: a second image, a second list or no list is refused") {
  const std::string file = sha256(kConfig) + ".json";
  const std::string one = docker_list(file, "[]");
  Files two = docker_files(kConfig);
  two[2].second = one.substr(0, one.size() - 1) + "," + one.substr(1);
  CHECK(is_refused(tar_of(two), ErrorCode::kUnsupported));
  Files twice = docker_files(kConfig);
  twice.emplace_back("manifest.json", docker_list(file, R"(["debian:12"])"));
  CHECK(is_refused(tar_of(twice), ErrorCode::kUnsupported));
  CHECK(is_refused(tar_of({{file, kConfig}, {"repositories", "{}"}}), ErrorCode::kUnsupported));
  CHECK(is_refused(tar_of(oci_files(kConfig, kOfDocker)), ErrorCode::kUnsupported));
  CHECK(is_refused(tar_of({}), ErrorCode::kUnsupported));
}

TEST_CASE("image archive: a name that the file does not declare is refused") {
  CHECK(is_refused(tar_of(docker_files(kConfig, R"(["local/vllm:1","debian:12"])")), ErrorCode::kVerifyFailed));
  CHECK(is_refused(tar_of(docker_files(kConfig, R"(["local/vllm:2"])")), ErrorCode::kVerifyFailed));
  Files repositories = docker_files(kConfig);
  repositories.emplace_back("repositories", R"({"debian":{"12":"x"}})");
  CHECK(is_refused(tar_of(repositories), ErrorCode::kVerifyFailed));
  CHECK(is_refused(tar_of(both_files(kConfig, annotations_of("1", "docker.io/library/debian:12"))),
                   ErrorCode::kVerifyFailed));
  CHECK(is_refused(tar_of(both_files(kConfig, annotations_of("debian:12", "docker.io/local/vllm:1"))),
                   ErrorCode::kVerifyFailed));
  // The tag alone is no name of this image.
  CHECK(is_refused(tar_of(both_files(kConfig, annotations_of("1"))), ErrorCode::kVerifyFailed));
  CHECK(is_refused(tar_of(oci_files(kConfig, annotations_of("localhost/debian:12"))), ErrorCode::kVerifyFailed,
                   ContainerEngine::kPodman));
}

TEST_CASE("image archive: a key in another case, beyond ASCII or twice is refused") {
  const std::string file = sha256(kConfig) + ".json";
  const std::string list = docker_list(file, R"(["local/vllm:1"])");
  for (const std::string key : {"repotags", "REPOTAGS", "RepoTag\xc5\xbf", "RepoTags"}) {
    INFO(key);
    Files files = docker_files(kConfig);
    files[2].second = list.substr(0, list.size() - 2) + ",\"" + key + R"(":["debian:12"]}])";
    CHECK(is_refused(tar_of(files), ErrorCode::kUnsupported));
  }
  Files trailing = docker_files(kConfig);
  trailing[2].second += "[]";
  CHECK(is_refused(tar_of(trailing), ErrorCode::kUnsupported));
}

TEST_CASE("image archive: an image that names another one as its parent is refused") {
  Files files = docker_files(kConfig);
  const std::string list = files[2].second;
  files[2].second = list.substr(0, list.size() - 2) + R"(,"Parent":"sha256:)" + std::string(64, 'a') + "\"}]";
  CHECK(is_refused(tar_of(files), ErrorCode::kUnsupported));
}

TEST_CASE("image archive: names that no engine writes are refused") {
  for (const std::string name : {"../x", "/manifest.json", "./manifest.json", "blobs/sha256/../../x", "x"}) {
    INFO(name);
    Files files = docker_files(kConfig);
    files.emplace_back(name, "x");
    CHECK(is_refused(tar_of(files), ErrorCode::kUnsupported));
  }
  const std::string usual = tar_of(docker_files(kConfig));
  // A link in the place of a folder or of a list leads the reader of the unpacked archive elsewhere.
  for (const std::string name : {"blobs", "manifest.json", "index.json"}) {
    CHECK(is_refused(entry(name, "", '2') + usual, ErrorCode::kUnsupported));
  }
}

TEST_CASE("image archive: a link leads to a layer of the archive, and nowhere else") {
  const std::string usual = tar_of(docker_files(kConfig));
  const std::string name = std::string(64, 'd') + "/layer.tar";
  CHECK(check_image(link(name, "../" + kLayer + "/layer.tar") + usual, ContainerEngine::kDocker, sha256(kConfig)));
  for (const std::string target : {"", "/etc/shadow", "../../../etc/shadow", "../x", "layer.tar", "../blobs"}) {
    INFO(target);
    CHECK(is_refused(link(name, target) + usual, ErrorCode::kUnsupported));
  }
  // Links in a ring end nowhere.
  CHECK(is_refused(link(name, "../" + name) + usual, ErrorCode::kUnsupported));
}

TEST_CASE("image archive: a list or a configuration of any size is refused unread") {
  Files files = docker_files(kConfig);
  files[2].second += std::string(9 << 20, ' ');
  CHECK(is_refused(tar_of(files), ErrorCode::kUnsupported));
  Files deep = docker_files(kConfig);
  deep[2].second = std::string(1 << 20, '[');
  CHECK(is_refused(tar_of(deep), ErrorCode::kUnsupported));
  Files many = docker_files(kConfig);
  many[2].second = "[" + std::string(7 << 20, ',') + "]";
  CHECK(is_refused(tar_of(many), ErrorCode::kUnsupported));
}

TEST_CASE("image archive: docker and podman may spell a name in another way, and take no other one") {
  const auto docker = [](const std::string& declared, const std::string& found) {
    return is_same_name(ContainerEngine::kDocker, declared, found);
  };
  CHECK(docker("vllm", "docker.io/library/vllm:latest"));
  CHECK(docker("docker.io/library/vllm", "vllm:latest"));
  CHECK(docker("localhost:5000/a/b:1", "localhost:5000/a/b:1"));
  CHECK_FALSE(docker("vllm", "vllm:2"));
  CHECK_FALSE(docker("local/vllm:1", "localhost/local/vllm:1"));
  CHECK_FALSE(docker("vllm", "library/vllm@sha256:" + std::string(64, 'a')));
  CHECK_FALSE(docker("vllm", ""));
  CHECK(with_tag("vllm") == "vllm:latest");
  CHECK(with_tag("localhost:5000/a/b") == "localhost:5000/a/b:latest");
  CHECK(with_tag("localhost:5000/a/b:1") == "localhost:5000/a/b:1");
  const auto podman = [](const std::string& declared, const std::string& found) {
    return is_same_name(ContainerEngine::kPodman, declared, found);
  };
  CHECK(podman("local/vllm:1", "localhost/local/vllm:1"));
  CHECK(podman("fedora", "registry.fedoraproject.org/fedora:latest"));
  CHECK_FALSE(podman("quay.io/a:1", "docker.io/a:1"));
  CHECK_FALSE(podman("a:1", "localhost/b/a:1"));
}

}  // namespace sparkplan::copy
