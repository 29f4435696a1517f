#include "engine/remote/config/ssh_config.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";
constexpr std::array<std::string_view, 12> kUsed = {"host",          "match",     "include",      "hostname",
                                                    "user",          "port",      "identityfile", "identitiesonly",
                                                    "identityagent", "proxyjump", "hostkeyalias", "userknownhostsfile"};

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size())); }

/// Takes the keyword and what separates it from its arguments: blanks, and at most one "=".
std::string_view take_keyword(std::string_view& text) {
  const auto end = std::min(text.find_first_of(" \t\r\f\v="), text.size());
  const auto keyword = text.substr(0, end);
  text.remove_prefix(end);
  skip_blanks(text);
  if (text.starts_with('=')) text.remove_prefix(1);
  skip_blanks(text);
  return keyword;
}

/// A backslash escapes a quote, itself and, outside of quotes, a blank.
bool is_escape(std::string_view rest, char quote) {
  if (rest.size() < 2 || rest[0] != '\\') return false;
  return rest[1] == '"' || rest[1] == '\'' || rest[1] == '\\' || (quote == '\0' && rest[1] == ' ');
}

/// Takes one argument; nothing if a quote is not closed.
std::optional<std::string> take_argument(std::string_view& text) {
  std::string argument;
  char quote = '\0';
  while (!text.empty() && (quote != '\0' || !is_blank(text.front()))) {
    const char c = text.front();
    if (is_escape(text, quote)) {
      argument += text[1];
      text.remove_prefix(1);
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else {
      argument += c;
    }
    text.remove_prefix(1);
  }
  if (quote != '\0') return std::nullopt;
  return argument;
}

tl::unexpected<Error> wrong(const std::string& name, std::size_t number, const std::string& why) {
  return failure(ErrorCode::kInvalidInput, name + ":" + std::to_string(number) + ": " + why);
}

}  // namespace

Result<std::vector<SshConfigLine>> parse_ssh_config(std::string_view text, const std::string& name) {
  std::vector<SshConfigLine> lines;
  std::size_t number = 0;
  for (std::string_view rest : split_lines(text)) {
    ++number;
    if (rest.find('\0') != std::string_view::npos) return wrong(name, number, "it contains a NUL byte");
    skip_blanks(rest);
    if (rest.empty() || rest.front() == '#') continue;
    SshConfigLine line;
    line.number = number;
    line.written = std::string(take_keyword(rest));
    line.keyword = lower_case(line.written);
    if (line.keyword.empty()) return wrong(name, number, "a line begins with a keyword, not with \"=\"");
    // The values of other keywords, such as ProxyCommand, have other rules.
    if (std::find(kUsed.begin(), kUsed.end(), line.keyword) != kUsed.end()) {
      while (!rest.empty() && rest.front() != '#') {
        auto argument = take_argument(rest);
        if (!argument) return wrong(name, number, "a quote is not closed");
        line.arguments.push_back(*std::move(argument));
        skip_blanks(rest);
      }
      if (line.arguments.empty()) return wrong(name, number, printable(line.written) + " has no value");
    } else {
      line.arguments.emplace_back(trim(rest));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string place_of(const SshConfigText& file, const SshConfigLine& line) {
  return file.name + ":" + std::to_string(line.number);
}

}  // namespace sparkplan
