// Files that cluster.yaml names: their search path, and their effect on the cluster.
#include "engine/load/files_beside.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

class Directory {
 public:
  Directory() : path_(fs::temp_directory_path() / ("sparkplan-beside-" + std::to_string(::getpid()))) {
    fs::create_directories(path_ / "below");
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  std::string cluster() const { return (path_ / "cluster.yaml").string(); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string cluster_with(const std::string& files) {
  return "version: 1\nname: lab\nssh: {user: nvidia}\nfiles: [" + files +
         "]\nnodes: [{name: spark-01, address: 10.0.0.11}, {name: spark-02, address: 10.0.0.12}]\n";
}

LoadedCluster load_from(const Directory& directory) {
  auto loaded = load_cluster_file(directory.cluster(), builtin_registry());
  REQUIRE(loaded);
  return std::move(*loaded);
}

std::string only_message(const LoadedCluster& loaded) {
  REQUIRE(loaded.diagnostics.size() == 1);
  CHECK_FALSE(loaded.diagnostics.front().hint.empty());
  return loaded.diagnostics.front().message;
}

}  // namespace

TEST_CASE("a file's text replaces its name, and keeps the name's position") {
  const Directory directory;
  directory.write("cluster.yaml", cluster_with("{path: /etc/motd, source: below/motd.txt}"));
  directory.write("below/motd.txt", "Two Sparks\n");
  const auto loaded = load_from(directory);
  REQUIRE(loaded.cluster);
  CHECK(loaded.beside == TextsByName{{"below/motd.txt", "Two Sparks\n"}});
  for (const NodeSpec& node : loaded.cluster->nodes) {
    const Value& record = node.sections.at("files").list_items()->front();
    CHECK(record.find("source") == nullptr);
    REQUIRE(record.find("content") != nullptr);
    CHECK(*record.find("content")->string() == "Two Sparks\n");
    CHECK(record.find("content")->where == SourceRange{4, 35, 49});
  }
}

TEST_CASE("the digest of a cluster depends on the text of its files") {
  const Directory directory;
  directory.write("cluster.yaml", cluster_with("{path: /etc/motd, source: motd.txt}"));
  directory.write("motd.txt", "Two Sparks\n");
  const auto first = load_from(directory).cluster->config_digest;
  CHECK(load_from(directory).cluster->config_digest == first);
  directory.write("motd.txt", "Three Sparks\n");
  CHECK(load_from(directory).cluster->config_digest != first);
}

TEST_CASE("a cluster without such files has the digest of cluster.yaml alone") {
  const std::string text = cluster_with("{path: /etc/motd, content: a}");
  const auto read = [](const std::string&) -> Result<std::string> { return std::string("never asked for"); };
  const auto with_reader = load_cluster(text, "cluster.yaml", builtin_registry(), read);
  const auto without = load_cluster(text, "cluster.yaml", builtin_registry());
  REQUIRE(with_reader.cluster);
  CHECK(with_reader.beside.empty());
  CHECK(with_reader.cluster->config_digest == without.cluster->config_digest);
}

TEST_CASE("each file is read once, for any number of nodes") {
  int reads = 0;
  const auto read = [&](const std::string&) -> Result<std::string> {
    ++reads;
    return std::string("text\n");
  };
  const auto loaded =
      load_cluster(cluster_with("{path: /etc/a, source: x}, {path: /etc/b, source: x}"), "c", builtin_registry(), read);
  CHECK(loaded.cluster);
  CHECK(reads == 1);
}

TEST_CASE("a file that is too long is refused, and so are too many files") {
  const Directory directory;
  directory.write("large.txt", std::string((256 << 10) + 1, 'a'));
  directory.write("cluster.yaml", cluster_with("{path: /etc/a, source: large.txt}"));
  CHECK(only_message(load_from(directory)) == "cannot use \"large.txt\": it is larger than 256 KiB");

  std::string records;
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
    directory.write(std::string(1, name), std::string(256 << 10, name));
    records += std::string(records.empty() ? "" : ", ") + "{path: /etc/" + name + ", source: " + name + "}";
  }
  directory.write("cluster.yaml", cluster_with(records));
  CHECK(only_message(load_from(directory)) ==
        "cannot use \"e\": with it, the files beside cluster.yaml are larger than 1024 KiB");
}

TEST_CASE("a link within the directory is followed, and a link out of it is refused") {
  const Directory directory;
  directory.write("motd.txt", "Two Sparks\n");
  fs::create_symlink("motd.txt", directory.path() / "inside.txt");
  fs::create_symlink("/etc/passwd", directory.path() / "outside.txt");
  const auto read = files_in_directory_of(directory.cluster());
  CHECK(read("inside.txt").value() == "Two Sparks\n");
  CHECK(read("outside.txt").error().code == ErrorCode::kRefused);
  CHECK(read("none.txt").error().code == ErrorCode::kNotFound);
  CHECK(read("below").error().code == ErrorCode::kUnsupported);
}

}  // namespace sparkplan
