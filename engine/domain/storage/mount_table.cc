#include "engine/domain/storage/mount_table.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// Both tables write blanks, tabs, newlines and backslashes in octal: "\040" is a blank.
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

std::vector<std::string> list_of(std::string_view options) {
  std::vector<std::string> list;
  for (const std::string_view option : split(options, ',')) list.push_back(without_octal(option));
  return list;
}

/// Bytes of the table that the mounts of users may have, and those of root.
constexpr std::size_t kMostMountBytes = std::size_t{16} << 20;

/// A user may mount FUSE, at a path of any length. Source: fuse_show_options() of fs/fuse/inode.c.
bool is_made_by_a_user(const MountedFileSystem& mount) {
  return mount.type.starts_with("fuse") && std::ranges::any_of(mount.super_options, [](const std::string& option) {
           return option.starts_with("user_id=") && option != "user_id=0";
         });
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

bool MountedFileSystem::has_option(std::string_view option) const {
  return contains(options, option) || contains(super_options, option);
}

bool MountedFileSystem::read_only() const { return has_option("ro"); }

std::vector<MountedFileSystem> parse_mountinfo(std::string_view text) {
  constexpr std::size_t kFixedFields = 6;
  std::vector<MountedFileSystem> mounts;
  for (const std::string_view line : split_lines(text)) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < kFixedFields || fields.end() - dash < 4) continue;
    mounts.push_back({std::string(fields[2]), without_octal(fields[3]), without_octal(fields[4]), list_of(fields[5]),
                      std::string(dash[1]), without_octal(dash[2]), list_of(dash[3])});
  }
  return mounts;
}

Result<std::vector<MountedFileSystem>> mounted_file_systems(const NodeReader& node) {
  std::vector<MountedFileSystem> mounts;
  std::size_t bytes = 0;
  std::size_t bytes_of_users = 0;
  SPARK_CHECK(node.read_lines("/proc/self/mountinfo", {}, [&](std::string_view line) -> Result<void> {
    for (MountedFileSystem& mount : parse_mountinfo(line)) {
      const bool of_user = is_made_by_a_user(mount);
      std::size_t& sum = of_user ? bytes_of_users : bytes;
      sum += line.size();
      if (sum <= kMostMountBytes) {
        mounts.push_back(std::move(mount));
      } else if (!of_user) {
        return failure(ErrorCode::kUnsupported,
                       "the table of mounts has more than " + std::to_string(kMostMountBytes) + " bytes");
      }
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

std::vector<FstabLine> parse_fstab(std::string_view text) {
  std::vector<FstabLine> lines;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const auto words = words_of(line);
    if (words.size() < 2 || words[0].starts_with('#')) continue;
    std::string target = without_octal(words[1]);
    while (target.size() > 1 && target.ends_with('/')) target.pop_back();
    FstabLine one{number, without_octal(words[0]), std::move(target), {}, {}};
    if (words.size() > 2) one.type = words[2];
    if (words.size() > 3) one.options = list_of(words[3]);
    lines.push_back(std::move(one));
  }
  return lines;
}

Result<std::string> whole_disk_of(const std::string& name, const NodeReader& node) {
  SPARK_TRY(const bool is_partition, node.is_there("/sys/class/block/" + name + "/partition"));
  if (!is_partition) return name;
  // "nvme1n1p2": a disk whose name ends in a digit has a "p" before the number.
  return name.substr(0, name.rfind('p'));
}

Result<std::string> subsystem_behind(const std::string& device, const NodeReader& node) {
  std::string name = device.substr(device.rfind('/') + 1);
  if (!name.starts_with("nvme")) return std::string();
  SPARK_TRY(name, whole_disk_of(name, node));
  SPARK_TRY(const std::string nqn, or_empty(node.read_file("/sys/class/block/" + name + "/device/subsysnqn")));
  return std::string(trim(nqn));
}

}  // namespace sparkplan
