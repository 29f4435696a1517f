#include "resources/file/places.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/resource/directory_writers.h"

namespace sparkplan::file {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string_view path;  ///< This path and everything below it.
  std::string_view reason;
  std::string_view hint;
};

constexpr std::string_view kKernel = "is provided by the kernel and does not persist";
constexpr std::string_view kUseSysctl = "set kernel parameters in the section sysctl";
constexpr std::string_view kVolatile = "does not persist: the system clears or rewrites it";
constexpr std::string_view kElsewhere = "choose a permanent directory, such as /etc";
constexpr std::string_view kHome = "is in a user's home, where links can lead anywhere";
constexpr std::string_view kNoHomes = "set environment variables in profile_env and SSH keys in ssh_trust";
constexpr std::string_view kAccounts = "holds accounts: an error in it locks all users out";
constexpr std::string_view kUseAccountTools = "use useradd, usermod, groupadd and chpasswd";
constexpr std::string_view kSudo = "controls sudo: an error in it disables sudo for all users";
constexpr std::string_view kUseVisudo = "edit it with visudo, which checks it";
constexpr std::string_view kLogins = "controls logins: an error in it locks all users out";
constexpr std::string_view kKeepASession = "change it by hand, with a second session open";
constexpr std::string_view kHostKey = "is the node's SSH host key: without it, clients that check it cannot log in";
constexpr std::string_view kLoader = "selects the libraries of every program: an error in it breaks all programs";
constexpr std::string_view kReach = "controls whether the node is reachable, and has no automatic rollback";
constexpr std::string_view kUseFabric = "configure the fabric in the section fabric";
constexpr std::string_view kBoot = "is needed to boot";
constexpr std::string_view kByHand = "change it by hand";
constexpr std::string_view kPackages = "belongs to packages, and their next upgrade overwrites it";
constexpr std::string_view kUseEtc = "use /etc or /usr/local";
constexpr std::string_view kDatabase = "is the database of the package system";
constexpr std::string_view kUsePackages = "use the section packages";
constexpr std::string_view kOurs = "belongs to sparkplan itself";
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
    Place{"/etc/ld.so.preload", "is loaded into every program: an error in it breaks all programs", kByHand},
    Place{"/etc/ld.so.cache", kVolatile, kElsewhere},
    Place{"/etc/fstab", "stops the boot if it contains an error", "configure mounts in the section storage"},
    Place{"/etc/crypttab", kBoot, kByHand},
    Place{"/etc/machine-id", "identifies this machine", kNothing},
    Place{"/etc/ld.so.conf", kLoader, kByHand},
    Place{"/etc/ld.so.conf.d", kLoader, kByHand},
    Place{"/etc/default/grub", kBoot, kByHand},
    Place{"/etc/default/grub.d", kBoot, kByHand},
    Place{"/etc/netplan", kReach, kUseFabric},
    Place{"/etc/network", kReach, kUseFabric},
    Place{"/etc/systemd/network", kReach, kUseFabric},
    Place{"/etc/NetworkManager/system-connections", kReach, kUseFabric},
    Place{"/etc/nftables.conf", kReach, "set ufw's rules for the fabric in the section firewall"},
    Place{"/etc/ufw", kReach, "set its rules for the fabric in the section firewall"},
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

/// True if the directory exists. `is_last`: it holds the file itself.
Result<bool> check_directory(const fs::path& directory, bool is_last, const NodeReader& node) {
  SPARK_TRY(const auto status, if_there(node.status(directory)));
  if (!status) return false;
  if (status->kind == FileStatus::Kind::kSymlink) {
    return refused(directory, "is a symbolic link, so the file would go elsewhere", "write the path that it points to");
  }
  if (status->kind != FileStatus::Kind::kDirectory) return refused(directory, "is not a directory", "move it away");
  const auto writer = writer_of(*status);
  if (!writer) return true;
  using Kind = DirectoryWriter::Kind;
  if (writer->kind == Kind::kOwner) {
    return refused(directory,
                   "belongs to user ID " + std::to_string(writer->id) + ", who could replace it with a symbolic link",
                   "choose a directory owned by root");
  }
  if (writer->kind == Kind::kAllUsers) {
    return refused(directory, "is writable by all users", "chmod o-w it, or choose another");
  }
  // A member could replace the next directory by a link while the run goes on. In the last one, root follows no link.
  if (is_last) return true;
  if (writer->kind == Kind::kGroup) {
    return refused(directory,
                   "is writable by group ID " + std::to_string(writer->id) +
                       ", whose members could replace a directory in it with a symbolic link",
                   "chmod g-w it, or choose another");
  }
  return refused(directory,
                 "has an ACL and is writable by " + writer->named +
                     ", so a directory in it could be replaced with a symbolic link",
                 "setfacl -b " + directory.string() + ", or choose another directory");
}

constexpr std::string_view kLogindFolder = "/etc/systemd/logind.conf.d/";
/// systemd makes this link each time it starts the unit. Source: systemd, src/core/unit.c, unit_export_invocation_id().
constexpr std::string_view kLogindStarted = "/run/systemd/units/invocation:systemd-logind.service";
constexpr std::chrono::seconds kRestartDeadline{30};

std::vector<std::string> restart_command() { return {"systemctl", "restart", std::string(kLogind)}; }

Result<void> outcome_of_restart(const Result<CommandOutput>& output) {
  if (!output) return failure(output.error());
  if (output->exit_status == 0) return {};
  return failure(ErrorCode::kFailed,
                 "systemctl restart " + std::string(kLogind) + ": " + printable(trim(output->standard_error)));
}

}  // namespace

std::optional<Objection> objection_to(const std::string& path) {
  // The loader refuses paths with "..".
  if (fs::path(path).lexically_normal().string() != path || path.ends_with('/') || path.starts_with("//")) {
    return Objection{"file.path", "is not a plain file path", "write it without \"//\", \"/./\" or a trailing \"/\""};
  }
  const auto found =
      std::ranges::find_if(kForbidden, [&](const Place& place) { return is_at_or_below(path, place.path); });
  if (found == kForbidden.end()) return std::nullopt;
  return Objection{"file.place", std::string(found->reason), std::string(found->hint)};
}

Result<bool> check_directories(const std::string& path, const NodeReader& node) {
  const fs::path directory = fs::path(path).parent_path();
  fs::path so_far = "/";
  for (const fs::path& part : directory.relative_path()) {
    so_far /= part;
    SPARK_TRY(const bool there, check_directory(so_far, so_far == directory, node));
    if (!there) return false;
  }
  return true;
}

std::string own_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.starts_with("/etc/") && folder.ends_with(".d") ? folder : "";
}

bool is_of_logind(const std::string& path) { return path.starts_with(kLogindFolder) && path.ends_with(".conf"); }

Result<bool> logind_runs(const NodeReader& node) {
  if (!node.live()) return false;
  return node.is_there(kLogindStarted);
}

Result<std::optional<bool>> logind_has_read(const std::string& path, const NodeReader& node) {
  if (!node.live()) return std::nullopt;
  SPARK_TRY(const auto started, if_there(node.status(kLogindStarted)));
  if (!started) return std::nullopt;
  SPARK_TRY(const FileStatus written, node.status(path));
  return started->changed_at_nanos >= written.changed_at_nanos;
}

Result<void> restart_logind(Node& node) { return outcome_of_restart(node.run(restart_command(), kRestartDeadline)); }

Result<ActivationEnd> begin_restart_of_logind(Node& node) {
  SPARK_TRY(auto begun, node.start(restart_command(), kRestartDeadline));
  const std::shared_ptr<RunningCommand> command = std::move(begun);
  return ActivationEnd([command] { return outcome_of_restart(command->wait()); });
}

}  // namespace sparkplan::file
