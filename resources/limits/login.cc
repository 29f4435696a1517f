#include "resources/limits/login.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/domain/storage/served_directory.h"
#include "engine/resource/accounts.h"

namespace sparkplan::limits {
namespace {

constexpr std::chrono::milliseconds kLongestLogin = std::chrono::seconds(10);
constexpr std::string_view kPamDirectory = "/etc/pam.d";
constexpr int kDeepestInclude = 8;
constexpr int kFirstOrdinaryUid = 1000;
constexpr int kLastOrdinaryUid = 60000;  ///< UID_MAX. Source: login.defs(5).
constexpr std::size_t kFieldsOfPasswd = 7;
constexpr std::size_t kHomeField = 5;
constexpr const char* kSshd = "/usr/sbin/sshd";
constexpr unsigned int kCapSysResource = 24;  ///< Source: capabilities(7), linux/capability.h.
/// Columns of /proc/PID/limits. Source: fs/proc/base.c, proc_pid_limits().
constexpr std::size_t kNameWidth = 26;

std::string first_line(std::string_view text) {
  const std::vector<std::string_view> lines = split_lines(text);
  return lines.empty() ? std::string() : printable(trim(lines.front()));
}

bool is_real_shell(const std::string& shell, const NodeReader& node) {
  const std::string name = std::filesystem::path(shell).filename().string();
  return !name.empty() && name != "nologin" && name != "false" && name != "sync" && node.status(shell).has_value();
}

/// A home may be a link to a larger disk: for a link, user_status() fails with kRefused. So it does for a file in the
/// place of a directory above the home, where su fails. Errors: kUnreachable.
Result<bool> has_home(std::string_view path, const NodeReader& node) {
  std::filesystem::path home = std::filesystem::path(path).lexically_normal();
  if (!home.has_filename()) home = home.parent_path();
  if (home == "/" || !home.is_absolute()) return home == "/";
  const Result<FileStatus> status = node.user_status(path_in_home(home, {}, node));
  if (status) return status->kind == FileStatus::Kind::kDirectory;
  if (status.error().code == ErrorCode::kUnreachable) return failure(status.error());
  return status.error().code == ErrorCode::kRefused;
}

/// Nothing for an unknown user, for whom su prints a better error.
std::optional<std::string> home_of(const std::string& user, const NodeReader& node) {
  std::optional<std::string> line = passwd_line(user, node);
  if (!line) line = getent_line("passwd", user, node).value_or(std::nullopt);
  if (!line) return std::nullopt;
  const std::vector<std::string_view> fields = split(*line, ':');
  if (fields.size() != kFieldsOfPasswd) return std::nullopt;
  return std::string(fields[kHomeField]);
}

bool mentions_pam_limits(const std::string& service, int depth, const NodeReader& node) {
  const Result<std::string> text = node.read_file(std::filesystem::path(kPamDirectory) / service);
  if (!text || depth > kDeepestInclude) return false;
  for (const std::string_view line : split_lines(*text)) {
    std::string blanks(line.substr(0, line.find('#')));
    std::ranges::replace(blanks, '\t', ' ');
    const std::vector<std::string> words = words_of(blanks);
    if (words.size() < 2) continue;
    const bool of_session = words[0] == "session" || words[0] == "-session";
    if (of_session && std::ranges::any_of(words, [](const std::string& word) {
          return std::filesystem::path(word).filename() == "pam_limits.so";
        })) {
      return true;
    }
    const bool includes = words[0] == "@include" || (of_session && (words[1] == "include" || words[1] == "substack"));
    if (includes && mentions_pam_limits(words[words[0] == "@include" ? 1 : words.size() - 1], depth + 1, node)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::map<std::string, ShownLimit> parse_proc_limits(std::string_view text) {
  std::map<std::string, ShownLimit> limits;
  for (const std::string_view line : split_lines(text)) {
    if (!line.starts_with("Max ") || line.size() <= kNameWidth) continue;
    const std::vector<std::string> values = words_of(line.substr(kNameWidth));
    if (values.size() < 2) continue;
    limits[std::string(trim(line.substr(0, kNameWidth)))] = {values[0], values[1]};
  }
  return limits;
}

bool is_user_name(std::string_view text) {
  const auto plain = [](char c) { return is_alphanumeric(c) || c == '_'; };
  return !text.empty() && plain(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return plain(c) || c == '-' || c == '.'; });
}

std::optional<std::string> first_ordinary_user(std::string_view passwd, const NodeReader& node) {
  for (const std::string_view line : split_lines(passwd)) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() != kFieldsOfPasswd || !is_user_name(fields[0])) continue;
    const auto uid = parse_number<int>(fields[2]);
    if (!uid || *uid < kFirstOrdinaryUid || *uid > kLastOrdinaryUid) continue;
    if (!has_home(fields[kHomeField], node).value_or(false)) continue;
    if (is_real_shell(std::string(fields[6]), node)) return std::string(fields[0]);
  }
  return std::nullopt;
}

Result<std::map<std::string, ShownLimit>> limits_of_login(const std::string& user, const NodeReader& node) {
  const std::optional<std::string> home = home_of(user, node);
  if (home) {
    SPARK_TRY(const bool is_there, has_home(*home, node));
    if (!is_there) {
      return failure(ErrorCode::kNotFound, "there is no home " + printable(*home) + ", and a login might create it");
    }
  }
  // With "-c" the shell would get its own session and survive a su that is killed at the deadline. The user follows
  // "--", after which nothing is an option.
  const std::array<std::string, 6> argv{"su", "-l", "--session-command", "cat /proc/self/limits", "--", user};
  SPARK_TRY(const CommandOutput output, node.query(argv, kLongestLogin));
  std::map<std::string, ShownLimit> limits = parse_proc_limits(output.standard_output);
  if (output.exit_status == 0 && !limits.empty()) return limits;
  std::string reason = first_line(output.standard_error);
  if (reason.empty()) reason = first_line(output.standard_output);
  if (reason.empty()) reason = "su ended with exit status " + std::to_string(output.exit_status);
  return failure(ErrorCode::kFailed, std::move(reason));
}

bool su_uses_pam_limits(const NodeReader& node) {
  // "su -l" has its own service on some distributions.
  const std::string service = node.status(std::filesystem::path(kPamDirectory) / "su-l") ? "su-l" : "su";
  if (!node.read_file(std::filesystem::path(kPamDirectory) / service)) return true;
  return mentions_pam_limits(service, 0, node);
}

std::optional<std::string> why_sshd_sets_no_limits(const NodeReader& node) {
  if (!node.status(kSshd)) return std::nullopt;
  const std::array<std::string, 2> argv{kSshd, "-T"};
  const Result<CommandOutput> output = node.query(argv, kLongestLogin);
  if (output && output->exit_status == 0) {
    for (const std::string_view line : split_lines(output->standard_output)) {
      if (trim(line) == "usepam no") return "sshd does not use PAM (UsePAM no)";
    }
  }
  const std::filesystem::path service = std::filesystem::path(kPamDirectory) / "sshd";
  if (!node.read_file(service) || mentions_pam_limits("sshd", 0, node)) return std::nullopt;
  return service.string() + " does not use pam_limits.so";
}

bool may_raise_hard_limits(const NodeReader& node) {
  const Result<std::string> text = node.read_file("/proc/self/status");
  if (!text) return true;
  constexpr std::string_view kLine = "CapBnd:";
  for (const std::string_view line : split_lines(*text)) {
    if (!line.starts_with(kLine)) continue;
    const auto bounding = parse_number<std::uint64_t>(trim(line.substr(kLine.size())), 16);
    return !bounding || ((*bounding >> kCapSysResource) & 1U) != 0;
  }
  return true;
}

}  // namespace sparkplan::limits
