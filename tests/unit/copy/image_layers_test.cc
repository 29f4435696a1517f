// The space that an engine needs for the layers of an archive. It unpacks each as often as the list names it.
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

enum class ListedAs { kFile, kLink };

std::string joined(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "\"" : ",\"") + text + "\"";
  return "[" + list + "]";
}

/// An archive as docker and podman write it, whose image has these layers, the last of them so many times.
Result<void> check_listed(ContainerEngine engine, const std::vector<std::string>& layers, std::size_t times,
                          ListedAs as = ListedAs::kFile) {
  std::vector<std::string> digests;
  std::vector<std::string> names;
  std::string bytes;
  for (const std::string& layer : layers) {
    digests.push_back(sha256(layer));
    names.push_back(digests.back() + "/layer.tar");
    bytes += entry(names.back(), layer);
  }
  const std::string last = names.back();
  for (std::size_t i = 1; i < times; ++i) {
    digests.push_back(digests.back());
    names.push_back(as == ListedAs::kFile ? last : sha256(std::to_string(i)) + "/layer.tar");
    if (names.back() != last) bytes += link(names.back(), "../" + last);
  }
  for (std::string& digest : digests) digest = "sha256:" + digest;
  const std::string config = R"({"rootfs":{"type":"layers","diff_ids":)" + joined(digests) + "}}";
  bytes += entry(sha256(config) + ".json", config);
  bytes += entry("manifest.json", R"([{"Config":")" + sha256(config) +
                                      R"(.json","RepoTags":["local/vllm:1"],"Layers":)" + joined(names) + "}]");
  return check_image(bytes + end(), engine, sha256(config));
}

/// Of so many empty files.
std::string layer_of(std::size_t files) {
  std::string bytes;
  for (std::size_t i = 0; i < files; ++i) bytes += entry("file" + std::to_string(i), "");
  return bytes + end();
}

/// Of empty files that each imply half a million directories.
std::string deep_layer_of(std::size_t files) {
  std::string deep;
  for (std::size_t i = 0; i < 500'000; ++i) deep += "a/";
  std::string bytes;
  for (std::size_t i = 0; i < files; ++i) {
    const std::string text = " path=" + std::to_string(i + 10) + "/" + deep + "file\n";
    bytes += entry("pax", std::to_string(text.size() + 7) + text, 'x') + entry("file", "");
  }
  return bytes + end();
}

bool is_listed_too_often(const Result<void>& checked) {
  return !checked && checked.error().message.find("again and again") != std::string::npos;
}

}  // namespace

TEST_CASE("image layers: a layer that is listed again and again is refused, because engines unpack it as often") {
  const auto [engine, as] = GENERATE(table<ContainerEngine, ListedAs>({{ContainerEngine::kDocker, ListedAs::kFile},
                                                                       {ContainerEngine::kDocker, ListedAs::kLink},
                                                                       {ContainerEngine::kPodman, ListedAs::kFile}}));
  // A megabyte, and a gigabyte of blocks on the disk of an engine that unpacks it 120 times. Small honest files take
  // as much, so that each layer may do it once.
  const std::string layer = layer_of(2000);
  CHECK(check_listed(engine, {layer}, 100, as));
  CHECK(is_listed_too_often(check_listed(engine, {layer}, 125, as)));
  CHECK(is_listed_too_often(check_listed(engine, {layer}, 500, as)));
}

TEST_CASE("image layers: empty layers may come again in any number, and each layer once more") {
  const auto engine = GENERATE(ContainerEngine::kDocker, ContainerEngine::kPodman);
  CHECK(check_listed(engine, {layer_of(20), end()}, 400));
  // It takes two gigabytes of blocks on a disk.
  const std::string large = deep_layer_of(1);
  CHECK(check_listed(engine, {large}, 2));
  CHECK(is_listed_too_often(check_listed(engine, {large}, 3)));
}

TEST_CASE("image layers: directories that names only imply are bounded, because each takes a block on the disk") {
  CHECK(check_listed(ContainerEngine::kPodman, {deep_layer_of(15)}, 1));
  for (const std::vector<std::string>& layers :
       {std::vector<std::string>{deep_layer_of(17)}, std::vector<std::string>{deep_layer_of(7), deep_layer_of(10)}}) {
    const auto refused = check_listed(ContainerEngine::kPodman, layers, 1);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kUnsupported);
    CHECK(refused.error().message.find("eight million directories") != std::string::npos);
  }
}

}  // namespace sparkplan::copy
