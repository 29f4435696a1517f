#include "engine/agent/node/posix_acl.h"

#include <sys/xattr.h>

#include <cerrno>
#include <cstddef>

namespace sparkplan {
namespace {

constexpr const char* kAccessAcl = "system.posix_acl_access";
/// XATTR_SIZE_MAX: the kernel has no longer value.
constexpr std::size_t kLongestAcl = std::size_t{64} << 10;
constexpr std::size_t kAclHeader = 4;  ///< The version.
constexpr std::size_t kAclEntry = 8;   ///< Tag and permissions with 16 bits each, and an ID with 32.
constexpr std::uint32_t kAclVersion = 2;
constexpr std::uint32_t kAclUser = 0x02;
constexpr std::uint32_t kAclGroup = 0x08;
constexpr std::uint32_t kAclMask = 0x10;
constexpr std::uint32_t kAclWrite = 2;

std::string unknown_writer() { return "an unknown user, because its ACL cannot be read"; }

/// A little-endian number of `size` bytes. The text is long enough.
std::uint32_t acl_number(std::string_view text, std::size_t at, std::size_t size) {
  std::uint32_t number = 0;
  for (std::size_t i = size; i > 0; --i) number = number << 8U | static_cast<unsigned char>(text[at + i - 1]);
  return number;
}

}  // namespace

std::string acl_writer_in(std::string_view acl, std::uint32_t owner) {
  const bool is_whole = acl.size() >= kAclHeader && (acl.size() - kAclHeader) % kAclEntry == 0;
  if (!is_whole || acl_number(acl, 0, 4) != kAclVersion) return unknown_writer();
  std::string writer;
  std::uint32_t mask = kAclWrite;
  for (std::size_t at = kAclHeader; at < acl.size(); at += kAclEntry) {
    const std::uint32_t tag = acl_number(acl, at, 2);
    const std::uint32_t permissions = acl_number(acl, at + 2, 2);
    const std::uint32_t id = acl_number(acl, at + 4, 4);
    if (tag == kAclMask) mask = permissions;
    if ((permissions & kAclWrite) == 0 || !writer.empty() || id == 0) continue;
    if (tag == kAclUser && id != owner) writer = "user ID " + std::to_string(id);
    if (tag == kAclGroup) writer = "group ID " + std::to_string(id);
  }
  return (mask & kAclWrite) != 0 ? writer : std::string();
}

std::string acl_writer_of(int file, std::uint32_t owner) {
  // fgetxattr() refuses a descriptor with O_PATH.
  const std::string same = "/proc/self/fd/" + std::to_string(file);
  std::string acl(kLongestAcl, '\0');
  const ssize_t size = ::getxattr(same.c_str(), kAccessAcl, acl.data(), acl.size());
  if (size >= 0) return acl_writer_in(std::string_view(acl).substr(0, static_cast<std::size_t>(size)), owner);
  return errno == ENODATA || errno == ENOTSUP ? std::string() : unknown_writer();
}

}  // namespace sparkplan
