// The directories above a target, and above the source of a bind: users who could put a link there.
#include <algorithm>

#include "engine/core/text.h"
#include "engine/node/mount_table.h"
#include "resources/mount/mount_checks.h"
#include "resources/mount/mount_steps.h"
#include "resources/mount/mount_unit.h"
#include "resources/mount/mount_way.h"
#include "tests/support/fake_storage.h"
#include "tests/unit/resources/storage/storage_entries.h"

namespace sparkplan::test {
namespace {

constexpr std::uint32_t kAlice = 1001;
constexpr std::uint32_t kLoginUser = 1000;

FakeNode node_of_two_users() {
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/etc/passwd",
                "root:x:0:0::/root:/bin/sh\nnvidia:x:1000:1000::/home/nvidia:/bin/sh\n"
                "alice:x:1001:1001::/home/alice:/bin/sh\n");
  node.put_file("/etc/group", "root:x:0:\nteam:x:50:nvidia,alice\nnvidia:x:1000:\nalice:x:1001:\n");
  node.set_login_user(kLoginUser);
  return node;
}

Observation tmpfs_at(const std::string& target) {
  const auto mounts = mounts_of("  - {target: " + target + ", source: {tmpfs: {size: 1MiB}}}\n");
  return Present{Value::map({{"unit", mount::render_unit(mounts.front())}, {"enabled", true}, {"state", "mounted"}}),
                 {}};
}

/// The reason why a tmpfs is not mounted there, the same in the plan, before the first write and right before the
/// mount.
std::string refusal(const std::string& target, const FakeNode& at) {
  FakeNode node = at;
  const ObservedType observed = builtin_registry().find("mount")->observe({{target}}, node);
  const auto* planned = std::get_if<Error>(&observed.resources.at(target));
  Step step;
  step.type = "mount";
  step.artifact = mount::mount_artifact(target);
  step.after = tmpfs_at(target);
  const auto objections = mount::objections_to(std::vector<Step>{step}, node);
  const auto made = mount::make_mount(target, step.after, node);
  const std::string why = made ? std::string() : made.error().message;
  CHECK((planned == nullptr ? std::string() : planned->message) == why);
  CHECK((objections.empty() ? std::string() : objections.front().error.message) == why);
  if (!made) {
    CHECK(made.error().code == ErrorCode::kRefused);
    CHECK(made.error().hint.ends_with(", or mount at another directory"));
  }
  CHECK((mounted_at(*mounted_file_systems(node), target) != nullptr) == made.has_value());
  return why;
}

}  // namespace

TEST_CASE("mount: a target that another user could replace with a link is refused in the plan and before the mount",
          "[storage]") {
  FakeNode node = node_of_two_users();
  SECTION("a directory that a group can write to") {
    node.add_directory_of_group("/data", 02775, 50);
    CHECK(refusal("/data/scratch", node) ==
          "/data is writable by the members of group ID 50, who could replace /data/scratch with a symbolic link");
  }
  SECTION("a directory that all users can write to") {
    node.add_directory_of_group("/data", 0777, 0);
    CHECK(refusal("/data/a/b", node) ==
          "/data is writable by all users, who could replace /data/a with a symbolic link");
  }
  SECTION("a home of a user who is not the login user") {
    node.add_directory_of_user("/home/alice", 0750, kAlice, kAlice);
    CHECK(refusal("/home/alice/scratch", node) ==
          "/home/alice belongs to user ID 1001 (alice), who could replace /home/alice/scratch with a symbolic link");
  }
  SECTION("a directory with an ACL") {
    node.add_directory("/data");
    node.add_directory_of_group("/data", 0775, 0);
    node.set_acl_writer("/data", "user ID 1001");
    CHECK(refusal("/data/scratch", node) ==
          "/data has an ACL and is writable by user ID 1001, who could replace /data/scratch with a symbolic link");
  }
  SECTION("another user's directory in one with the sticky bit") {
    node.add_directory_of_group("/shared", 01777, 0);
    node.add_directory_of_user("/shared/scratch", 0755, kAlice, kAlice);
    CHECK(refusal("/shared/scratch", node) ==
          "/shared/scratch belongs to user ID 1001 (alice), who could replace /shared/scratch with a symbolic link");
  }
  SECTION("the login user's group, if another user is in it") {
    node.put_file("/etc/group", "nvidia:x:1000:alice\n");
    node.add_directory_of_user("/home/nvidia", 0775, kLoginUser, kLoginUser);
    CHECK(
        refusal("/home/nvidia/scratch", node).starts_with("/home/nvidia is writable by the members of group ID 1000,"));
    node.put_file("/etc/group", "nvidia:x:1000:\n");
    node.put_file("/etc/passwd", *node.text_of("/etc/passwd") + "bob:x:1002:1000::/home/bob:/bin/sh\n");
    CHECK(
        refusal("/home/nvidia/scratch", node).starts_with("/home/nvidia is writable by the members of group ID 1000,"));
  }
}

TEST_CASE("mount: a target that only root and the login user could replace is mounted", "[storage]") {
  FakeNode node = node_of_two_users();
  SECTION("directories of root, and one of another user at the target itself") {
    node.add_directory_of_user("/srv/alice", 0700, kAlice, kAlice);
    CHECK(refusal("/srv/alice", node).empty());
  }
  SECTION("the home of the login user, with the modes that Ubuntu gives") {
    node.add_directory_of_user("/home/nvidia", 0750, kLoginUser, kLoginUser);
    node.add_directory_of_user("/home/nvidia/cache", 0775, kLoginUser, kLoginUser);
    CHECK(refusal("/home/nvidia/cache/hf", node).empty());
  }
  SECTION("a directory of root in one with the sticky bit") {
    node.add_directory_of_group("/shared", 01777, 0);
    node.add_directory("/shared/scratch");
    node.add_directory_of_group("/shared/scratch", 0755, 0);
    CHECK(refusal("/shared/scratch/a", node).empty());
    CHECK(refusal("/shared/scratch", node).empty());
  }
  SECTION("a directory that its group root can write to") {
    node.add_directory_of_group("/data", 0775, 0);
    CHECK(refusal("/data/scratch", node).empty());
  }
}

TEST_CASE("mount: the missing directory of a target in one with the sticky bit is made by root, before the mount",
          "[storage]") {
  FakeNode node = node_of_two_users();
  node.add_directory_of_group("/shared", 01777, 0);
  node.clear_log();
  REQUIRE(mount::make_mount("/shared/a/b", tmpfs_at("/shared/a/b"), node));
  const auto at = [&](const FakeNode::Write& write) {
    return std::ranges::find(node.log(), write) - node.log().begin();
  };
  CHECK(at({"make", "/shared/a"}) < at({"make", "/shared/a/b"}));
  CHECK(at({"make", "/shared/a/b"}) < at({"run", "systemctl start -- shared-a-b.mount"}));
  CHECK(at({"run", "systemctl start -- shared-a-b.mount"}) < static_cast<std::ptrdiff_t>(node.log().size()));
}

TEST_CASE("mount: a mount that is there already stays as it is, with any owner of the directories above it",
          "[storage]") {
  FakeNode node = node_of_two_users();
  const Observation wanted = tmpfs_at("/data/scratch");
  REQUIRE(mount::make_mount("/data/scratch", wanted, node));
  node.add_directory_of_group("/data", 02775, 50);
  const ObservedType observed = builtin_registry().find("mount")->observe({{"/data/scratch"}}, node);
  const auto* there = std::get_if<Present>(&observed.resources.at("/data/scratch"));
  REQUIRE(there != nullptr);
  CHECK(there->value == std::get<Present>(wanted).value);
  CHECK(mount::make_mount("/data/scratch", wanted, node));
  Step step;
  step.type = "mount";
  step.artifact = mount::mount_artifact("/data/scratch");
  step.before = step.after = wanted;
  CHECK(mount::objections_to(std::vector<Step>{step}, node).empty());
}

TEST_CASE("mount: a mount that a link led elsewhere is detached before any program runs, and the error names it",
          "[storage]") {
  FakeNode node = node_of_two_users();
  const bool fails = GENERATE(false, true);
  node.add_program("systemctl", [&](const FakeNode::Call& call) -> Result<CommandOutput> {
    if (call.argv.at(1) != "start") return CommandOutput{};
    add_mount(*call.writable, "tmpfs", "/run/user/1001", "tmpfs", "rw,size=65536");
    add_mount(*call.writable, "tmpfs", "/usr/local/sbin", "tmpfs", "rw,size=1048576");
    call.writable->clear_log();
    return CommandOutput{fails ? 1 : 0, {}, fails ? "Job for srv-a.mount failed.\n" : ""};
  });
  add_mount(node, "tmpfs", "/srv/other", "tmpfs", "rw,size=1048576");
  const auto made = mount::make_mount("/srv/a", tmpfs_at("/srv/a"), node);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == ErrorCode::kVerifyFailed);
  CHECK(made.error().message ==
        "a symbolic link led the mount of /srv/a to /usr/local/sbin, where it is unmounted again");
  const auto mounts = mounted_file_systems(node);
  REQUIRE(mounts);
  CHECK(mounted_at(*mounts, "/usr/local/sbin") == nullptr);
  CHECK(mounted_at(*mounts, "/srv/other") != nullptr);
  CHECK(mounted_at(*mounts, "/run/user/1001") != nullptr);
  CHECK(node.log() == std::vector<FakeNode::Write>{{"detach", "/usr/local/sbin"}});
}

TEST_CASE("mount: a mount of an automounter or of a user that looks like the failed one is not detached", "[storage]") {
  FakeNode node = node_of_two_users();
  node.add_directory_of_user("/home/alice/project", 0750, kAlice, kAlice);
  const bool binds = GENERATE(false, true);
  add_mount(node, "auto.data", "/auto", "autofs", "rw");
  const auto before = mounted_file_systems(node);
  REQUIRE(before);
  add_mount(node, "10.0.0.9:/data", "/auto/data", "nfs4", "rw");
  add_mount(node, "alice", "/home/alice/project", "fuse.x", "rw,user_id=1001");
  const std::string source = binds ? "{bind: /home/alice/project}" : "{nfs: {server: 10.0.0.9, path: /data}}";
  const auto mounts = mounts_of("  - {target: /srv/a, source: " + source + "}\n");
  const auto unit = mount::parse_unit(mount::render_unit(mounts.front()));
  const auto done = mount::detach_strays(unit, "/srv/a", *before, node);
  INFO((done ? "" : done.error().describe()));
  CHECK(done);
  CHECK(mounted_at(*mounted_file_systems(node), "/auto/data") != nullptr);
  CHECK(mounted_at(*mounted_file_systems(node), "/home/alice/project") != nullptr);
}

TEST_CASE("mount: a plan warns of a bind whose source another user could replace with a link, and names the user",
          "[storage]") {
  FakeNode node = node_of_two_users();
  node.add_directory_of_user("/home/alice", 0750, kAlice, kAlice);
  const auto warnings = [&](const std::string& source) {
    const auto mounts = mounts_of("  - {target: /srv/data, source: {bind: " + source + "}}\n");
    const Value wanted = Value::map({{"unit", mount::render_unit(mounts.front())}});
    std::string all;
    for (const Ineffective& one :
         builtin_registry().find("mount")->foresee({{"mount", {{"/srv/data", wanted}}}}, node)) {
      all += one.name + " " + one.code + " " + one.message + " / " + one.hint;
    }
    return all;
  };
  CHECK(warnings("/home/alice/project") ==
        "/srv/data mount.weak-source /home/alice belongs to user ID 1001 (alice), who could replace "
        "/home/alice/project with a symbolic link: the bind would show another directory from the next boot on / "
        "chown root /home/alice, or bind another directory");
  node.add_directory_of_user("/srv/project", 0700, kAlice, kAlice);
  CHECK(warnings("/srv/project").empty());
  node.add_directory_of_user("/home/nvidia", 0750, kLoginUser, kLoginUser);
  CHECK(warnings("/home/nvidia/models").empty());
  SECTION("a source in a mount of a server is not checked") {
    add_mount(node, "10.0.0.9:/home", "/home", "nfs4", "rw");
    CHECK(warnings("/home/alice/project").empty());
  }
}

TEST_CASE("mount: a plan warns of an own mount that is gone and will be refused", "[storage]") {
  FakeNode node = node_of_two_users();
  const auto wanted = std::get<Present>(tmpfs_at("/data/scratch")).value;
  const auto warned = [&] {
    return !builtin_registry().find("mount")->foresee({{"mount", {{"/data/scratch", wanted}}}}, node).empty();
  };
  CHECK_FALSE(warned());
  node.add_directory_of_group("/data", 02775, 50);
  CHECK(warned());
  add_mount(node, "tmpfs", "/data/scratch", "tmpfs", "rw,size=1048576");
  CHECK_FALSE(warned());
}

}  // namespace sparkplan::test
