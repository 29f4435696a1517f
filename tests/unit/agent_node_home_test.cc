// Files in a user's home: he can put a link anywhere in it, and none is followed.
#include "engine/agent/local_node.h"
#include "tests/support/catch.h"
#include "tests/unit/agent_scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;

struct Home {
  ScratchDirectory root;
  const UserPath keys{"/home/nvidia", ".ssh/authorized_keys"};

  LocalNode node() const {
    auto opened = LocalNode::open(root.path());
    REQUIRE(opened);
    return std::move(*opened);
  }
};

const FileContent kContent{"key\n", 0600, 0, 0};

}  // namespace

TEST_CASE("home: directories on the way are made for their owner alone") {
  const Home home;
  home.root.make_directory("/home/nvidia");
  auto node = home.node();
  REQUIRE(node.write_user_file(home.keys, kContent));
  CHECK(home.root.read("/home/nvidia/.ssh/authorized_keys") == "key\n");
  CHECK(home.root.mode("/home/nvidia/.ssh") == 0700);
  CHECK(home.root.mode("/home/nvidia/.ssh/authorized_keys") == 0600);
  CHECK(*node.read_user_file(home.keys) == "key\n");
  CHECK(node.user_status(home.keys)->mode == 0600);
  REQUIRE(node.remove_user_file(home.keys));
  CHECK(node.read_user_file(home.keys).error().code == ErrorCode::kNotFound);
  CHECK(node.remove_user_file(home.keys));
}

TEST_CASE("home: a directory that is there keeps its mode") {
  const Home home;
  home.root.make_directory("/home/nvidia/.ssh");
  std::filesystem::permissions(home.root / "/home/nvidia/.ssh", std::filesystem::perms(0755));
  REQUIRE(home.node().write_user_file(home.keys, kContent));
  CHECK(home.root.mode("/home/nvidia/.ssh") == 0755);
}

TEST_CASE("home: a link is refused wherever it stands, and nothing behind it is read or written") {
  const Home home;
  const std::string place = GENERATE("/home/nvidia", "/home/nvidia/.ssh", "/home/nvidia/.ssh/authorized_keys");
  INFO(place);
  home.root.write("/target/.ssh/authorized_keys", "theirs");
  home.root.write("/target/authorized_keys", "theirs");
  home.root.make_directory(std::filesystem::path(place).parent_path());
  const bool is_file = place.ends_with("keys");
  home.root.make_link(place, home.root / (is_file ? "/target/authorized_keys" : "/target"));
  auto node = home.node();
  CHECK(node.read_user_file(home.keys).error().code == ErrorCode::kRefused);
  CHECK(node.user_status(home.keys).error().code == ErrorCode::kRefused);
  const auto written = node.write_user_file(home.keys, kContent);
  REQUIRE_FALSE(written);
  CHECK(written.error().code == ErrorCode::kRefused);
  CHECK(home.root.read("/target/.ssh/authorized_keys") == "theirs");
  CHECK(home.root.read("/target/authorized_keys") == "theirs");
}

TEST_CASE("home: what is above the home may be a link, for that is root's business") {
  const Home home;
  home.root.make_directory("/data/home/nvidia");
  home.root.make_link("/home", "/data/home");
  REQUIRE(home.node().write_user_file(home.keys, kContent));
  CHECK(home.root.read("/data/home/nvidia/.ssh/authorized_keys") == "key\n");
}

TEST_CASE("home: dots lead nowhere, and the root directory is nobody's home") {
  const Home home;
  home.root.make_directory("/home/nvidia");
  home.root.write("/home/other/secret", "theirs");
  auto node = home.node();
  CHECK_FALSE(node.read_user_file({"/home/nvidia", "../other/secret"}));
  CHECK_FALSE(node.write_user_file({"/home/nvidia", "../other/secret"}, kContent));
  CHECK(home.root.read("/home/other/secret") == "theirs");
  CHECK(node.read_user_file({"/", "etc/passwd"}).error().code == ErrorCode::kInvalidInput);
  CHECK(node.write_user_file({"/home/nobody", ".ssh/x"}, kContent).error().code == ErrorCode::kNotFound);
}

}  // namespace sparkplan
