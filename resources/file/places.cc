#include "resources/file/places.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace sparkplan::file {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kOthersWrite = 0002;
constexpr std::uint32_t kSticky = 01000;

struct Place {
  std::string_view path;  ///< Itself, and all below.
  std::string_view reason;
  std::string_view hint;
};

constexpr std::string_view kKernel = "is the kernel's, and no file that stays";
constexpr std::string_view kUseSysctl = "kernel parameters belong into the section sysctl";
constexpr std::string_view kVolatile = "is emptied by the system";
constexpr std::string_view kElsewhere = "choose a directory that stays, such as /etc";
constexpr std::string_view kHome = "is in a user's home, where links can lead anywhere";
constexpr std::string_view kNoHomes = "environment variables belong into profile_env, keys into ssh_trust";
constexpr std::string_view kAccounts = "holds accounts: an error in it locks everybody out";
constexpr std::string_view kUseAccountTools = "use useradd, usermod, groupadd and chpasswd";
constexpr std::string_view kSudo = "decides who may use sudo: an error in it takes sudo away from everybody";
constexpr std::string_view kUseVisudo = "edit it with visudo, which checks it";
constexpr std::string_view kLogins = "decides who can log in: an error in it locks everybody out";
constexpr std::string_view kKeepASession = "change it by hand, with a second session open";
constexpr std::string_view kHostKey = "is the node's SSH host key: without it nobody who checks it can log in";
constexpr std::string_view kLoader = "decides which libraries every program gets: an error in it stops them all";
constexpr std::string_view kReach = "decides whether the node can be reached, and nothing puts it back";
constexpr std::string_view kUseFabric = "the fabric belongs into the section fabric";
constexpr std::string_view kBoot = "is needed to boot";
constexpr std::string_view kByHand = "change it by hand";
constexpr std::string_view kPackages = "belongs to packages, whose next upgrade writes over it";
constexpr std::string_view kUseEtc = "use /etc or /usr/local";
constexpr std::string_view kDatabase = "is the package system's own record";
constexpr std::string_view kUsePackages = "use the section packages";
constexpr std::string_view kOurs = "is sparkplan's own";
constexpr std::string_view kNothing = "leave it alone";

constexpr std::array kForbidden{
    Place{"/proc", kKernel, kUseSysctl},
    Place{"/sys", kKernel, kUseSysctl},
    Place{"/dev", kKernel, kElsewhere},
    Place{"/run", kVolatile, kElsewhere},
    Place{"/tmp", kVolatile, kElsewhere},
    Place{"/var/run", kVolatile, kElsewhere},
    Place{"/var/lock", kVolatile, kElsewhere},
    Place{"/var/tmp", kVolatile, kElsewhere},
    Place{"/var/cache", kVolatile, kElsewhere},
    Place{"/home", kHome, kNoHomes},
    Place{"/root", kHome, kNoHomes},
    Place{"/etc/passwd", kAccounts, kUseAccountTools},
    Place{"/etc/passwd-", kAccounts, kUseAccountTools},
    Place{"/etc/shadow", kAccounts, kUseAccountTools},
    Place{"/etc/shadow-", kAccounts, kUseAccountTools},
    Place{"/etc/group", kAccounts, kUseAccountTools},
    Place{"/etc/group-", kAccounts, kUseAccountTools},
    Place{"/etc/gshadow", kAccounts, kUseAccountTools},
    Place{"/etc/gshadow-", kAccounts, kUseAccountTools},
    Place{"/etc/sudoers", kSudo, kUseVisudo},
    Place{"/etc/sudoers.d", kSudo, kUseVisudo},
    Place{"/etc/sudo.conf", kSudo, kByHand},
    Place{"/etc/ssh/sshd_config", kLogins, kKeepASession},
    Place{"/etc/ssh/sshd_config.d", kLogins, kKeepASession},
    Place{"/etc/default/ssh", kLogins, kKeepASession},
    Place{"/etc/ssh/ssh_host_ed25519_key", kHostKey, kNothing},
    Place{"/etc/ssh/ssh_host_ecdsa_key", kHostKey, kNothing},
    Place{"/etc/ssh/ssh_host_rsa_key", kHostKey, kNothing},
    Place{"/etc/ssh/ssh_host_dsa_key", kHostKey, kNothing},
    Place{"/etc/pam.conf", kLogins, kKeepASession},
    Place{"/etc/pam.d", kLogins, kKeepASession},
    Place{"/etc/security/access.conf", kLogins, kKeepASession},
    Place{"/etc/security/pam_env.conf", kLogins, kKeepASession},
    Place{"/etc/profile", kLogins, kKeepASession},
    Place{"/etc/nsswitch.conf", kLogins, kKeepASession},
    Place{"/etc/nologin", kLogins, kKeepASession},
    Place{"/etc/shells", kLogins, kKeepASession},
    Place{"/etc/hosts.deny", kLogins, kKeepASession},
    Place{"/etc/ld.so.preload", "is loaded into every program: an error in it stops them all", kByHand},
    Place{"/etc/ld.so.cache", kVolatile, kElsewhere},
    Place{"/etc/fstab", "stops the boot where an error is in it", "mounts belong into the section storage"},
    Place{"/etc/crypttab", kBoot, kByHand},
    Place{"/etc/machine-id", "is what tells this machine from all others", kNothing},
    Place{"/etc/ld.so.conf", kLoader, kByHand},
    Place{"/etc/ld.so.conf.d", kLoader, kByHand},
    Place{"/etc/default/grub", kBoot, kByHand},
    Place{"/etc/default/grub.d", kBoot, kByHand},
    Place{"/etc/netplan", kReach, kUseFabric},
    Place{"/etc/network", kReach, kUseFabric},
    Place{"/etc/systemd/network", kReach, kUseFabric},
    Place{"/etc/NetworkManager/system-connections", kReach, kUseFabric},
    Place{"/etc/nftables.conf", kReach, "ufw's rules for the fabric belong into the section firewall"},
    Place{"/etc/ufw", kReach, "its rules for the fabric belong into the section firewall"},
    Place{"/etc/iptables", kReach, kByHand},
    Place{"/boot", kBoot, kByHand},
    Place{"/efi", kBoot, kByHand},
    Place{"/bin", kPackages, kUseEtc},
    Place{"/sbin", kPackages, kUseEtc},
    Place{"/lib", kPackages, kUseEtc},
    Place{"/lib32", kPackages, kUseEtc},
    Place{"/lib64", kPackages, kUseEtc},
    Place{"/libx32", kPackages, kUseEtc},
    Place{"/usr/bin", kPackages, kUseEtc},
    Place{"/usr/sbin", kPackages, kUseEtc},
    Place{"/usr/lib", kPackages, kUseEtc},
    Place{"/usr/lib32", kPackages, kUseEtc},
    Place{"/usr/lib64", kPackages, kUseEtc},
    Place{"/usr/libx32", kPackages, kUseEtc},
    Place{"/usr/libexec", kPackages, kUseEtc},
    Place{"/usr/include", kPackages, kUseEtc},
    Place{"/var/lib/dpkg", kDatabase, kUsePackages},
    Place{"/var/lib/apt", kDatabase, kUsePackages},
    Place{"/var/lib/sparkplan", kOurs, kNothing},
    Place{"/usr/local/libexec/sparkplan", kOurs, kNothing},
};

bool is_at_or_below(const std::string& path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

tl::unexpected<Error> refused(const fs::path& directory, const std::string& why, std::string hint) {
  return failure(ErrorCode::kRefused, directory.string() + " " + why, std::move(hint));
}

/// True when it is there.
Result<bool> check_directory(const fs::path& directory, const NodeReader& node) {
  const Result<FileStatus> status = node.status(directory);
  if (!status) {
    if (status.error().code == ErrorCode::kNotFound) return false;
    return failure(status.error());
  }
  if (status->kind == FileStatus::Kind::kSymlink) {
    return refused(directory, "is a symbolic link, and the file would be elsewhere", "write the path that it leads to");
  }
  if (status->kind != FileStatus::Kind::kDirectory) return refused(directory, "is no directory", "move it away");
  if (status->uid != 0) {
    return refused(directory,
                   "belongs to user number " + std::to_string(status->uid) + ", who could put a link in the file's way",
                   "choose a directory that is root's");
  }
  if ((status->mode & kOthersWrite) != 0 && (status->mode & kSticky) == 0) {
    return refused(directory, "can be written by everybody", "chmod o-w it, or choose another");
  }
  return true;
}

}  // namespace

std::optional<Objection> objection_to(const std::string& path) {
  // ".." is the loader's to refuse.
  if (fs::path(path).lexically_normal().string() != path || path.ends_with('/') || path.starts_with("//")) {
    return Objection{"file.path", "is not the plain path of a file",
                     "write it without \"//\", \"/./\" and a \"/\" at its end"};
  }
  const auto found = std::find_if(kForbidden.begin(), kForbidden.end(),
                                  [&](const Place& place) { return is_at_or_below(path, place.path); });
  if (found == kForbidden.end()) return std::nullopt;
  return Objection{"file.place", std::string(found->reason), std::string(found->hint)};
}

Result<bool> check_directories(const std::string& path, const NodeReader& node) {
  const fs::path directory = fs::path(path).parent_path();
  fs::path so_far = "/";
  for (const fs::path& part : directory.relative_path()) {
    so_far /= part;
    SPARK_TRY(const bool there, check_directory(so_far, node));
    if (!there) return false;
  }
  return true;
}

}  // namespace sparkplan::file
