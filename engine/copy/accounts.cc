#include "engine/copy/accounts.h"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "engine/core/bounded_text.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"

namespace sparkplan::copy {
namespace {

using Fields = std::vector<std::string>;

constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::size_t kMostGroups = 1024;

std::vector<Fields> lines_of(const char* path, std::size_t least) {
  std::vector<Fields> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.size() > kLongestLine) continue;
    Fields fields;
    for (const auto part : split(line, ':')) fields.emplace_back(part);
    if (fields.size() >= least) lines.push_back(std::move(fields));
  }
  return lines;
}

const std::vector<Fields>& passwd() {
  static const auto lines = lines_of("/etc/passwd", 6);
  return lines;
}

const std::vector<Fields>& groups() {
  static const auto lines = lines_of("/etc/group", 3);
  return lines;
}

/// The names by number. The first line with a number counts, as in getpwuid(3).
std::map<std::uint32_t, std::string> names_by_number(const std::vector<Fields>& lines) {
  std::map<std::uint32_t, std::string> names;
  for (const Fields& fields : lines) {
    if (const auto number = parse_number<std::uint32_t>(fields[2])) names.try_emplace(*number, fields[0]);
  }
  return names;
}

std::string name_in(const std::map<std::uint32_t, std::string>& names, std::uint32_t number) {
  const auto found = names.find(number);
  return found == names.end() ? "#" + std::to_string(number) : found->second;
}

std::vector<gid_t> groups_of(const Account& account) {
  std::vector<gid_t> numbers{account.group};
  for (const Fields& fields : groups()) {
    if (fields.size() < 4 || numbers.size() == kMostGroups) continue;
    const auto members = split(fields[3], ',');
    const auto number = parse_number<std::uint32_t>(fields[2]);
    if (number && std::find(members.begin(), members.end(), account.name) != members.end()) numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

Result<Account> account_named(const std::string& name) {
  if (name.starts_with('#')) {
    if (const auto number = parse_number<std::uint32_t>(std::string_view(name).substr(1)))
      return Account{name, *number, *number, ""};
  }
  for (const Fields& fields : passwd()) {
    const auto user = parse_number<std::uint32_t>(fields[2]);
    const auto group = parse_number<std::uint32_t>(fields[3]);
    if (fields[0] == name && user && group) return Account{name, *user, *group, fields[5]};
  }
  return failure(ErrorCode::kNotFound, "there is no user " + shown_text(name, 60) + " in /etc/passwd");
}

Result<gid_t> group_named(const std::string& name) {
  if (name.starts_with('#')) {
    if (const auto number = parse_number<std::uint32_t>(std::string_view(name).substr(1))) return *number;
  }
  for (const Fields& fields : groups()) {
    const auto number = parse_number<std::uint32_t>(fields[2]);
    if (fields[0] == name && number) return *number;
  }
  return failure(ErrorCode::kNotFound, "there is no group " + shown_text(name, 60) + " in /etc/group");
}

std::string user_name(uid_t user) {
  static const auto names = names_by_number(passwd());
  return name_in(names, user);
}

std::string group_name(gid_t group) {
  static const auto names = names_by_number(groups());
  return name_in(names, group);
}

Result<void> become(const Account& account) {
  if (::geteuid() == account.user) return {};
  if (::geteuid() != 0) {
    return failure(ErrorCode::kPermissionDenied, "only root can write as " + shown_text(account.name, 60));
  }
  const auto numbers = groups_of(account);
  if (::setgroups(numbers.size(), numbers.data()) != 0 ||
      ::setresgid(account.group, account.group, account.group) != 0 ||
      ::setresuid(account.user, account.user, account.user) != 0) {
    return failure(system_error("become " + shown_text(account.name, 60), errno));
  }
  return {};
}

}  // namespace sparkplan::copy
