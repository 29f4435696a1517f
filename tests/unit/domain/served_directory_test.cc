#include "engine/domain/storage/served_directory.h"

#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan {
namespace {

constexpr const char* kMounts =
    "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "30 22 259:2 /data /srv/data rw shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "31 22 0:50 / /home/alice rw,relatime shared:9 - nfs4 10.0.0.11:/home/alice rw,vers=4.2\n"
    "32 22 0:51 / /home/bob rw shared:9 - fuse.sshfs bob@host:\\012x rw,user_id=1002\n"
    "33 22 0:52 / /auto rw shared:9 - autofs auto.home rw\n"
    "34 33 0:53 / /auto/dave rw shared:9 - nfs4 10.0.0.12:/home/dave rw\n"
    "35 22 259:3 / /scratch rw shared:9 - ext4 /dev/nvme0n1p3 rw\n";

std::string served_by(const std::filesystem::path& home, const NodeReader& node) {
  return path_in_home(home, {}, node).served_by;
}
std::string shared_mount(const std::filesystem::path& home, const NodeReader& node) {
  return path_in_home(home, {}, node).shared_mount.string();
}

}  // namespace

TEST_CASE("served directory: one on another file system than the system's own is named by its server") {
  test::FakeNode node;
  node.add_file("/proc/self/mountinfo", kMounts);
  CHECK(served_by("/home/alice", node) == "nfs4 10.0.0.11:/home/alice");
  CHECK(served_by("/home/alice/below", node) == "nfs4 10.0.0.11:/home/alice");
  CHECK(served_by("/srv/../home/alice/", node) == "nfs4 10.0.0.11:/home/alice");
  CHECK(served_by("/auto/carol", node) == "autofs auto.home");
  CHECK(served_by("/home/bob", node).find('\n') == std::string::npos);
  CHECK(served_by("/home/bob", node).starts_with("fuse.sshfs bob@host:"));
  CHECK(served_by("/home/alice2", node).empty());
  CHECK(served_by("/srv/data/carol", node).empty());
  CHECK(served_by("/root", node).empty());
}

TEST_CASE("served directory: homes share a mount above them, and none that a user or an automounter can make") {
  test::FakeNode node;
  node.add_file("/proc/self/mountinfo", kMounts);
  node.add_symlink("/remote", "/mnt/far");
  CHECK(shared_mount("/scratch/home/alice", node) == "/scratch");
  CHECK(shared_mount("/scratch/../scratch/bob/", node) == "/scratch");
  for (const char* home :
       {"/home/alice", "/home/alice/", "/home/bob", "/auto/carol", "/auto/dave", "/remote/erin", "/root"}) {
    INFO(home);
    CHECK(shared_mount(home, node).empty());
  }
  const UserPath keys = path_in_home("/scratch/alice", ".ssh/authorized_keys", node);
  CHECK(keys.path() == "/scratch/alice/.ssh/authorized_keys");
  CHECK(keys.served_by == "ext4 /dev/nvme0n1p3");
  CHECK_FALSE(keys.checked);
}

TEST_CASE("served directory: a file system that is unknown counts as served, and none but the system's is touched") {
  test::FakeNode node;
  CHECK(served_by("/home/alice", node).empty());  // A node without /proc.
  node.add_file("/proc/self/mountinfo", kMounts);
  node.set_silent("/home/alice");
  node.set_silent("/mnt/far");
  node.add_symlink("/remote", "/mnt/far");
  CHECK(served_by("/remote/team/carol", node) == "what the link /remote leads to");
  CHECK(served_by("/home/alice/team/carol", node) == "nfs4 10.0.0.11:/home/alice");
  node.add_kernel_file("/proc/self/mountinfo", {"", {}, {}, ErrorCode::kUnsupported});
  CHECK(served_by("/home/carol", node) == "an unknown file system");
  node.set_live(false);
  CHECK(served_by("/home/alice", node).empty());
}

}  // namespace sparkplan
