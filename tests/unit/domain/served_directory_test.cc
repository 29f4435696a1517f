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
    "33 22 0:52 / /auto rw shared:9 - autofs auto.home rw\n";

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
