// What an archive must be before docker or podman may load it.
#include "engine/copy/image_archive.h"

#include <fcntl.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/copy/file_descriptor.h"
#include "engine/copy/tar_headers.h"
#include "engine/core/digest.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::copy {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

const std::string kName = "local/vllm:1";
const std::string kConfig = R"({"rootfs":{"type":"layers"}})";
const std::string kOtherConfig = R"({"rootfs":{"type":"forged"}})";
const std::string kLayer = std::string(64, 'c');

std::string octal(std::int64_t number, std::size_t digits) {
  std::string text(digits, '0');
  for (auto at = digits; at-- > 0; number /= 8) text[at] = static_cast<char>('0' + number % 8);
  return text;
}

std::string with_checksum(std::string block) {
  block.replace(148, 8, std::string(8, ' '));
  std::int64_t sum = 0;
  for (const char byte : block) sum += static_cast<unsigned char>(byte);
  block.replace(148, 7, octal(sum, 6) + '\0');
  return block;
}

std::string header(const std::string& name, std::int64_t size, char type) {
  std::string block(512, '\0');
  const auto put = [&block](std::size_t at, const std::string& text) { block.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(124, octal(size, 11));
  put(257, "ustar");
  put(263, "00");
  block[156] = type;
  return with_checksum(block);
}

std::string link(const std::string& name, const std::string& target) {
  std::string block = header(name, 0, '2');
  block.replace(157, target.size(), target);
  return with_checksum(block);
}

std::string filled(std::string content) {
  content.resize((content.size() + 511) / 512 * 512, '\0');
  return content;
}

std::string entry(const std::string& name, const std::string& content, char type = '0') {
  return header(name, static_cast<std::int64_t>(content.size()), type) + filled(content);
}

std::string end() { return std::string(1024, '\0'); }

std::string tar_of(const Files& files) {
  std::string bytes;
  for (const auto& [name, content] : files) bytes += entry(name, content);
  return bytes + end();
}

/// Calls `work` with an open file that contains these bytes.
template <class Work>
auto with_file(const std::string& bytes, Work work) {
  const test::ScratchDirectory folder;
  const auto path = folder.path() / "image.tar";
  std::ofstream(path, std::ios::binary) << bytes;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file.valid());
  return work(file.get());
}

Result<std::vector<TarEntry>> read_tar(const std::string& bytes) {
  return with_file(bytes, [](int file) { return tar_entries(file); });
}

Result<void> check(const std::string& bytes, CopyEngine engine, const std::string& id) {
  return with_file(bytes, [&](int file) { return check_archive(file, {engine, kName, id}); });
}

bool is_refused(const std::string& bytes, ErrorCode code, CopyEngine engine = CopyEngine::kDocker) {
  const auto checked = check(bytes, engine, sha256(kConfig));
  INFO((checked ? "accepted" : checked.error().describe()));
  CHECK_FALSE(checked);
  return !checked && checked.error().code == code;
}

std::string docker_list(const std::string& config_file, const std::string& tags) {
  return R"([{"Config":")" + config_file + R"(","RepoTags":)" + tags + R"(,"Layers":[")" + kLayer + R"(/layer.tar"]}])";
}

/// As docker wrote it until version 24, and podman in the format docker-archive.
Files docker_files(const std::string& config, const std::string& tags = R"(["local/vllm:1"])") {
  const std::string file = sha256(config) + ".json";
  return {{file, config}, {kLayer + "/layer.tar", "layer"}, {"manifest.json", docker_list(file, tags)}};
}

std::string manifest_of(const std::string& config) {
  return R"({"schemaVersion":2,"config":{"digest":"sha256:)" + sha256(config) + R"("},"layers":[]})";
}

std::string index_of(const std::string& manifest, const std::string& annotations) {
  return R"({"schemaVersion":2,"manifests":[{"digest":"sha256:)" + sha256(manifest) + R"(","annotations":)" +
         annotations + "}]}";
}

std::string annotations_of(const std::string& reference, const std::string& whole = "") {
  std::string text = R"({"org.opencontainers.image.ref.name":")" + reference + "\"";
  if (!whole.empty()) text += R"(,"io.containerd.image.name":")" + whole + "\"";
  return text + "}";
}

const std::string kOfDocker = annotations_of("1", "docker.io/local/vllm:1");

/// As podman writes it in the format oci-archive.
Files oci_files(const std::string& config, const std::string& annotations) {
  const std::string manifest = manifest_of(config);
  return {{"blobs/sha256/" + sha256(manifest), manifest},
          {"blobs/sha256/" + sha256(config), config},
          {"index.json", index_of(manifest, annotations)},
          {"oci-layout", R"({"imageLayoutVersion":"1.0.0"})"}};
}

/// As docker writes it from version 25 on: in both forms.
Files both_files(const std::string& config, const std::string& annotations = kOfDocker) {
  Files files = oci_files(config, annotations);
  files.emplace_back("manifest.json", docker_list("blobs/sha256/" + sha256(config), R"(["local/vllm:1"])"));
  files.emplace_back("repositories", R"({"local/vllm":{"1":")" + kLayer + R"("}})");
  return files;
}

Files with_platforms() {
  const std::string manifest = manifest_of(kConfig);
  const std::string list = R"({"manifests":[{"digest":"sha256:)" + sha256(manifest) + R"("},{"digest":"sha256:)" +
                           std::string(64, 'e') + R"("}]})";
  Files files = both_files(kConfig);
  files[2].second = index_of(list, kOfDocker);
  files.emplace_back("blobs/sha256/" + sha256(list), list);
  return files;
}

}  // namespace

TEST_CASE("image archive: the forms that docker and podman write are accepted") {
  const std::string id = sha256(kConfig);
  CHECK(check(tar_of(docker_files(kConfig)), CopyEngine::kDocker, id));
  CHECK(check(tar_of(both_files(kConfig)), CopyEngine::kDocker, id));
  CHECK(check(tar_of(docker_files(kConfig, R"(["localhost/local/vllm:1"])")), CopyEngine::kPodman, id));
  CHECK(check(tar_of(oci_files(kConfig, annotations_of("localhost/local/vllm:1"))), CopyEngine::kPodman, id));
  // In docker's store of containerd, the id is that of the manifest, or of the list of all platforms.
  CHECK(check(tar_of(both_files(kConfig)), CopyEngine::kDocker, sha256(manifest_of(kConfig))));
  const Files platforms = with_platforms();
  CHECK(check(tar_of(platforms), CopyEngine::kDocker, platforms.back().first.substr(13)));
  const std::string with_folders = entry("blobs/", "", '5') + entry("blobs/sha256/", "", '5') +
                                   entry(std::string(64, 'd') + "/", "", '5') +
                                   link(std::string(64, 'd') + "/layer.tar", "../" + kLayer + "/layer.tar");
  CHECK(check(with_folders + tar_of(docker_files(kConfig)), CopyEngine::kDocker, id));
}

TEST_CASE("image archive: another image is refused, whichever list names it") {
  CHECK(is_refused(tar_of(docker_files(kOtherConfig)), ErrorCode::kVerifyFailed));
  CHECK(is_refused(tar_of(both_files(kOtherConfig)), ErrorCode::kVerifyFailed));
  CHECK(is_refused(tar_of(oci_files(kOtherConfig, annotations_of("localhost/local/vllm:1"))), ErrorCode::kVerifyFailed,
                   CopyEngine::kPodman));
  // One list for each reader.
  Files two_lists = both_files(kConfig);
  two_lists[4].second = docker_list(sha256(kOtherConfig) + ".json", "[]");
  two_lists.emplace_back(sha256(kOtherConfig) + ".json", kOtherConfig);
  CHECK(is_refused(tar_of(two_lists), ErrorCode::kVerifyFailed));
  CHECK_FALSE(check(tar_of(two_lists), CopyEngine::kDocker, sha256(manifest_of(kConfig))));
  Files other_index = oci_files(kOtherConfig, kOfDocker);
  for (auto& file : docker_files(kConfig)) other_index.push_back(std::move(file));
  CHECK(is_refused(tar_of(other_index), ErrorCode::kVerifyFailed));
  // Podman's ids are never those of manifests.
  const auto by_manifest = check(tar_of(oci_files(kConfig, annotations_of("localhost/local/vllm:1"))),
                                 CopyEngine::kPodman, sha256(manifest_of(kConfig)));
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
                   CopyEngine::kPodman));
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
  CHECK(check(link(name, "../" + kLayer + "/layer.tar") + usual, CopyEngine::kDocker, sha256(kConfig)));
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
    return is_same_name(CopyEngine::kDocker, declared, found);
  };
  CHECK(docker("vllm", "docker.io/library/vllm:latest"));
  CHECK(docker("docker.io/library/vllm", "vllm:latest"));
  CHECK(docker("localhost:5000/a/b:1", "localhost:5000/a/b:1"));
  CHECK_FALSE(docker("vllm", "vllm:2"));
  CHECK_FALSE(docker("local/vllm:1", "localhost/local/vllm:1"));
  CHECK_FALSE(docker("vllm", "library/vllm@sha256:" + std::string(64, 'a')));
  CHECK_FALSE(docker("vllm", ""));
  const auto podman = [](const std::string& declared, const std::string& found) {
    return is_same_name(CopyEngine::kPodman, declared, found);
  };
  CHECK(podman("local/vllm:1", "localhost/local/vllm:1"));
  CHECK(podman("fedora", "registry.fedoraproject.org/fedora:latest"));
  CHECK_FALSE(podman("quay.io/a:1", "docker.io/a:1"));
  CHECK_FALSE(podman("a:1", "localhost/b/a:1"));
}

TEST_CASE("tar: a file has its place and its size, also in an extended header or above 8 GiB") {
  const std::string record = "12 size=700\n";
  const std::string bytes = entry("first", std::string(600, 'a')) + entry("pax", record, 'x') +
                            header("second", 0, '0') + filled(std::string(700, 'b')) + end();
  const auto entries = read_tar(bytes);
  REQUIRE(entries);
  REQUIRE(entries->size() == 2);
  CHECK((*entries)[0].offset == 512);
  CHECK((*entries)[0].size == 600);
  CHECK((*entries)[1].name == "second");
  CHECK((*entries)[1].size == 700);
  CHECK(bytes[static_cast<std::size_t>((*entries)[1].offset)] == 'b');
  // A binary size, as of a file that octal digits cannot hold.
  std::string binary = header("large", 0, '0');
  binary.replace(124, 12, std::string(1, '\x80') + std::string(10, '\0') + '\x05');
  const auto small = read_tar(with_checksum(binary) + filled("bytes") + end());
  REQUIRE(small);
  CHECK(small->front().size == 5);
}

TEST_CASE("tar: a size beyond the file is refused") {
  CHECK_FALSE(read_tar(header("a", 1 << 20, '0') + end()));
  CHECK_FALSE(read_tar(entry("pax", "28 size=9223372036854775807\n", 'x') + header("a", 0, '0') + end()));
  for (const char first : {'\x80', '\xff'}) {
    std::string binary = header("a", 0, '0');
    binary.replace(124, 12, std::string(1, first) + std::string(11, '\xff'));
    CHECK_FALSE(read_tar(with_checksum(binary) + end()));
  }
  std::string no_number = header("a", 0, '0');
  no_number.replace(124, 11, "0000000009x");
  CHECK_FALSE(read_tar(with_checksum(no_number) + end()));
}

TEST_CASE("tar: links to files, sparse files, long names and other kinds are refused") {
  for (const char type : {'1', '3', '4', '6', '7', 'g', 'K', 'L', 'S', 'X'}) {
    INFO(type);
    CHECK_FALSE(read_tar(entry("a", "", type) + end()));
  }
  CHECK_FALSE(read_tar(entry("a", "content", '2') + end()));
  for (const std::string record : {"17 path=manifest\n", "21 linkpath=manifest\n", "22 GNU.sparse.major=1\n"}) {
    INFO(record);
    CHECK_FALSE(read_tar(entry("pax", record, 'x') + entry("a", "") + end()));
  }
  std::string in_two_parts = header("a", 0, '0');
  in_two_parts.replace(345, 6, "folder");
  CHECK_FALSE(read_tar(with_checksum(in_two_parts) + end()));
}

TEST_CASE("tar: broken headers and ends are refused") {
  CHECK(read_tar(""));
  CHECK(read_tar(end()));
  CHECK(read_tar(entry("a", "content")));
  CHECK_FALSE(read_tar("short"));
  CHECK_FALSE(read_tar(std::string(512, 'x')));
  CHECK_FALSE(read_tar(std::string(512, '\0') + entry("hidden", "")));
  std::string changed = header("a", 0, '0');
  changed[0] = 'b';
  CHECK_FALSE(read_tar(changed + end()));
  std::string without_magic = header("a", 0, '0');
  without_magic.replace(257, 5, "tsrau");
  CHECK_FALSE(read_tar(with_checksum(without_magic) + end()));
  const std::string file = entry("a", std::string(600, 'a'));
  CHECK_FALSE(read_tar(file.substr(0, file.size() - 1)));
  for (const std::string record :
       {"size=1\n", "9 size=1\n\n", "99 size=1\n", "9 size=-1", "3 \n", "4 =\n", "11 size=-1\n", "11 size=0x\n"}) {
    INFO(record);
    CHECK_FALSE(read_tar(entry("pax", record, 'x') + entry("a", "") + end()));
  }
  CHECK_FALSE(read_tar(entry("pax", "", 'x') + end()));
  CHECK_FALSE(read_tar(entry("pax", "", 'x') + entry("pax", "", 'x') + entry("a", "") + end()));
}

}  // namespace sparkplan::copy
