// File systems that are mounted in a user's home. The user can mount FUSE there, with a server that never answers.
#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/agent/node/local_node.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/own_mounts.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::Fuse;
using test::ScratchDirectory;
using test::with_fuse;
using test::with_mount;

const UserPath kHome{"/home/nvidia", {}};
const UserPath kKeys{"/home/nvidia", ".ssh/authorized_keys"};
const FileContent kWritten{"written", 0600, 0, 0};

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

namespace {

/// So a silent home takes half a second.
constexpr std::chrono::seconds kShortTime{4};

UserPath shared(const std::string& home, const std::string& below = {}) {
  return {home, below, {}, "ext4 /dev/sdb1", "/home"};
}

struct TwoHomes {
  ScratchDirectory root;

  TwoHomes() {
    root.write("/home/mallory/.ssh/authorized_keys", "hers");
    root.write("/home/zoe/.ssh/authorized_keys", "zoe's");
  }
};

}  // namespace

TEST_CASE("home: a user's silent mount in a home is no silence of the file system on which other homes are") {
  const TwoHomes homes;
  const std::string place = GENERATE("/home/mallory/.ssh", "/home/mallory");
  INFO(place);
  const auto look = [&](LocalNode& node) {
    const LocalNode::OneMoment moment(node, kShortTime);
    std::string all = in_words(node.read_user_file(shared("/home/mallory", ".ssh/authorized_keys"))) + ", ";
    all += with_its_process([&] { return node.user_status(shared("/home/mallory", ".ssh")); });
    return all + with_its_process([&] { return node.read_user_file(shared("/home/zoe", ".ssh/authorized_keys")); });
  };
  const auto seen = with_fuse(homes.root, place, Fuse{}, look);
  if (!seen) return;
  const std::string error =
      "/home/mallory is on ext4 /dev/sdb1, which answers, but a file or a directory in this home does not";
  CHECK(*seen == error + ", " + error + " by this process, zoe's by another process, ");
}

TEST_CASE("home: an access that fails is no silence, whatever error the server of a mount chooses") {
  const TwoHomes homes;
  const auto look = [&](LocalNode& node) {
    const LocalNode::OneMoment moment(node, kShortTime);
    const auto refused = node.read_user_file(shared("/home/mallory", ".ssh/authorized_keys"));
    std::string all = !refused && refused.error().sys_errno == ECONNREFUSED ? "refused, " : "not refused, ";
    all += in_words(node.user_status(shared("/home/mallory"))) + ", ";
    return all + in_words(node.read_user_file(shared("/home/zoe", ".ssh/authorized_keys")));
  };
  const auto seen = with_fuse(homes.root, "/home/mallory/.ssh", Fuse{.refuses = true}, look);
  if (seen) CHECK(*seen == "refused, a status, zoe's");
}

TEST_CASE("home: if a home itself is silent, all homes on its file system are, and only the first one is waited for") {
  const TwoHomes homes;
  homes.root.make_directory("/other/alice");
  const auto look = [&](LocalNode& node) {
    const LocalNode::OneMoment moment(node, kShortTime);
    const UserPath alice{"/other/alice", {}, {}, "ext4 /dev/sdc1", "/other"};
    std::string all = in_words(node.read_user_file(shared("/home/zoe", ".ssh/authorized_keys"))) + ", ";
    all += with_its_process([&] { return node.user_status(shared("/home/mallory")); });
    return all + with_its_process([&] { return node.user_status(alice); });
  };
  const auto seen = with_fuse(homes.root, "/home", Fuse{}, look);
  if (!seen) return;
  CHECK(*seen ==
        "/home/zoe is on ext4 /dev/sdb1, which does not answer, "
        "/home/mallory is on ext4 /dev/sdb1, which does not answer by this process, a status by another process, ");
}

TEST_CASE("home: a silent home that is a mount itself is silent alone") {
  const TwoHomes homes;
  const auto look = [&](LocalNode& node) {
    const LocalNode::OneMoment moment(node, kShortTime);
    const UserPath hers{"/home/mallory", ".ssh", {}, "nfs4 10.0.0.66:/home/mallory"};
    const UserPath keys{"/home/zoe", ".ssh/authorized_keys", {}, "nfs4 10.0.0.66:/home/mallory"};
    return in_words(node.user_status(hers)) + ", " + in_words(node.read_user_file(keys));
  };
  const auto seen = with_fuse(homes.root, "/home/mallory", Fuse{}, look);
  if (!seen) return;
  CHECK(*seen == "/home/mallory is on nfs4 10.0.0.66:/home/mallory, which does not answer, zoe's");
}

TEST_CASE("node: a mount is detached only where no link is on the way to it") {
  const ScratchDirectory root;
  root.write("/disk/file", "mounted");
  root.make_directory("/there/mount");
  root.make_link("/link", "there");
  const auto look = [&](LocalNode& /*of_root*/) {
    auto node = LocalNode::open("/");
    if (!node) return in_words(node.error());
    const Result<void> by_link = node->detach_mount(root / "/link/mount");
    std::string all = !by_link && by_link.error().code == ErrorCode::kRefused ? "refused, " : "not refused, ";
    all += root.exists("/there/mount/file") ? "there, " : "gone, ";
    all += in_words(node->detach_mount(root / "/there/mount"));
    return all + (root.exists("/there/mount/file") ? ", there" : ", gone");
  };
  const auto seen = with_mount(root, "/disk", "/there/mount", look);
  if (seen) CHECK(*seen == "refused, there, done, gone");
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
