#include "resources/ssh_trust/account.h"

#include <utility>
#include <vector>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/domain/storage/served_directory.h"
#include "engine/resource/accounts.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::uint32_t kGroupWrites = 0020;
constexpr std::uint32_t kOthersWrite = 0002;

tl::unexpected<Error> no_such_user(const std::string& user) {
  return failure(ErrorCode::kNotFound, "there is no user " + user, "create the account, or take it out of users");
}

Result<Account> parse_account(const std::string& user, std::string_view line) {
  const std::vector<std::string_view> fields = split(line, ':');
  // "getent passwd 1000" also prints the user with that number.
  if (fields.size() < 7 || fields[0] != user) return no_such_user(user);
  const auto uid = parse_number<std::uint32_t>(fields[2]);
  const auto gid = parse_number<std::uint32_t>(fields[3]);
  if (!uid || !gid) return failure(ErrorCode::kFailed, "user " + user + " has no numeric user and group ID");
  std::filesystem::path home = std::filesystem::path(fields[5]).lexically_normal();
  if (!home.has_filename()) home = home.parent_path();
  if (!home.is_absolute() || home == "/" || home == "/nonexistent") {
    return failure(ErrorCode::kUnsupported,
                   "user " + user + " has no home directory for keys (\"" + std::string(fields[5]) + "\")",
                   "give the account its own home, or take it out of users");
  }
  return Account{user, *uid, *gid, std::move(home), std::string(fields[6])};
}

tl::unexpected<Error> not_accepted(const std::filesystem::path& path, const std::string& why, const std::string& hint) {
  return failure(ErrorCode::kRefused, path.string() + " " + why + ", so sshd accepts no keys from there", hint);
}

/// Debian and Ubuntu make a private group for every user.
Result<bool> is_own_group(const Account& account, std::uint32_t gid, const NodeReader& node) {
  if (gid != account.gid) return false;
  SPARK_TRY(const std::optional<std::string> line, getent_line("group", std::to_string(gid), node));
  if (!line) return false;
  const std::vector<std::string_view> fields = split(*line, ':');
  if (fields.size() < 4 || fields[0] != account.name) return false;
  return fields[3].empty() || fields[3] == account.name;
}

/// Nothing if the place does not exist.
Result<std::optional<FileStatus>> check_place(const Account& account, const UserPath& place, const NodeReader& node) {
  SPARK_TRY(auto status, if_there(node.user_status(place)));
  if (!status) return std::optional<FileStatus>();
  const std::filesystem::path path = place.path();
  const bool is_file = place.below == kAuthorizedKeys;
  const FileStatus::Kind wanted = is_file ? FileStatus::Kind::kRegular : FileStatus::Kind::kDirectory;
  if (status->kind == FileStatus::Kind::kSymlink) {
    return failure(ErrorCode::kRefused, path.string() + " is a symbolic link, and links in homes are not followed",
                   "replace it with what it points to");
  }
  if (status->kind != wanted) {
    return failure(ErrorCode::kRefused, path.string() + (is_file ? " is not a regular file" : " is not a directory"));
  }
  if (status->uid != account.uid && status->uid != 0) {
    return not_accepted(path, "belongs to user ID " + std::to_string(status->uid), "chown it to " + account.name);
  }
  if (!status->acl_writer.empty()) {
    return failure(ErrorCode::kRefused, path.string() + " has an ACL and is writable by " + status->acl_writer,
                   "setfacl -b " + path.string());
  }
  if ((status->mode & kOthersWrite) != 0) return not_accepted(path, "is writable by all users", "chmod o-w it");
  if ((status->mode & kGroupWrites) == 0) return std::optional(*status);
  SPARK_TRY(const bool own_group, is_own_group(account, status->gid, node));
  if (own_group) return std::optional(*status);
  return not_accepted(path, "is writable by its group", "chmod g-w it");
}

}  // namespace

Result<Account> look_up(const std::string& user, const NodeReader& node) {
  std::optional<std::string> line = passwd_line(user, node);
  if (!line) {
    SPARK_TRY(line, getent_line("passwd", user, node));
  }
  if (!line) return no_such_user(user);
  SPARK_TRY(Account account, parse_account(user, *line));
  // The agent would wait for a silent server as long as it likes, and with it all other changes of this node.
  UserPath place = path_in_home(account.home, {}, node);
  account.served_by = std::move(place.served_by);
  account.shared_mount = std::move(place.shared_mount);
  const Result<FileStatus> home = node.user_status(account.in_home(""));
  if (!home && home.error().code == ErrorCode::kUnreachable) return failure(home.error());
  if (!home && home.error().code == ErrorCode::kNotFound) {
    return failure(ErrorCode::kNotFound, "the home of " + user + ", " + account.home.string() + ", does not exist",
                   "create it, for example with mkhomedir_helper");
  }
  return account;
}

bool cannot_hold_keys(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kUnsupported;
}

Result<UserPath> checked_path(const Account& account, std::string_view below, const NodeReader& node) {
  SPARK_CHECK(check_place(account, account.in_home(""), node));
  SPARK_TRY(const auto directory, check_place(account, account.in_home(kSshDirectory), node));
  UserPath keys = account.in_home(kAuthorizedKeys);
  keys.checked = CheckedDirectory{directory};
  if (directory) SPARK_CHECK(check_place(account, keys, node));
  UserPath path = account.in_home(below);
  path.checked = std::move(keys.checked);
  return path;
}

Result<void> check_home(const Account& account, const NodeReader& node) {
  SPARK_CHECK(checked_path(account, kAuthorizedKeys, node));
  return {};
}

Result<std::optional<FileContent>> read_with_status(const UserPath& path, std::size_t max_bytes,
                                                    const NodeReader& node) {
  constexpr std::uint32_t kPermissions = 0777;
  SPARK_TRY(std::optional<FileContent> file, if_there(node.read_regular_user_file(path, max_bytes)));
  if (file) file->mode &= kPermissions;
  return file;
}

}  // namespace sparkplan::ssh_trust
