#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::ssh_trust {

/// A user as the node's own user database has it.
struct Account {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;  ///< Of the primary group.
  std::filesystem::path home;
  std::string shell;

  UserPath in_home(std::string_view below) const { return {home, std::filesystem::path(below)}; }
};

inline constexpr std::string_view kSshDirectory = ".ssh";
inline constexpr std::string_view kAuthorizedKeys = ".ssh/authorized_keys";
inline constexpr std::string_view kPrivateKey = ".ssh/sparkplan_ed25519";
inline constexpr std::string_view kPublicKey = ".ssh/sparkplan_ed25519.pub";

/// An account with a home that is there. Errors: kNotFound when there is no such user or no such
/// home, kUnsupported for an account whose home is no place for keys ("/", "/nonexistent"); for
/// these two nothing of ours can be there. All others: could not look.
Result<Account> look_up(const std::string& user, const NodeReader& node);

/// True for what look_up() says of an account that cannot hold anything of ours.
bool cannot_hold_keys(const Error& error);

/// Whether sshd accepts keys from there, and we write there.
/// Errors: kRefused for a symbolic link, somebody else's directory, or one that others may write to;
/// as NodeReader::user_status(). Source: sshd_config(5), StrictModes; Debian's sshd lets a user's own
/// group write.
Result<void> check_home(const Account& account, const NodeReader& node);

/// A file in `.ssh` that is to be read or written after check_home(): in the very directory that was checked, and in no
/// other that the user puts in its place. For one write: it may make the directory. Errors: as check_home().
Result<UserPath> checked_path(const Account& account, std::string_view below, const NodeReader& node);

}  // namespace sparkplan::ssh_trust
