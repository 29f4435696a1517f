#include "engine/resource/accounts.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "engine/core/number_format.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kLookUpDeadline{10};
constexpr int kGetentNotFound = 2;
constexpr std::size_t kLongestAccountDatabase = std::size_t{16} << 20;

/// Without nsswitch.conf, or without the line of the database, glibc asks the files first.
bool files_come_first(const std::string& database, const NodeReader& node) {
  const Result<std::string> text = node.read_file("/etc/nsswitch.conf");
  if (!text) return text.error().code == ErrorCode::kNotFound;
  for (const std::string_view line : split_lines(*text)) {
    if (!trim(line).starts_with(database + ":")) continue;
    const std::vector<std::string> services = words_of(trim(line).substr(database.size() + 1));
    return !services.empty() && services.front() == "files";
  }
  return true;
}

/// Nothing if the node's own file is not asked first, or cannot be read.
std::optional<std::string> file_of(const std::string& database, const NodeReader& node) {
  if (!node.live() || !files_come_first(database, node)) return std::nullopt;
  Result<std::string> text = node.read_file("/etc/" + database);
  if (!text) return std::nullopt;
  return *std::move(text);
}

std::optional<std::string> line_of(const std::string& database, const std::string& name, const NodeReader& node) {
  const auto text = file_of(database, node);
  if (!text) return std::nullopt;
  for (const std::string_view line : split_lines(*text)) {
    if (line.starts_with(name + ":")) return std::string(line);
  }
  return std::nullopt;
}

/// As line_of(), from any name service.
Result<std::optional<std::string>> any_line_of(const std::string& database, const std::string& name,
                                               const NodeReader& node) {
  if (auto line = line_of(database, name, node)) return line;
  SPARK_TRY(auto line, getent_line(database, name, node));
  // getent also takes numbers as keys.
  if (line && !line->starts_with(name + ":")) line.reset();
  return line;
}

/// The line with that number, from the node's own file or from any name service.
std::optional<std::string> line_of_number(const std::string& database, std::uint32_t number, const NodeReader& node) {
  const auto text = file_of(database, node);
  for (const std::string_view line : split_lines(text ? std::string_view(*text) : std::string_view())) {
    const auto fields = split(line, ':');
    if (fields.size() > 3 && parse_number<std::uint32_t>(fields[2]) == number) return std::string(line);
  }
  const auto found = getent_line(database, std::to_string(number), node);
  return found ? *found : std::nullopt;
}

/// The third field of the line for `name`. Source: passwd(5), group(5).
std::optional<std::int64_t> number_in(std::string_view text, const std::string& name) {
  for (const std::string_view line : split_lines(text)) {
    if (!line.starts_with(name + ":")) continue;
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() <= 2) continue;
    if (const auto number = parse_number<std::uint32_t>(fields[2])) return *number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> passwd_file(const NodeReader& node) { return file_of("passwd", node); }

std::optional<std::string> passwd_line(const std::string& user, const NodeReader& node) {
  return line_of("passwd", user, node);
}

Result<std::optional<std::string>> getent_line(const std::string& database, const std::string& key,
                                               const NodeReader& node) {
  const std::vector<std::string> argv{"getent", database, "--", key};
  Result<CommandOutput> output = node.query(argv, kLookUpDeadline);
  if (!output) {
    Error error = std::move(output).error();
    // kNotFound means that the entry is missing, so a missing program needs another code.
    if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kFailed;
    return failure(std::move(error).within("look up " + key));
  }
  if (output->exit_status == kGetentNotFound) return std::optional<std::string>();
  if (output->exit_status != 0) {
    return failure(ErrorCode::kFailed,
                   "getent " + database + " " + key + " ended with status " + std::to_string(output->exit_status));
  }
  const std::string_view text = output->standard_output;
  return std::optional<std::string>(text.substr(0, text.find('\n')));
}

Result<GroupMembership> membership_of(const std::string& user, const std::string& group, const NodeReader& node) {
  SPARK_TRY(const auto user_line, any_line_of("passwd", user, node));
  SPARK_TRY(const auto group_line, any_line_of("group", group, node));
  GroupMembership membership{user_line.has_value(), group_line.has_value()};
  if (!user_line || !group_line) return membership;
  const auto account = split(*user_line, ':');
  const auto entry = split(*group_line, ':');
  if (account.size() < 4 || entry.size() < 4) return membership;
  const auto members = split(trim(entry[3]), ',');
  membership.member = account[3] == entry[2] || std::ranges::find(members, std::string_view(user)) != members.end();
  return membership;
}

std::string user_name(std::uint32_t uid, const NodeReader& node) {
  const auto line = line_of_number("passwd", uid, node);
  return line ? line->substr(0, line->find(':')) : std::string();
}

std::optional<std::uint32_t> own_group_of(std::uint32_t uid, const NodeReader& node) {
  const auto account = line_of_number("passwd", uid, node);
  if (!account) return std::nullopt;
  const auto fields = split(*account, ':');
  const auto gid = fields.size() > 3 ? parse_number<std::uint32_t>(fields[3]) : std::nullopt;
  if (!gid) return std::nullopt;
  const auto group = line_of_number("group", *gid, node);
  const Result<std::string> users = node.read_file("/etc/passwd", kLongestAccountDatabase);
  if (!group || !users) return std::nullopt;
  const auto is_other = [&](std::string_view name) { return !name.empty() && name != fields[0]; };
  const auto entry = split(*group, ':');
  if (entry.size() < 4 || std::ranges::any_of(split(trim(entry[3]), ','), is_other)) return std::nullopt;
  for (const std::string_view line : split_lines(*users)) {
    const auto other = split(line, ':');
    if (other.size() > 3 && other[3] == fields[3] && is_other(other[0])) return std::nullopt;
  }
  return gid;
}

std::vector<std::string> groups_of(const std::string& user, const NodeReader& node) {
  const std::vector<std::string> argv{"id", "-Gn", "--", user};
  const Result<CommandOutput> output = node.query(argv, kLookUpDeadline);
  return output && output->exit_status == 0 ? words_of(output->standard_output) : std::vector<std::string>();
}

Result<std::optional<std::int64_t>> account_number(const std::string& database, const std::string& name,
                                                   const NodeReader& node) {
  SPARK_TRY(const std::string text, or_empty(node.read_file("/etc/" + database, kLongestAccountDatabase)));
  if (const auto number = number_in(text, name)) return number;
  if (!node.live()) return std::optional<std::int64_t>();
  // Not in the files: a directory service may have it.
  const std::vector<std::string> argv{"getent", database, "--", name};
  SPARK_TRY(const auto output, if_there(node.query(argv, kLookUpDeadline)));
  if (!output) return std::optional<std::int64_t>();
  if (output->exit_status != 0 && output->exit_status != kGetentNotFound) {
    return failure(ErrorCode::kFailed,
                   "getent " + database + " " + name + " ended with status " + std::to_string(output->exit_status));
  }
  return number_in(output->standard_output, name);
}

}  // namespace sparkplan
