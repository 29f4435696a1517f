#include "engine/node/mount_table.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::vector<std::string> list_of(std::string_view options) {
  std::vector<std::string> list;
  for (const std::string_view option : split(options, ',')) list.push_back(without_octal(option));
  return list;
}

/// Bytes of the table that the mounts of users may have, those that servers make appear, and all others.
constexpr std::size_t kMostMountBytes = std::size_t{16} << 20;
/// Of those that appear below one mount, so that its server leaves room for those of other servers.
constexpr std::size_t kMostBytesBelow = kMostMountBytes / 8;

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Zero, which no mount has, for a text that is no number.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

/// The bytes that further mounts of the table may have.
class Room {
 public:
  /// False for a mount that is to be left out. Errors: kUnsupported for one that must not be.
  Result<bool> take(const MountedFileSystem& mount, std::size_t bytes) {
    if (mount.made_by_a_user()) return adds(bytes_of_users_, bytes, kMostMountBytes);
    if (const auto below = server_mount_around(mount); below != below_.end()) {
      return adds(below->second, bytes, kMostBytesBelow) && adds(bytes_of_servers_, bytes, kMostMountBytes);
    }
    if (is_nfs(mount)) below_.emplace(mount.target, 0);
    if (adds(bytes_, bytes, kMostMountBytes)) return true;
    return failure(ErrorCode::kUnsupported,
                   "the table of mounts has more than " + std::to_string(kMostMountBytes) + " bytes");
  }

 private:
  /// The target of an outermost mount of NFS -> bytes of the mounts of NFS below it.
  using Below = std::map<std::string, std::size_t, std::less<>>;

  static bool is_nfs(const MountedFileSystem& mount) { return mount.type.starts_with("nfs"); }

  static bool adds(std::size_t& sum, std::size_t bytes, std::size_t most) {
    if (bytes > most - sum) return false;
    sum += bytes;
    return true;
  }

  /// The kernel makes such a mount by itself where the server says that another file system begins. It looks like a
  /// mount by hand. A root from a server is around all mounts, also those of other servers, so it does not count.
  /// Source: nfs_d_automount() in fs/nfs/namespace.c.
  Below::iterator server_mount_around(const MountedFileSystem& mount) {
    if (!is_nfs(mount)) return below_.end();
    const std::string_view target = mount.target;
    for (std::size_t slash = target.find('/', 1); slash != std::string_view::npos;
         slash = target.find('/', slash + 1)) {
      if (const auto found = below_.find(target.substr(0, slash)); found != below_.end()) return found;
    }
    return below_.end();
  }

  std::size_t bytes_ = 0;
  std::size_t bytes_of_users_ = 0;
  std::size_t bytes_of_servers_ = 0;
  Below below_;
};

}  // namespace

bool MountedFileSystem::has_option(std::string_view option) const {
  return contains(options, option) || contains(super_options, option);
}

bool MountedFileSystem::read_only() const { return has_option("ro"); }

bool MountedFileSystem::made_by_a_user() const {
  return type.starts_with("fuse") && std::ranges::any_of(super_options, [](const std::string& option) {
           return option.starts_with("user_id=") && option != "user_id=0";
         });
}

std::vector<MountedFileSystem> parse_mountinfo(std::string_view text) {
  constexpr std::size_t kFixedFields = 6;
  std::vector<MountedFileSystem> mounts;
  for (const std::string_view line : split_lines(text)) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < kFixedFields || fields.end() - dash < 4) continue;
    mounts.push_back({std::string(fields[2]), without_octal(fields[3]), without_octal(fields[4]), list_of(fields[5]),
                      std::string(dash[1]), without_octal(dash[2]), list_of(dash[3]), number_of(fields[0])});
  }
  return mounts;
}

Result<std::vector<MountedFileSystem>> mounted_file_systems(const NodeReader& node) {
  std::vector<MountedFileSystem> mounts;
  Room room;
  SPARK_CHECK(node.read_lines("/proc/self/mountinfo", {}, [&](std::string_view line) -> Result<void> {
    for (MountedFileSystem& mount : parse_mountinfo(line)) {
      SPARK_TRY(const bool taken, room.take(mount, line.size()));
      if (taken) mounts.push_back(std::move(mount));
    }
    return {};
  }));
  return mounts;
}

const MountedFileSystem* mounted_at(const std::vector<MountedFileSystem>& mounts, std::string_view target) {
  const auto found =
      std::find_if(mounts.rbegin(), mounts.rend(), [&](const MountedFileSystem& one) { return one.target == target; });
  return found == mounts.rend() ? nullptr : &*found;
}

const MountedFileSystem* mount_around(const std::vector<MountedFileSystem>& mounts, std::string_view path) {
  const MountedFileSystem* found = nullptr;
  for (const MountedFileSystem& mount : mounts) {
    if (mount.target != "/" && !is_within(path, mount.target)) continue;
    if (found == nullptr || mount.target.size() >= found->target.size()) found = &mount;
  }
  return found;
}

std::string without_octal(std::string_view text) {
  const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace sparkplan
