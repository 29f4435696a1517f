// Reading ~/.ssh/config and what it includes.
#include "engine/remote/config/ssh_config_files.h"

#include <sys/stat.h>

#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;

/// A home and a system directory.
struct Files {
  Files() {
    root.make_directory("/home/.ssh");
    root.make_directory("/etc");
  }
  void write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    root.write(name, text);
    REQUIRE(::chmod((root / name).c_str(), mode) == 0);
  }
  Result<SshConfig> read() const { return read_ssh_config({(root / "/home").string(), (root / "/etc").string()}); }

  ScratchDirectory root;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("config: without files there are no settings") {
  const Files files;
  const auto config = files.read();
  REQUIRE(config);
  CHECK(config->files.empty());
}

TEST_CASE("config: the user's file comes first, and included files in lexical order") {
  const Files files;
  files.write("/home/.ssh/config", "Include conf.d/* ~/more /nowhere/*\nUser a\n");
  files.write("/home/.ssh/conf.d/2", "Port 2\n");
  files.write("/home/.ssh/conf.d/1", "Port 1\n");
  files.write("/home/more", "Port 3\n");
  files.write("/etc/ssh_config", "Include sub/*.conf\n", 0644);
  files.write("/etc/sub/a.conf", "Port 4\n", 0644);
  const auto config = files.read();
  REQUIRE(config);
  REQUIRE(config->files.size() == 2);
  CHECK(config->files[0].name == "~/.ssh/config");
  const auto& included = config->files[0].lines[0].included;
  REQUIRE(included.size() == 3);
  CHECK(included[0].name == "~/.ssh/conf.d/1");
  CHECK(included[1].name == "~/.ssh/conf.d/2");
  CHECK(included[2].name == "~/more");
  REQUIRE(config->files[1].lines[0].included.size() == 1);
  CHECK(config->files[1].lines[0].included[0].lines[0].arguments.front() == "4");
}

TEST_CASE("config: a file that includes itself is named with the whole circle") {
  const Files files;
  files.write("/home/.ssh/config", "Host *\nInclude a\n");
  files.write("/home/.ssh/a", "Include config\n");
  const auto config = files.read();
  REQUIRE_FALSE(config);
  CHECK(config.error().code == ErrorCode::kInvalidInput);
  CHECK(config.error().describe() ==
        "~/.ssh/config:2: ~/.ssh/a:1: ~/.ssh/config includes itself: ~/.ssh/config -> ~/.ssh/a -> ~/.ssh/config");
}

TEST_CASE("config: a file may be included twice, one after the other") {
  const Files files;
  files.write("/home/.ssh/config", "Include a\nInclude a\n");
  files.write("/home/.ssh/a", "Port 1\n");
  CHECK(files.read());
}

TEST_CASE("config: levels, files and bytes are bounded") {
  const Files files;
  SECTION("levels") {
    files.write("/home/.ssh/config", "Include l1\n");
    for (int i = 1; i < 20; ++i) {
      files.write("/home/.ssh/l" + std::to_string(i), "Include l" + std::to_string(i + 1) + "\n");
    }
  }
  SECTION("files") {
    files.write("/home/.ssh/config", "Include many/*\n");
    for (int i = 0; i < 300; ++i) files.write("/home/.ssh/many/" + std::to_string(i), "");
  }
  SECTION("bytes") { files.write("/home/.ssh/config", std::string(std::size_t{2} << 20, '\n')); }
  const auto config = files.read();
  REQUIRE_FALSE(config);
  CHECK(config.error().code == ErrorCode::kInvalidInput);
  CHECK(contains(config.error().message, "more than "));
}

TEST_CASE("config: a file that others can write is refused, as OpenSSH refuses it") {
  const Files files;
  files.write("/home/.ssh/config", "Include a\n");
  files.write("/home/.ssh/a", "Port 1\n", 0664);
  const auto config = files.read();
  REQUIRE_FALSE(config);
  CHECK(config.error().code == ErrorCode::kPermissionDenied);
  CHECK(contains(config.error().describe(), "~/.ssh/a can be written by other users"));
  CHECK(contains(config.error().hint, "chmod go-w ~/.ssh/a"));
  files.write("/home/.ssh/a", "Port 1\n", 0644);
  CHECK(files.read());
}

TEST_CASE("config: what is no regular file is refused without waiting for it") {
  const Files files;
  REQUIRE(::mkfifo((files.root / "/home/.ssh/config").c_str(), 0600) == 0);
  const auto config = files.read();
  REQUIRE_FALSE(config);
  CHECK(contains(config.error().message, "is not a regular file"));
}

}  // namespace sparkplan
