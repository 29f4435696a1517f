#include "engine/resource/shell_environment.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {
namespace {

struct SpecialName {
  std::string_view name;
  std::string_view reason;
};

/// Set for all users, these prevent logins or run code in every shell.
constexpr std::array<SpecialName, 18> kRefused{{
    {"IFS", "it changes how every shell splits words"},
    {"BASH_ENV", "every bash script would run that file first"},
    {"ENV", "every shell would run that file first"},
    {"PROMPT_COMMAND", "every prompt would run it"},
    {"PS4", "bash expands it while tracing, and runs commands in it"},
    {"SHELLOPTS", "bash makes it read-only and every login prints an error"},
    {"BASHOPTS", "bash makes it read-only and every login prints an error"},
    {"BASH_VERSINFO", "bash makes it read-only and every login prints an error"},
    {"UID", "bash makes it read-only and every login prints an error"},
    {"EUID", "bash makes it read-only and every login prints an error"},
    {"PPID", "bash makes it read-only and every login prints an error"},
    {"LD_PRELOAD", "every program would load that library, sudo and ssh included"},
    {"LD_AUDIT", "every program would load that library, sudo and ssh included"},
    {"HOME", "it differs from user to user"},
    {"USER", "it differs from user to user"},
    {"LOGNAME", "it differs from user to user"},
    {"PWD", "the shell sets it itself"},
    {"OLDPWD", "the shell sets it itself"},
}};

constexpr std::array<SpecialName, 2> kRisky{{
    {"PATH", "the value replaces the whole search path of every login shell; $PATH in it is not expanded"},
    {"LD_LIBRARY_PATH", "every program of every login looks for its libraries there first"},
}};

template <std::size_t N>
std::optional<std::string_view> reason_in(const std::array<SpecialName, N>& names, std::string_view name) {
  const auto* const found = std::ranges::find(names, name, &SpecialName::name);
  if (found == names.end()) return std::nullopt;
  return found->reason;
}

/// Splits one line into words if the whole line is literal.
class WordReader {
 public:
  explicit WordReader(std::string_view line) : line_(line) {}

  /// Nothing for a line with an expansion, an operator, a pattern or an open quote.
  std::optional<std::vector<std::string>> read() {
    while (at_ < line_.size()) {
      const char c = line_[at_];
      if (c == ' ' || c == '\t') {
        end_word();
        ++at_;
      } else if (c == '#' && !in_word_) {
        break;
      } else if (!read_piece(c)) {
        return std::nullopt;
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  bool read_piece(char c) {
    in_word_ = true;
    ++at_;
    switch (c) {
      case '\'':
        return read_single_quoted();
      case '"':
        return read_double_quoted();
      case '\\':
        if (at_ == line_.size()) return false;
        word_ += line_[at_++];
        return true;
      default:
        word_ += c;
        return std::string_view("$`;&|<>()*?[]{}~!").find(c) == std::string_view::npos;
    }
  }

  bool read_single_quoted() {
    const std::size_t end = line_.find('\'', at_);
    if (end == std::string_view::npos) return false;
    word_ += line_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  /// Inside double quotes a backslash quotes only characters that are special there. Source: POSIX 2.2.3.
  bool read_double_quoted() {
    while (at_ < line_.size()) {
      const char c = line_[at_++];
      if (c == '"') return true;
      if (c == '$' || c == '`') return false;
      if (c == '\\' && at_ < line_.size() && std::string_view("$`\"\\").find(line_[at_]) != std::string_view::npos) {
        word_ += line_[at_++];
      } else {
        word_ += c;
      }
    }
    return false;
  }

  void end_word() {
    if (in_word_) words_.push_back(std::exchange(word_, {}));
    in_word_ = false;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  bool in_word_ = false;
  std::string word_;
  std::vector<std::string> words_;
};

std::optional<ShellAssignment> assignment(const std::string& word, int line) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || !is_variable_name(std::string_view(word).substr(0, equals))) return std::nullopt;
  return ShellAssignment{word.substr(0, equals), word.substr(equals + 1), line};
}

/// The assignments of one command; empty for any other command.
std::vector<ShellAssignment> interpret(std::span<const std::string> words, int line) {
  std::vector<ShellAssignment> found;
  const bool unsets = words.front() == "unset";
  const bool exports = words.front() == "export";
  for (const std::string& word : words.subspan(unsets || exports ? 1 : 0)) {
    if (unsets) {
      if (is_variable_name(word)) found.push_back({word, std::nullopt, line});
    } else if (auto one = assignment(word, line)) {
      found.push_back(*std::move(one));
    } else if (!exports) {
      return {};  // "NAME=value command" sets it for that command only.
    }
  }
  return found;
}

}  // namespace

bool is_variable_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || is_digit(c); });
}

std::optional<Diagnostic> check_variable_name(const MapEntry& entry, const std::string& section) {
  const std::string& name = entry.key;
  if (!is_variable_name(name)) {
    return finding(section + ".name", "\"" + name + "\" is not an environment variable name",
                   "use letters, digits and \"_\", and no digit at the beginning", entry.key_where);
  }
  if (name.size() > kLongestWordName) {
    return finding(section + ".name",
                   in_quotes(name) + " is longer than " + std::to_string(kLongestWordName) + " characters",
                   "use a shorter name", entry.key_where);
  }
  if (const auto reason = reason_in(kRefused, name)) {
    return finding(section + ".refused-name", name + " cannot be set for all logins: " + std::string(*reason), {},
                   entry.key_where);
  }
  const auto risk = reason_in(kRisky, name);
  if (!risk) return std::nullopt;
  return finding(Severity::kWarning, section + ".risky-name", name + " is set for all logins: " + std::string(*risk),
                 {}, entry.key_where);
}

std::string shell_quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  quoted += '\'';
  return quoted;
}

Result<std::string> variable_value(const Value& value) {
  if (const std::int64_t* number = value.integer()) return std::to_string(*number);
  const std::string* text = value.string();
  if (text == nullptr) {
    return failure(ErrorCode::kInvalidInput,
                   "an environment variable takes text or an integer, not " + std::string(value.kind_name()),
                   "put the value in quotes");
  }
  if (has_control_character(*text)) {
    return failure(ErrorCode::kInvalidInput, "a newline or control character cannot be part of a variable's value");
  }
  return *text;
}

std::vector<ShellAssignment> parse_shell_assignments(std::string_view content) {
  std::vector<ShellAssignment> assignments;
  int number = 0;
  for (const std::string_view line : split_lines(content)) {
    ++number;
    if (line.empty() || line.front() == ' ' || line.front() == '\t') continue;
    const std::optional<std::vector<std::string>> words = WordReader(line).read();
    if (!words || words->empty()) continue;
    for (ShellAssignment& one : interpret(*words, number)) assignments.push_back(std::move(one));
  }
  return assignments;
}

Result<std::vector<ConfigFile>> profile_files_after(const std::filesystem::path& own_file, const NodeReader& node) {
  const std::string directory = own_file.parent_path();
  const std::string own = own_file.filename();
  const std::array<std::string_view, 1> directories{directory};
  return read_config_files(directories, ".sh", node, [&](const std::string& name) { return name > own; });
}

std::optional<LaterAssignment> last_assignment(std::string_view name, std::span<const ConfigFile> files) {
  std::optional<LaterAssignment> last;
  for (const ConfigFile& file : files) {
    for (ShellAssignment& one : parse_shell_assignments(file.content)) {
      if (one.name != name) continue;
      const std::string what = one.value ? "sets it to " + shell_quote(*one.value) : "unsets it";
      last = LaterAssignment{std::move(one.value), file.path + ":" + std::to_string(one.line),
                             what + " and is read later"};
    }
  }
  return last;
}

}  // namespace sparkplan
