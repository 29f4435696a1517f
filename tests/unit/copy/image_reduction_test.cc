// Archives of images that lack the layers that a receiver has.
#include "engine/copy/images/image_reduction.h"

#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/core/digest.h"
#include "tests/support/catch.h"
#include "tests/unit/copy/tar_files.h"

namespace sparkplan::copy {
namespace {

using test::end;
using test::entry;
using test::Files;
using test::link;
using test::ScratchDirectory;
using test::tar_of;

const std::string kImageName = "local/vllm:1";

std::string layer_with(const std::string& text) { return entry("file", text) + end(); }

const std::vector<std::string> kContents{layer_with(std::string(5000, 'a')), layer_with("b"), layer_with("top")};

std::string list_of(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "\"" : ",\"") + text + "\"";
  return "[" + list + "]";
}

std::string config_of(const std::vector<std::string>& contents) {
  std::vector<std::string> digests;
  for (const std::string& content : contents) digests.push_back("sha256:" + sha256(content));
  return R"({"rootfs":{"type":"layers","diff_ids":)" + list_of(digests) + "}}";
}

/// As podman writes it in the format docker-archive, and docker from version 25 on, without OCI's lists.
Files layered_docker_files(const std::vector<std::string>& contents) {
  const std::string config = config_of(contents);
  std::vector<std::string> names;
  Files files;
  for (const std::string& content : contents) {
    names.push_back("blobs/sha256/" + sha256(content));
    const auto is_new =
        std::none_of(files.begin(), files.end(), [&](const auto& one) { return one.first == names.back(); });
    if (is_new) files.emplace_back(names.back(), content);
  }
  files.emplace_back("blobs/sha256/" + sha256(config), config);
  files.emplace_back("manifest.json", R"([{"Config":"blobs/sha256/)" + sha256(config) +
                                          R"(","RepoTags":["local/vllm:1"],"Layers":)" + list_of(names) + "}]");
  return files;
}

/// As podman writes it in the format oci-archive.
Files layered_oci_files(const std::vector<std::string>& contents) {
  const std::string config = config_of(contents);
  std::string layers;
  Files files;
  for (const std::string& content : contents) {
    layers += (layers.empty() ? R"({"digest":"sha256:)" : R"(,{"digest":"sha256:)") + sha256(content) + "\"}";
    files.emplace_back("blobs/sha256/" + sha256(content), content);
  }
  const std::string manifest = R"({"config":{"digest":"sha256:)" + sha256(config) + R"("},"layers":[)" + layers + "]}";
  files.emplace_back("blobs/sha256/" + sha256(manifest), manifest);
  files.emplace_back("blobs/sha256/" + sha256(config), config);
  files.emplace_back("index.json",
                     R"({"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:)" +
                         sha256(manifest) + R"("}]})");
  return files;
}

ExpectedImage image_of(const std::vector<std::string>& contents, ContainerEngine engine, std::size_t left_out) {
  return {engine, kImageName, sha256(config_of(contents)), left_out};
}

/// The archive without these layers.
std::string reduced(const std::string& bytes, const ExpectedImage& image) {
  const ScratchDirectory folder;
  const auto path = folder.path() / "image.tar";
  std::ofstream(path, std::ios::binary) << bytes;
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(file.valid());
  const auto left = leave_out_layers(file.get(), image);
  INFO((left ? "" : left.error().describe()));
  REQUIRE(left);
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Result<void> check(const std::string& bytes, const ExpectedImage& image) {
  return test::with_file(bytes, [&](int file) { return check_archive(file, image); });
}

/// The files, the first `count` of them empty.
std::string without_first(Files files, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) files[i].second.clear();
  return tar_of(files);
}

}  // namespace

TEST_CASE("image reduction: the first layers become empty files, and everything else stays") {
  for (const auto engine : {ContainerEngine::kDocker, ContainerEngine::kPodman}) {
    const auto image = image_of(kContents, engine, 2);
    CHECK(reduced(tar_of(layered_docker_files(kContents)), image) == without_first(layered_docker_files(kContents), 2));
  }
  const auto image = image_of(kContents, ContainerEngine::kPodman, 1);
  CHECK(reduced(tar_of(layered_oci_files(kContents)), image) == without_first(layered_oci_files(kContents), 1));
  // All of them, also if fewer than said are there.
  CHECK(reduced(tar_of(layered_oci_files(kContents)), image_of(kContents, ContainerEngine::kPodman, 9)) ==
        without_first(layered_oci_files(kContents), 3));
}

TEST_CASE("image reduction: the receiver accepts exactly the layers that may lack their content") {
  const auto whole = tar_of(layered_oci_files(kContents));
  const auto two = reduced(whole, image_of(kContents, ContainerEngine::kPodman, 2));
  CHECK(check(two, image_of(kContents, ContainerEngine::kPodman, 2)));
  CHECK(check(whole, image_of(kContents, ContainerEngine::kPodman, 2)));
  for (const std::size_t fewer : {0U, 1U}) {
    const auto refused = check(two, image_of(kContents, ContainerEngine::kPodman, fewer));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kVerifyFailed);
  }
  // An empty file under another name than the layer's digest is the layer's content.
  Files forged = layered_docker_files(kContents);
  for (auto& [name, content] : forged) {
    if (name == "blobs/sha256/" + sha256(kContents[0])) {
      name = std::string(64, 'e') + ".tar";
      content.clear();
    }
    const auto at = content.find("blobs/sha256/" + sha256(kContents[0]));
    if (at != std::string::npos) content.replace(at, 13 + 64, std::string(64, 'e') + ".tar");
  }
  CHECK_FALSE(check(tar_of(forged), image_of(kContents, ContainerEngine::kPodman, 1)));
}

TEST_CASE("image reduction: a receiver refuses an archive without a layer that it does not have itself") {
  for (const auto engine : {ContainerEngine::kDocker, ContainerEngine::kPodman}) {
    const auto image = image_of(kContents, engine, 2);
    const std::string two = reduced(tar_of(layered_docker_files(kContents)), image);
    std::vector<std::string> asked;
    const auto outcome = [&](const std::string& bytes, std::size_t known) {
      return test::with_file(bytes, [&](int file) {
        return check_left_out(file, image, [&](const std::vector<std::string>& digests) {
          asked = digests;
          return known;
        });
      });
    };
    CHECK(outcome(two, 2));
    CHECK(asked == std::vector<std::string>{sha256(kContents[0]), sha256(kContents[1]), sha256(kContents[2])});
    for (const std::size_t known : {0U, 1U}) {
      const auto refused = outcome(two, known);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::kVerifyFailed);
    }
    CHECK(outcome(tar_of(layered_docker_files(kContents)), 0));
  }
}

TEST_CASE("image reduction: a layer that comes again behind the known ones keeps its content") {
  const std::vector<std::string> contents{layer_with("twice"), layer_with("once"), layer_with("twice")};
  const auto image = image_of(contents, ContainerEngine::kDocker, 2);
  Files expected = layered_docker_files(contents);
  expected[1].second.clear();
  CHECK(reduced(tar_of(layered_docker_files(contents)), image) == tar_of(expected));
  // Until version 24, docker writes a link instead of the content.
  const std::string config = config_of(contents);
  const std::vector<std::string> folders{std::string(64, '1'), std::string(64, '2'), std::string(64, '3')};
  const std::string list = R"([{"Config":")" + sha256(config) + R"(.json","RepoTags":["local/vllm:1"],"Layers":)" +
                           list_of({folders[0] + "/layer.tar", folders[1] + "/layer.tar", folders[2] + "/layer.tar"}) +
                           "}]";
  const auto archive = [&](const std::string& second) {
    return entry(folders[0] + "/layer.tar", contents[0]) + entry(folders[1] + "/layer.tar", second) +
           link(folders[2] + "/layer.tar", "../" + folders[0] + "/layer.tar") +
           entry(sha256(config) + ".json", config) + entry("manifest.json", list) + end();
  };
  CHECK(reduced(archive(contents[1]), image) == archive(""));
  // docker looks for the layer's digest in its own store, whatever the name of the file.
  CHECK(check(archive(""), image));
  const auto refused = check(archive(""), image_of(contents, ContainerEngine::kDocker, 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kVerifyFailed);
}

TEST_CASE("image reduction: with docker's store of containerd, the archive stays whole") {
  Files files = layered_oci_files(kContents);
  const std::string manifest = files[3].second;
  for (const auto& one : layered_docker_files(kContents)) {
    if (one.first == "manifest.json") files.push_back(one);
  }
  const ExpectedImage image{ContainerEngine::kDocker, kImageName, sha256(manifest), 2};
  CHECK(reduced(tar_of(files), image) == tar_of(files));
}

TEST_CASE("image reduction: layers are shared from the first one on") {
  CHECK(shared_layers({"a", "b", "c"}, {"a", "b", "d", "c"}) == 2);
  CHECK(shared_layers({"a", "b"}, {"a", "b", "c"}) == 2);
  CHECK(shared_layers({"a"}, {"b", "a"}) == 0);
  CHECK(shared_layers({}, {"b"}) == 0);
}

}  // namespace sparkplan::copy
