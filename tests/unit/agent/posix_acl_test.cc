// Whom a POSIX ACL lets write to a file.
#include "engine/agent/node/posix_acl.h"

#include <sys/xattr.h>

#include <cerrno>
#include <vector>

#include "engine/agent/node/local_node.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

constexpr std::uint32_t kNoAclId = 0xFFFFFFFF;  // Of entries without an ID.
constexpr std::uint32_t kAclOwner = 1000;

struct AclEntry {
  std::uint32_t tag = 0;
  std::uint32_t permissions = 0;
  std::uint32_t id = kNoAclId;
};

std::string number_of_bytes(std::uint32_t number, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFFU);
  return bytes;
}

/// As the kernel stores it: the owner, named users, the group, named groups, the mask, all others.
std::string acl_of(const std::vector<AclEntry>& users, const std::vector<AclEntry>& groups, std::uint32_t mask = 7) {
  std::vector<AclEntry> entries{{0x01, 7}};
  entries.insert(entries.end(), users.begin(), users.end());
  entries.push_back({0x04, 5});
  entries.insert(entries.end(), groups.begin(), groups.end());
  entries.push_back({0x10, mask});
  entries.push_back({0x20, 5});
  std::string bytes = number_of_bytes(2, 4);
  for (const AclEntry& entry : entries) {
    bytes += number_of_bytes(entry.tag, 2) + number_of_bytes(entry.permissions, 2) + number_of_bytes(entry.id, 4);
  }
  return bytes;
}

AclEntry user_entry(std::uint32_t id, std::uint32_t permissions) { return {0x02, permissions, id}; }
AclEntry group_entry(std::uint32_t id, std::uint32_t permissions) { return {0x08, permissions, id}; }

}  // namespace

TEST_CASE("acl: a named user or group with write permission is named, within the mask") {
  CHECK(acl_writer_in(acl_of({user_entry(1001, 7)}, {}), kAclOwner) == "user ID 1001");
  CHECK(acl_writer_in(acl_of({user_entry(1001, 2)}, {}, 2), kAclOwner) == "user ID 1001");
  CHECK(acl_writer_in(acl_of({}, {group_entry(70'000, 7)}), kAclOwner) == "group ID 70000");
  CHECK(acl_writer_in(acl_of({user_entry(1001, 5), user_entry(1002, 6)}, {group_entry(4, 7)}), kAclOwner) ==
        "user ID 1002");
  CHECK(acl_writer_in(acl_of({user_entry(1001, 7)}, {group_entry(4, 7)}, 5), kAclOwner).empty());
  CHECK(acl_writer_in(acl_of({user_entry(1001, 5)}, {group_entry(4, 5)}), kAclOwner).empty());
}

TEST_CASE("acl: root, the owner and the group root are no other users") {
  CHECK(acl_writer_in(acl_of({user_entry(0, 7), user_entry(kAclOwner, 7)}, {group_entry(0, 7)}), kAclOwner).empty());
  CHECK(acl_writer_in(acl_of({user_entry(0, 7), user_entry(kAclOwner, 7)}, {}), 0) == "user ID 1000");
  CHECK(acl_writer_in(acl_of({}, {group_entry(kAclOwner, 7)}), kAclOwner) == "group ID 1000");
}

TEST_CASE("acl: a value that cannot be read counts as write permission of an unknown user") {
  const std::string whole = acl_of({user_entry(1001, 5)}, {});
  REQUIRE(acl_writer_in(whole, kAclOwner).empty());
  for (const std::string& broken : {std::string(), whole.substr(0, 3), whole.substr(0, whole.size() - 1), whole + "x",
                                    number_of_bytes(3, 4) + whole.substr(4)}) {
    INFO(broken.size());
    CHECK(acl_writer_in(broken, kAclOwner).starts_with("an unknown user"));
  }
}

TEST_CASE("acl: the status of a directory names the writer of its ACL, and that of others names no one") {
  const test::ScratchDirectory scratch;
  scratch.make_directory("/srv/lab");
  scratch.make_directory("/srv/plain");
  std::filesystem::permissions(scratch / "/srv/plain", std::filesystem::perms(0775));
  const std::string acl = acl_of({user_entry(54'321, 7)}, {});
  const std::string lab = (scratch / "/srv/lab").string();
  if (::setxattr(lab.c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0) != 0) {
    WARN("no ACL can be set here, errno " << errno);
    return;
  }
  const auto node = LocalNode::open(scratch.path());
  REQUIRE(node);
  CHECK(node->status("/srv/lab")->acl_writer == "user ID 54321");
  CHECK(node->user_status({"/srv", "lab"})->acl_writer == "user ID 54321");
  CHECK(node->status("/srv/plain")->acl_writer.empty());
  CHECK(node->status("/srv")->acl_writer.empty());
}

}  // namespace sparkplan
