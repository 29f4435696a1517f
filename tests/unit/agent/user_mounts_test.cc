// Files outside homes, on the live machine. A user can mount FUSE on each of their own, with a server that never
// answers.
#include "engine/agent/node/user_mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "engine/agent/node/local_node.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/own_mounts.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;
using test::Fuse;
using test::ScratchDirectory;

/// The user of the mounts. Only root of the machine can pretend to be another user.
constexpr int kAlice = 1000;
const FileContent kNewText{"new", 0600, 0, 0};

std::string in_words(const Error& error, const ScratchDirectory& root) {
  if (error.sys_errno == EBUSY) return "busy";
  std::string text = error.describe();
  for (auto at = text.find(root.path()); at != std::string::npos; at = text.find(root.path())) {
    text.erase(at, root.path().native().size());
  }
  return error.code == ErrorCode::kRefused ? text : "not refused: " + text;
}
template <class T>
std::string in_words(const Result<T>& result, const ScratchDirectory& root) {
  return result ? "done" : in_words(result.error(), root);
}

/// The result of `look` for the live machine. Alice has mounted a silent file system at a path below `root`.
template <class LookAtMachine>
std::optional<std::string> beside_mount(const ScratchDirectory& root, const std::string& where, bool is_file,
                                        const LookAtMachine& look) {
  const Fuse fuse{.user = ::geteuid() == 0 ? kAlice : 0, .is_file = is_file};
  if (fuse.user == 0) {
    WARN("SKIPPED: only root can mount for another user");
    return std::nullopt;
  }
  return test::with_fuse(root, where, fuse, [&](LocalNode& /*of_root*/) {
    auto machine = LocalNode::open("/");
    return machine ? look(*machine) : machine.error().describe();
  });
}

constexpr const char* kAtDirectory = "/srv/app/settings is in a file system that a user has mounted at /srv/app (fuse)";
constexpr const char* kAtFile =
    "/srv/app/settings is in a file system that a user has mounted at /srv/app/settings (fuse)";

}  // namespace

TEST_CASE("user mount: no access to a file enters a mount that a user has made above it or on it") {
  const ScratchDirectory root;
  root.write("/srv/app/settings", "hidden");
  const bool is_file = GENERATE(false, true);
  INFO(is_file);
  const std::string refused = is_file ? kAtFile : kAtDirectory;
  const auto look = [&](LocalNode& machine) {
    const fs::path file = root / "/srv/app/settings";
    std::string all = in_words(machine.status(file), root) + "\n";
    all += in_words(machine.read_file(file), root) + "\n";
    all += in_words(machine.read_lines(file, {}, [](std::string_view) -> Result<void> { return {}; }), root) + "\n";
    return all + in_words(machine.read_regular_file(file), root) + "\n";
  };
  const auto seen = beside_mount(root, is_file ? "/srv/app/settings" : "/srv/app", is_file, look);
  if (seen) CHECK(*seen == refused + "\n" + refused + "\n" + refused + "\n" + refused + "\n");
}

TEST_CASE("user mount: no change of a file or a directory enters a mount that a user has made") {
  const ScratchDirectory root;
  root.write("/srv/app/settings", "hidden");
  const auto in_directory = [&](LocalNode& machine) {
    std::string all = in_words(machine.write_file(root / "/srv/app/settings", kNewText), root) + "\n";
    all += in_words(machine.remove_file(root / "/srv/app/settings"), root) + "\n";
    all += in_words(machine.make_directories(root / "/srv/app/inner/one"), root) + "\n";
    return all + in_words(machine.list_directory(root / "/srv/app"), root);
  };
  const std::string in_app = " is in a file system that a user has mounted at /srv/app (fuse)";
  const auto seen = beside_mount(root, "/srv/app", false, in_directory);
  if (seen) CHECK(*seen == "/srv/app" + in_app + "\n/srv/app" + in_app + "\n/srv/app" + in_app + "\n/srv/app" + in_app);
  const auto on_file = [&](LocalNode& machine) {
    return in_words(machine.write_file(root / "/srv/app/settings", kNewText), root) + " " +
           in_words(machine.remove_file(root / "/srv/app/settings"), root);
  };
  const auto busy = beside_mount(root, "/srv/app/settings", true, on_file);
  if (busy) CHECK(*busy == "busy busy");
  CHECK(root.read("/srv/app/settings") == "hidden");
}

TEST_CASE("user mount: a link that leads into a mount of a user is followed to the mount only") {
  const ScratchDirectory root;
  root.make_directory("/srv/app");
  root.make_link("/etc/relative", "../srv/app/settings");
  root.make_link("/etc/absolute", (root / "/srv/app").string());
  const auto look = [&](LocalNode& machine) {
    return in_words(machine.read_file(root / "/etc/relative"), root) + "\n" +
           in_words(machine.read_file(root / "/etc/absolute/settings"), root) + "\n" +
           in_words(machine.status(root / "/etc/relative"), root);
  };
  const auto seen = beside_mount(root, "/srv/app", false, look);
  const std::string in_app = " is in a file system that a user has mounted at /srv/app (fuse)";
  if (seen) CHECK(*seen == "/etc/relative" + in_app + "\n/etc/absolute/settings" + in_app + "\ndone");
}

TEST_CASE("user mount: mounts of root are entered, and a mount that takes the place of one later is not") {
  const ScratchDirectory root;
  root.write("/disk/settings", "mounted");
  root.make_directory("/srv/app");
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root can mount for another user");
    return;
  }
  const auto look = [&](LocalNode& /*of_root*/) {
    auto machine = LocalNode::open("/");
    if (!machine) return machine.error().describe();
    const fs::path file = root / "/srv/app/settings";
    std::string all = machine->read_file(file).value_or("nothing") + ", ";
    if (::umount((root / "/srv/app").c_str()) != 0) return std::string("not unmounted");
    if (!test::mount_fuse((root / "/srv/app").string(), {.user = kAlice})) return std::string("not mounted");
    return all + in_words(machine->read_file(file), root);
  };
  const auto seen = test::with_mount(root, "/disk", "/srv/app", look);
  if (seen) CHECK(*seen == std::string("mounted, ") + kAtDirectory);
}

namespace {

/// The file that open(2) finds, as its number; or the errno.
std::string as_text(int descriptor, int error) {
  struct stat status {};
  if (descriptor < 0) return "errno " + std::to_string(error);
  return ::fstat(descriptor, &status) == 0 ? "inode " + std::to_string(status.st_ino) : "none";
}

}  // namespace

TEST_CASE("user mount: without one, each path leads where open(2) finds it, and fails as there") {
  const ScratchDirectory root;
  root.write("/a/file", "text");
  root.make_directory("/a/inner");
  root.make_link("/a/link", "file");
  root.make_link("/a/up", "../a/./inner/../file");
  root.make_link("/a/absolute", (root / "/a").string());
  root.make_link("/a/dangling", "nowhere");
  root.make_link("/a/loop", "loop");
  const std::string path = GENERATE("/a/file", "/a/link", "/a/up", "/a/absolute/link", "/a/absolute/absolute/up",
                                    "/a/dangling", "/a/loop", "/a/loop/file", "/a/file/file", "/a/link/file",
                                    "/a/nothing", "/a/nothing/file", "/a/inner", "/a/inner/", "/a/../a/file");
  const int flags = GENERATE(O_RDONLY, O_PATH, O_PATH | O_NOFOLLOW, O_RDONLY | O_NOFOLLOW, O_RDONLY | O_DIRECTORY,
                             O_PATH | O_DIRECTORY | O_NOFOLLOW, O_WRONLY);
  INFO(path << " " << flags);
  const auto machine = LocalNode::open("/");
  REQUIRE(machine);
  const std::string whole = root.path().string() + path;
  const FileDescriptor expected(::open(whole.c_str(), flags | O_CLOEXEC));
  const int error = errno;
  const auto opened = machine->open_descriptor(whole, flags);
  CHECK(as_text(opened ? opened->get() : -1, opened ? 0 : opened.error().sys_errno.value_or(0)) ==
        as_text(expected.get(), error));
}

TEST_CASE("user mount: at its end, a path follows no link of another user in a directory such as /tmp") {
  const ScratchDirectory root;
  root.write("/a/file", "text");
  root.make_link("/shared/link", "../a/file");
  root.make_link("/shared/directory", "../a");
  fs::permissions(root / "/shared", fs::perms::all | fs::perms::sticky_bit);
  const auto machine = LocalNode::open("/");
  REQUIRE(machine);
  CHECK(machine->read_file(root / "/shared/link") == "text");
  if (::geteuid() != 0 || ::lchown((root / "/shared/link").c_str(), kAlice, kAlice) != 0 ||
      ::lchown((root / "/shared/directory").c_str(), kAlice, kAlice) != 0) {
    WARN("SKIPPED: only root can make a link of another user");
    return;
  }
  CHECK(machine->read_file(root / "/shared/link").error().code == ErrorCode::kPermissionDenied);
  CHECK(machine->read_file(root / "/shared/directory/file") == "text");
  CHECK(machine->status(root / "/shared/link"));
  // Without the sticky bit, everyone could replace the link anyway.
  fs::permissions(root / "/shared", fs::perms::all);
  CHECK(machine->read_file(root / "/shared/link") == "text");
}

TEST_CASE("user mount: a new file is made where open(2) makes it, and O_EXCL makes no second one") {
  const ScratchDirectory root;
  root.make_directory("/a");
  root.make_link("/a/link", "target");
  root.make_link("/a/other", "there");
  const auto machine = LocalNode::open("/");
  REQUIRE(machine);
  constexpr int kMake = O_WRONLY | O_CREAT;
  CHECK(machine->open_descriptor(root / "/a/new", kMake | O_EXCL, 0600));
  CHECK(root.mode("/a/new") == 0600);
  CHECK(machine->open_descriptor(root / "/a/new", kMake | O_EXCL, 0600).error().sys_errno == EEXIST);
  CHECK(machine->open_descriptor(root / "/a/new", kMake, 0644));
  CHECK(root.mode("/a/new") == 0600);
  CHECK(machine->open_descriptor(root / "/a/link", kMake, 0600));
  CHECK(root.exists("/a/target"));
  CHECK(machine->open_descriptor(root / "/a/other", kMake | O_EXCL, 0600).error().sys_errno == EEXIST);
  CHECK_FALSE(root.exists("/a/there"));
  CHECK(machine->open_descriptor(root / "/a/nothing/new", kMake, 0600).error().sys_errno == ENOENT);
}

}  // namespace sparkplan
