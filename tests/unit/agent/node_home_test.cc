// Files in a user's home: the user can create links anywhere in it, and the agent follows none.
#include <fcntl.h>
#include <stdio.h>

#include <atomic>
#include <optional>
#include <thread>

#include "engine/agent/node/local_node.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

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

TEST_CASE("home: missing directories are created for their owner alone") {
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

TEST_CASE("home: one on another file system is read and written by another process, with the same result") {
  const Home home;
  home.root.make_directory("/home/nvidia");
  auto node = home.node();
  UserPath keys = home.keys;
  keys.served_by = "nfs4 10.0.0.11:/home";
  CHECK(node.read_user_file(keys).error().code == ErrorCode::kNotFound);
  REQUIRE(node.write_user_file(keys, kContent));
  CHECK(home.root.read("/home/nvidia/.ssh/authorized_keys") == "key\n");
  CHECK(home.root.mode("/home/nvidia/.ssh") == 0700);
  CHECK(*node.read_user_file(keys) == "key\n");
  CHECK(*node.read_regular_user_file(keys) == *node.read_regular_user_file(home.keys));
  CHECK(node.user_status(keys)->inode == node.user_status(home.keys)->inode);
  CHECK(node.user_status(keys)->changed_at_nanos == node.user_status(home.keys)->changed_at_nanos);
  home.root.make_link("/home/nvidia/.ssh/other", "authorized_keys");
  keys.below = ".ssh/other";
  CHECK(node.read_user_file(keys).error().describe() ==
        node.read_user_file({home.keys.home, keys.below}).error().describe());
  keys.below = home.keys.below;
  REQUIRE(node.remove_user_file(keys));
  CHECK(node.read_user_file(home.keys).error().code == ErrorCode::kNotFound);
}

TEST_CASE("home: an existing directory keeps its mode") {
  const Home home;
  home.root.make_directory("/home/nvidia/.ssh");
  std::filesystem::permissions(home.root / "/home/nvidia/.ssh", std::filesystem::perms(0755));
  REQUIRE(home.node().write_user_file(home.keys, kContent));
  CHECK(home.root.mode("/home/nvidia/.ssh") == 0755);
}

TEST_CASE("home: a link anywhere below the home is refused, and its target is neither read nor written") {
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

TEST_CASE("home: a link above the home is followed, because only root can create it") {
  const Home home;
  home.root.make_directory("/data/home/nvidia");
  home.root.make_link("/home", "/data/home");
  REQUIRE(home.node().write_user_file(home.keys, kContent));
  CHECK(home.root.read("/data/home/nvidia/.ssh/authorized_keys") == "key\n");
}

TEST_CASE("home: dots lead nowhere, and the root directory is not accepted as a home") {
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

namespace {

/// The directory as it is now, for a file in it.
UserPath checked(const LocalNode& node, UserPath file) {
  const auto status = node.user_status({file.home, file.below.parent_path()});
  file.checked = CheckedDirectory{status ? std::optional(*status) : std::nullopt};
  return file;
}

bool is_stale(const Result<void>& result) { return !result && result.error().code == ErrorCode::kStalePlan; }

}  // namespace

TEST_CASE("home: a file is read and written in the checked directory") {
  const Home home;
  home.root.write("/home/nvidia/.ssh/authorized_keys", "old");
  auto node = home.node();
  const UserPath path = checked(node, home.keys);
  CHECK(*node.read_user_file(path) == "old");
  REQUIRE(node.write_user_file(path, kContent));
  CHECK(*node.read_user_file(path) == "key\n");
  REQUIRE(node.remove_user_file(path));
  CHECK_FALSE(home.root.exists("/home/nvidia/.ssh/authorized_keys"));
}

TEST_CASE("home: a directory that replaced the checked one is neither read nor written") {
  const Home home;
  home.root.write("/home/nvidia/.ssh/authorized_keys", "his");
  home.root.write("/home/nvidia/other/authorized_keys", "theirs");
  auto node = home.node();
  const UserPath path = checked(node, home.keys);
  std::filesystem::rename(home.root / "/home/nvidia/.ssh", home.root / "/home/nvidia/away");
  std::filesystem::rename(home.root / "/home/nvidia/other", home.root / "/home/nvidia/.ssh");
  CHECK(node.read_user_file(path).error().code == ErrorCode::kStalePlan);
  CHECK(node.user_status(path).error().code == ErrorCode::kStalePlan);
  CHECK(is_stale(node.write_user_file(path, kContent)));
  CHECK(is_stale(node.remove_user_file(path)));
  CHECK(home.root.read("/home/nvidia/.ssh/authorized_keys") == "theirs");
  CHECK(home.root.read("/home/nvidia/away/authorized_keys") == "his");
}

TEST_CASE("home: a directory whose mode has changed is not the checked one") {
  const Home home;
  home.root.make_directory("/home/nvidia/.ssh");
  auto node = home.node();
  std::filesystem::permissions(home.root / "/home/nvidia/.ssh", std::filesystem::perms(0700));
  const UserPath path = checked(node, home.keys);
  std::filesystem::permissions(home.root / "/home/nvidia/.ssh", std::filesystem::perms(0777));
  CHECK(is_stale(node.write_user_file(path, kContent)));
  CHECK_FALSE(home.root.exists("/home/nvidia/.ssh/authorized_keys"));
}

TEST_CASE("home: a missing directory is created, and one that appeared after the check is not used") {
  const Home home;
  home.root.make_directory("/home/nvidia");
  auto node = home.node();
  const UserPath path = checked(node, home.keys);
  CHECK(node.read_user_file(path).error().code == ErrorCode::kNotFound);
  CHECK(node.remove_user_file(path));
  SECTION("no directory appears") {
    REQUIRE(node.write_user_file(path, kContent));
    CHECK(home.root.mode("/home/nvidia/.ssh") == 0700);
    CHECK(is_stale(node.write_user_file(path, kContent)));  // The directory exists by now: check again.
  }
  SECTION("the user creates it first") {
    home.root.make_directory("/home/nvidia/.ssh");
    CHECK(is_stale(node.write_user_file(path, kContent)));
    CHECK_FALSE(home.root.exists("/home/nvidia/.ssh/authorized_keys"));
  }
}

TEST_CASE("home: while a file is swapped all the time, its text and its mode are of one file") {
  const Home home;
  home.root.write("/home/nvidia/.ssh/authorized_keys", "his");
  home.root.write("/home/nvidia/.ssh/other", "theirs");
  const auto here = home.root / "/home/nvidia/.ssh/authorized_keys";
  const auto there = home.root / "/home/nvidia/.ssh/other";
  std::filesystem::permissions(here, std::filesystem::perms(0600));
  std::filesystem::permissions(there, std::filesystem::perms(0640));
  const auto node = home.node();
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) ::renameat2(AT_FDCWD, here.c_str(), AT_FDCWD, there.c_str(), RENAME_EXCHANGE);
  });
  int his = 0;
  int theirs = 0;
  int mixed = 0;
  // Ends after both files have been read often enough; each round takes less than a millisecond.
  for (int i = 0; i < 200'000 && (his < 200 || theirs < 200); ++i) {
    const auto file = node.read_regular_user_file(home.keys);
    if (!file || (file->bytes == "his") != (file->mode == 0600)) {
      ++mixed;
    } else {
      (file->bytes == "his" ? his : theirs) += 1;
    }
  }
  stop = true;
  swapper.join();
  CHECK(mixed == 0);
  CHECK(his >= 200);
  CHECK(theirs >= 200);
}

TEST_CASE("home: while a directory is swapped all the time, nothing is written into the wrong one") {
  const Home home;
  home.root.write("/home/nvidia/.ssh/authorized_keys", "his");
  home.root.write("/home/nvidia/other/authorized_keys", "theirs");
  auto node = home.node();
  const UserPath path = checked(node, home.keys);
  const auto here = home.root / "/home/nvidia/.ssh";
  const auto there = home.root / "/home/nvidia/other";
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) ::renameat2(AT_FDCWD, here.c_str(), AT_FDCWD, there.c_str(), RENAME_EXCHANGE);
  });
  int refused = 0;
  int written = 0;
  // Ends after both results have occurred often enough; each round takes less than a millisecond.
  for (int i = 0; i < 200'000 && (refused < 20 || written < 20); ++i) {
    const auto result = node.write_user_file(path, kContent);
    if (!result) CHECK(result.error().code == ErrorCode::kStalePlan);
    (result ? written : refused) += 1;
  }
  stop = true;
  swapper.join();
  CHECK(refused >= 20);
  CHECK(written >= 20);
  const std::string one = home.root.read("/home/nvidia/.ssh/authorized_keys");
  const std::string other = home.root.read("/home/nvidia/other/authorized_keys");
  CHECK((one == "theirs" ? other : one) == "key\n");
  CHECK((one == "theirs" || other == "theirs"));
}

}  // namespace sparkplan
