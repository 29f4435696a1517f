// File systems that are mounted in a user's home. The user can mount FUSE there, with a server that never answers.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "engine/agent/node/local_node.h"
#include "engine/agent/node/separate_access.h"
#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;

constexpr std::chrono::seconds kTimeWithMount{60};
const UserPath kHome{"/home/nvidia", {}};
const UserPath kKeys{"/home/nvidia", ".ssh/authorized_keys"};
const FileContent kWritten{"written", 0600, 0, 0};

void write_to_kernel(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

/// From now on no other process sees the mounts of this one. A user without rights gets those of root over them.
bool have_own_mounts() {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  const bool is_root = ::geteuid() == 0;
  if (::unshare(is_root ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  if (!is_root) {
    write_to_kernel("/proc/self/setgroups", "deny");
    write_to_kernel("/proc/self/uid_map", "0 " + user + " 1");
    write_to_kernel("/proc/self/gid_map", "0 " + group + " 1");
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// The result of `look` in a process that has mounted one path of the node on another. Nothing where mounts are not
/// permitted.
std::optional<std::string> with_mount(const ScratchDirectory& root, const std::string& what, const std::string& where,
                                      const std::function<std::string(LocalNode&)>& look) {
  const auto work = [&]() -> Result<HomeAnswer> {
    const bool mounted =
        have_own_mounts() && ::mount((root / what).c_str(), (root / where).c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!mounted) return failure(system_error("mount", ENOSYS));
    SPARK_TRY(LocalNode node, LocalNode::open(root.path()));
    return HomeAnswer{{}, look(node)};
  };
  const FileDescriptor unneeded(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto answer = in_separate_process(work, unneeded.get(), kTimeWithMount);
  if (answer) return answer->bytes;
  INFO(answer.error().describe());
  REQUIRE(answer.error().sys_errno == ENOSYS);
  WARN("SKIPPED: this process may not mount");
  return std::nullopt;
}

long page_faults_of_ended_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_minflt;
}

std::string in_words(const Error& error) {
  if (error.sys_errno == EBUSY) return "busy";
  return error.code == ErrorCode::kStalePlan ? "stale" : error.describe();
}
std::string in_words(const Result<void>& result) { return result ? "done" : in_words(result.error()); }
std::string in_words(const Result<std::string>& text) { return text ? *text : in_words(text.error()); }
std::string in_words(const Result<FileStatus>& status) { return status ? "a status" : in_words(status.error()); }

/// The result of an access, and which process made it: "done by another process, ".
template <class Access>
std::string with_its_process(const Access& access) {
  const long before = page_faults_of_ended_children();
  const std::string result = in_words(access());
  const bool here = page_faults_of_ended_children() == before;
  return result + (here ? " by this process, " : " by another process, ");
}

std::string each_with_its_process(LocalNode& node, const UserPath& file) {
  std::string all = with_its_process([&] { return node.user_status(file); });
  all += with_its_process([&] { return node.read_user_file(file); });
  all += with_its_process([&] { return node.write_user_file(file, kWritten); });
  all += with_its_process([&] { return node.remove_user_file(file); });
  return all;
}

}  // namespace

TEST_CASE("home: a file system that is mounted on a home or in it is entered by another process alone") {
  const ScratchDirectory root;
  root.write("/home/nvidia/.ssh/authorized_keys", "hidden");
  root.write("/disk/home/nvidia/.ssh/authorized_keys", "mounted");
  const std::string place = GENERATE("/home", "/home/nvidia", "/home/nvidia/.ssh");
  INFO(place);
  UserPath served = kKeys;
  served.served_by = "fuse nvidia";
  const auto look = [&](LocalNode& node) {
    std::string all = with_its_process([&] { return node.user_status(kHome); });
    all += with_its_process([&] { return node.read_user_file(kKeys); });
    const auto status = node.user_status(kKeys);
    const auto same = node.user_status(served);
    all += status && same && status->inode == same->inode && status->device == same->device ? "same, " : "not same, ";
    all += with_its_process([&] { return node.write_user_file(kKeys, kWritten); });
    all += node.read_regular_user_file(kKeys) == node.read_regular_user_file(served) ? "same, " : "not same, ";
    return all;
  };
  const auto seen = with_mount(root, "/disk" + place, place, look);
  if (!seen) return;
  const std::string maker = place.ends_with(".ssh") ? "this" : "another";
  CHECK(*seen ==
        "a status by " + maker + " process, mounted by another process, same, done by another process, same, ");
  CHECK(root.read("/disk/home/nvidia/.ssh/authorized_keys") == "written");
  CHECK(root.mode("/disk/home/nvidia/.ssh/authorized_keys") == 0600);
  const auto remove = [&](LocalNode& node) { return with_its_process([&] { return node.remove_user_file(kKeys); }); };
  CHECK(with_mount(root, "/disk" + place, place, remove) == "done by another process, ");
  CHECK_FALSE(root.exists("/disk/home/nvidia/.ssh/authorized_keys"));
  CHECK(root.read("/home/nvidia/.ssh/authorized_keys") == "hidden");
}

TEST_CASE("home: a directory on which a file system is mounted after the check is not the checked one") {
  const ScratchDirectory root;
  root.write("/home/nvidia/.ssh/authorized_keys", "hidden");
  root.write("/disk/authorized_keys", "mounted");
  const auto before = LocalNode::open(root.path());
  REQUIRE(before);
  const auto status = before->user_status({kHome.home, ".ssh"});
  REQUIRE(status);
  UserPath checked = kKeys;
  checked.checked = CheckedDirectory{*status};
  const auto look = [&](LocalNode& node) { return each_with_its_process(node, checked); };
  const auto seen = with_mount(root, "/disk", "/home/nvidia/.ssh", look);
  if (!seen) return;
  CHECK(*seen ==
        "stale by another process, stale by another process, stale by another process, stale by another process, ");
  CHECK(root.read("/home/nvidia/.ssh/authorized_keys") == "hidden");
  CHECK(root.read("/disk/authorized_keys") == "mounted");
}

TEST_CASE("home: a file system that is mounted on a file is entered by another process alone, and is not replaced") {
  const ScratchDirectory root;
  root.write("/home/nvidia/.ssh/authorized_keys", "hidden");
  root.write("/disk/authorized_keys", "mounted");
  const auto look = [&](LocalNode& node) { return each_with_its_process(node, kKeys); };
  const auto seen = with_mount(root, "/disk/authorized_keys", "/home/nvidia/.ssh/authorized_keys", look);
  if (!seen) return;
  // A removal looks at the name alone, and at nothing that is mounted on it.
  CHECK(*seen ==
        "a status by another process, mounted by another process, busy by another process, busy by this process, ");
  CHECK(root.read("/home/nvidia/.ssh/authorized_keys") == "hidden");
  CHECK(root.read("/disk/authorized_keys") == "mounted");
}

TEST_CASE("home: without a mount in it, no other process is made, also beside other homes with mounts") {
  const ScratchDirectory root;
  root.write("/home/nvidia/.ssh/authorized_keys", "his");
  root.make_directory("/home/alice");
  root.make_directory("/disk");
  const auto look = [&](LocalNode& node) { return each_with_its_process(node, kKeys); };
  const auto seen = with_mount(root, "/disk", "/home/alice", look);
  if (!seen) return;
  CHECK(*seen == "a status by this process, his by this process, done by this process, done by this process, ");
}

}  // namespace sparkplan
