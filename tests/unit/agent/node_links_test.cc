// Below a directory used as a node, no path and no symbolic link leads outside.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "engine/agent/node/local_node.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;

/// A root with a sibling directory that nothing may reach.
struct Neighbours {
  ScratchDirectory base;
  std::filesystem::path root = base / "/root";

  Neighbours() {
    base.make_directory("/root/etc");
    base.write("/outside/secret", "secret");
  }
  LocalNode node() const {
    auto opened = LocalNode::open(root);
    REQUIRE(opened);
    return std::move(*opened);
  }
  void link(const std::string& inside, const std::string& target) const { base.make_link("/root" + inside, target); }
  std::string outside() const { return (base / "/outside").string(); }
  /// No file outside was read into the result or changed.
  void check_untouched() const {
    const auto all = base.tree("/root");
    REQUIRE(all.size() == 1);
    CHECK(base.read("/outside/secret") == "secret");
  }
};

}  // namespace

TEST_CASE("dots in a path stop at the root") {
  const Neighbours world;
  auto node = world.node();
  CHECK(node.read_file("/../outside/secret").error().code == ErrorCode::kNotFound);
  CHECK(node.read_file("/etc/../../outside/secret").error().code == ErrorCode::kNotFound);
  CHECK(node.list_directory("/..") == std::vector<std::string>{"etc"});
  CHECK(node.write_file("/../outside/new", {"x", 0644, 0, 0}));
  CHECK(world.base.read("/root/outside/new") == "x");
  CHECK(node.remove_file("/../../outside/secret"));
  world.check_untouched();
}

TEST_CASE("an absolute or relative link to a file outside is not read") {
  const Neighbours world;
  world.link("/etc/absolute", world.outside() + "/secret");
  world.link("/etc/relative", "../../outside/secret");
  world.link("/etc/many", "../../../../../../../../../../../.." + world.outside() + "/secret");
  world.link("/etc/chain", "absolute");
  const auto node = world.node();
  for (const char* path : {"/etc/absolute", "/etc/relative", "/etc/many", "/etc/chain"}) {
    INFO(path);
    const auto text = node.read_file(path);
    REQUIRE_FALSE(text);
    CHECK(text.error().code == ErrorCode::kNotFound);
  }
}

TEST_CASE("a file that sparkplan replaces is read without following a link, and with its own attributes") {
  const Neighbours world;
  world.base.write("/root/etc/plain", "text");
  world.link("/etc/link", "plain");
  const auto node = world.node();
  const auto plain = node.read_regular_file("/etc/plain");
  REQUIRE(plain);
  CHECK(plain->bytes == "text");
  CHECK(node.read_regular_file("/etc/plain", 3).error().code == ErrorCode::kUnsupported);
  CHECK(node.read_regular_file("/etc/link").error().code == ErrorCode::kRefused);
  CHECK(node.read_regular_file("/etc").error().code == ErrorCode::kRefused);
  CHECK(node.read_regular_file("/etc/missing").error().code == ErrorCode::kNotFound);
}

TEST_CASE("a link that another user puts in the place of a file while it is read leads nowhere") {
  const Neighbours world;
  world.base.write("/root/etc/secret", "secret");
  world.base.write("/root/etc/own", "own");
  const std::string place = (world.root / "etc/place").string();
  std::atomic<bool> done = false;
  std::thread other([&] {
    const std::string next = place + "-next";
    while (!done) {
      std::filesystem::create_hard_link(world.root / "etc/own", next);
      std::filesystem::rename(next, place);
      std::filesystem::create_symlink("secret", next);
      std::filesystem::rename(next, place);
    }
  });
  const auto node = world.node();
  int read = 0;
  int wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto file = node.read_regular_file("/etc/place");
    if (!file) continue;
    ++read;
    if (file->bytes != "own") ++wrong;
  }
  done = true;
  other.join();
  CHECK(wrong == 0);
  CHECK(read > 0);
}

TEST_CASE("an empty directory is made and removed without following a link on the way to it") {
  const Neighbours world;
  auto node = world.node();
  REQUIRE(node.make_empty_directory("/etc/models"));
  CHECK(node.status("/etc/models")->kind == FileStatus::Kind::kDirectory);
  REQUIRE(node.make_empty_directory("/etc/models/hf"));
  CHECK_FALSE(node.remove_empty_directory("/etc/models"));  // It is not empty.
  CHECK(node.remove_empty_directory("/etc/models/hf"));
  CHECK(node.remove_empty_directory("/etc/models"));
  CHECK(node.make_empty_directory("/etc/missing/a").error().code == ErrorCode::kNotFound);

  world.base.make_directory("/root/srv/empty");
  world.link("/etc/user", "../srv");
  CHECK(node.make_empty_directory("/etc/user/a").error().code == ErrorCode::kRefused);
  CHECK(node.remove_empty_directory("/etc/user/empty").error().code == ErrorCode::kRefused);
  CHECK(node.list_directory("/srv") == std::vector<std::string>{"empty"});
}

TEST_CASE("an absolute link is resolved below the node's own root") {
  const Neighbours world;
  world.base.write("/root/run/resolv.conf", "nameserver 10.0.0.1\n");
  world.link("/etc/resolv.conf", "/run/resolv.conf");
  CHECK(world.node().read_file("/etc/resolv.conf") == "nameserver 10.0.0.1\n");
}

TEST_CASE("a link in the parent chain leads no write and no removal outside") {
  const Neighbours world;
  world.link("/absolute", world.outside());
  world.link("/relative", "../outside");
  world.link("/etc/deep", "../../outside");
  auto node = world.node();
  for (const char* parent : {"/absolute", "/relative", "/etc/deep"}) {
    INFO(parent);
    CHECK_FALSE(node.write_file(std::string(parent) + "/new", {"x", 0644, 0, 0}));
    CHECK_FALSE(node.write_file(std::string(parent) + "/made/new", {"x", 0644, 0, 0}));
    CHECK_FALSE(node.make_directories(std::string(parent) + "/made"));
    (void)node.remove_file(std::string(parent) + "/secret");
    CHECK_FALSE(node.read_file(std::string(parent) + "/secret"));
    CHECK_FALSE(node.list_directory(parent));
    CHECK_FALSE(node.status(std::string(parent) + "/secret"));
    CHECK_FALSE(node.open_descriptor(std::string(parent) + "/secret", O_RDONLY));
    world.check_untouched();
  }
}

TEST_CASE("a link in the parent chain that stays inside is followed") {
  const Neighbours world;
  world.base.make_directory("/root/usr/lib");
  world.link("/lib", "/usr/lib");
  auto node = world.node();
  REQUIRE(node.write_file("/lib/sub/file", {"x", 0644, 0, 0}));
  CHECK(world.base.read("/root/usr/lib/sub/file") == "x");
  CHECK(node.read_file("/lib/sub/file") == "x");
  CHECK(node.remove_file("/lib/sub/file"));
  CHECK_FALSE(world.base.exists("/root/usr/lib/sub/file"));
}

TEST_CASE("the kernel's magic links below /proc do not lead outside") {
  const Neighbours world;
  const int secret = ::open((world.outside() + "/secret").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(secret >= 0);
  world.link("/etc/magic", "/proc/self/fd/" + std::to_string(secret));
  CHECK_FALSE(world.node().read_file("/etc/magic"));
  ::close(secret);
}

TEST_CASE("a loop of links is an error and does not hang") {
  const Neighbours world;
  world.link("/etc/a", "b");
  world.link("/etc/b", "a");
  auto node = world.node();
  CHECK_FALSE(node.read_file("/etc/a"));
  CHECK_FALSE(node.write_file("/etc/a/file", {"x", 0644, 0, 0}));
}

}  // namespace sparkplan
