#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::ssh_trust {

/// A user as the node's user database lists it.
struct Account {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;  ///< Of the primary group.
  std::filesystem::path home;
  std::string shell;
  std::string served_by = {};               ///< As UserPath::served_by.
  std::filesystem::path shared_mount = {};  ///< As UserPath::shared_mount.

  UserPath in_home(std::string_view below) const {
    return {home, std::filesystem::path(below), {}, served_by, shared_mount};
  }
};

inline constexpr std::string_view kSshDirectory = ".ssh";
inline constexpr std::string_view kAuthorizedKeys = ".ssh/authorized_keys";
inline constexpr std::string_view kPrivateKey = ".ssh/sparkplan_ed25519";
inline constexpr std::string_view kPublicKey = ".ssh/sparkplan_ed25519.pub";

/// An account whose home exists. Errors: kNotFound for a missing user or home; kUnsupported for a home that cannot hold
/// keys ("/", "/nonexistent"). With these two codes, the account has no files of sparkplan. All other errors mean that
/// the look-up failed: kUnreachable for a home whose file system does not answer.
Result<Account> look_up(const std::string& user, const NodeReader& node);

/// True for errors of look_up() that mean: the account has no files of sparkplan.
bool cannot_hold_keys(const Error& error);

/// Succeeds if sshd accepts keys from the home, `.ssh` and authorized_keys. Only then do we write there. Errors:
/// kRefused for a symbolic link, a wrong kind of file, an owner other than the user or root, or write permission for
/// others, also by an ACL; kFailed of getent(1); as NodeReader::user_status(). Source: sshd_config(5), StrictModes;
/// Debian's sshd allows write permission for a user's private group.
Result<void> check_home(const Account& account, const NodeReader& node);

/// A file in `.ssh`, to be read or written after check_home(). If the user replaces the checked directory, the access
/// fails. For one write, which may create the directory. Errors: as check_home().
Result<UserPath> checked_path(const Account& account, std::string_view below, const NodeReader& node);

/// A file in a home as it is to be replaced: without the set-user-ID bit and its like, which no file here needs.
/// Nothing if the file does not exist. Errors: as NodeReader::read_regular_user_file().
Result<std::optional<FileContent>> read_with_status(const UserPath& path, std::size_t max_bytes,
                                                    const NodeReader& node);

}  // namespace sparkplan::ssh_trust
