#include "resources/ssh_trust/shared_home.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/domain/storage/storage.h"
#include "resources/ssh_trust/exports.h"
#include "resources/ssh_trust/key_files.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::size_t kLargestProcFile = std::size_t{8} << 20;
constexpr std::array<std::string_view, 13> kNetworkFileSystems{
    "nfs",    "nfs4", "cifs",     "smb3", "ceph",       "glusterfs", "fuse.glusterfs",
    "lustre", "9p",   "virtiofs", "gpfs", "fuse.sshfs", "beegfs"};

bool is_network(std::string_view type) {
  return std::ranges::find(kNetworkFileSystems, type) != kNetworkFileSystems.end();
}

/// The kernel's boot time in seconds since the epoch; empty if /proc/stat does not have it.
std::string boot_time(const NodeReader& node) {
  constexpr std::string_view kBootTime = "btime ";
  const Result<std::string> statistics = node.read_file("/proc/stat", kLargestProcFile);
  if (!statistics) return {};
  for (const std::string_view line : split_lines(*statistics)) {
    if (line.starts_with(kBootTime)) return std::string(line.substr(kBootTime.size()));
  }
  return {};
}

/// The firmware's UUID of the machine; empty if it is missing or not readable.
std::string machine_identity(const NodeReader& node) {
  const Result<std::string> text = node.read_file("/sys/class/dmi/id/product_uuid");
  return text ? std::string(trim(*text)) : std::string();
}

std::string bounded(std::string text) { return text.size() <= kLongestHomeText ? std::move(text) : sha256(text); }

/// Nothing if the key cannot be read. Two nodes are then compared without it.
std::optional<std::string> key_digest(const Account& account, const NodeReader& node) {
  const Result<std::string> bytes = node.read_user_file(account.in_home(kPrivateKey), kLargestKeyFile);
  if (!bytes) return std::nullopt;
  return sha256("sparkplan: the private key in a home\n" + *bytes);
}

std::string inode_text(const FileStatus& status) {
  return std::to_string(status.inode) + " " + std::to_string(status.changed_at_nanos);
}

}  // namespace

std::optional<std::string> network_name(const std::vector<MountedFileSystem>& mounts,
                                        const std::filesystem::path& directory) {
  const std::string path = directory.string();
  const MountedFileSystem* mount = mount_around(mounts, path);
  if (mount == nullptr || !is_network(mount->type)) return std::nullopt;
  const std::string below = mount->target == "/" ? path : path.substr(mount->target.size());
  const std::string in_source = mount->root + "/" + below;
  std::string name = mount->source;
  for (const std::string_view part : split(in_source, '/')) {
    if (part.empty()) continue;
    if (!name.ends_with('/')) name += '/';
    name += part;
  }
  return mount->type + " " + name;
}

Result<Value> describe_home(const Account& account, const NodeReader& node) {
  SPARK_TRY(const FileStatus home, node.user_status(account.in_home("")));
  // Only containers on one kernel can share a local directory. Without the boot time, two machines made from one disk
  // image would look the same. The kernel's boot_id is not used, because each systemd-nspawn container has its own: a
  // home shared by two containers would not be found. If two machines boot in the same second, the firmware's UUID
  // differs.
  std::string local = boot_time(node) + " " + std::to_string(home.device) + " " + inode_text(home);
  std::string remote = inode_text(home);
  if (const Result<FileStatus> keys = node.user_status(account.in_home(kSshDirectory))) {
    local += " " + inode_text(*keys);
    remote += " " + inode_text(*keys);
  }
  Value description = Value::map({{"path", bounded(account.home.string())}});
  // Without a mount table, the local identity is still compared.
  const Result<std::vector<MountedFileSystem>> mounts = mounted_file_systems(node);
  const std::optional<std::string> network = mounts ? network_name(*mounts, account.home) : std::nullopt;
  if (network) description.set("network", bounded(*network));
  if (std::string machine = machine_identity(node); !machine.empty()) {
    description.set("machine", bounded(std::move(machine)));
  }
  if (auto key = key_digest(account, node)) description.set("key", *std::move(key));
  return description.set("local", bounded(std::move(local))).set("remote", bounded(std::move(remote)));
}

std::vector<std::string_view> identities_of(const Value& home) {
  std::vector<std::string_view> texts;
  for (const std::string_view key : {"network", "local", "remote"}) {
    const Value* value = home.find(key);
    if (value != nullptr && value->is_string()) texts.push_back(*value->string());
  }
  return texts;
}

bool is_same_home(const Value& a, const Value& b) {
  const auto same = [&](std::string_view key) {
    const Value* one = a.find(key);
    const Value* other = b.find(key);
    return one != nullptr && other != nullptr && one->is_string() && *one == *other;
  };
  const Value* key = a.find("key");
  const Value* other_key = b.find("key");
  const bool same_key = key == nullptr ? other_key == nullptr : same("key");
  if (!same_key) return false;
  const bool both_remote = a.find("network") != nullptr && b.find("network") != nullptr;
  const bool other_machine = a.find("machine") != nullptr && b.find("machine") != nullptr && !same("machine");
  return same("network") || (same("local") && !other_machine) || (both_remote && same("remote"));
}

}  // namespace sparkplan::ssh_trust
