#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/profile_env/profile_env.h"

namespace sparkplan::profile_env {
namespace {

/// Reads the words of one line as long as all of it is literal.
class WordReader {
 public:
  explicit WordReader(std::string_view line) : line_(line) {}

  /// Empty for a line with an expansion, an operator, a pattern or an open quote.
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

  /// Inside double quotes a backslash quotes only what would be special there. Source: POSIX 2.2.3.
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

std::optional<Assignment> assignment(const std::string& word, int line) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || !is_name(std::string_view(word).substr(0, equals))) return std::nullopt;
  return Assignment{word.substr(0, equals), word.substr(equals + 1), line};
}

/// What the words of one command do to the environment; nothing when it is some other command.
std::vector<Assignment> interpret(std::span<const std::string> words, int line) {
  std::vector<Assignment> found;
  const bool unsets = words.front() == "unset";
  const bool exports = words.front() == "export";
  for (const std::string& word : words.subspan(unsets || exports ? 1 : 0)) {
    if (unsets) {
      if (is_name(word)) found.push_back({word, std::nullopt, line});
    } else if (auto one = assignment(word, line)) {
      found.push_back(*std::move(one));
    } else if (!exports) {
      return {};  // "NAME=value command" sets it for that command only.
    }
  }
  return found;
}

}  // namespace

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

Result<std::string> resolve_value(const Value& value) {
  if (const std::int64_t* number = value.integer()) return std::to_string(*number);
  const std::string* text = value.string();
  if (text == nullptr) {
    return failure(ErrorCode::kInvalidInput,
                   "an environment variable takes text or an integer, not " + std::string(value.kind_name()),
                   "put the value in quotes");
  }
  if (std::any_of(text->begin(), text->end(), [](unsigned char c) { return c < ' ' || c == 0x7f; })) {
    return failure(ErrorCode::kInvalidInput, "a newline or control character cannot be part of a variable's value");
  }
  return *text;
}

std::vector<Assignment> parse_file(std::string_view content) {
  std::vector<Assignment> assignments;
  int number = 0;
  for (const std::string_view line : split_lines(content)) {
    ++number;
    if (line.empty() || line.front() == ' ' || line.front() == '\t') continue;
    const std::optional<std::vector<std::string>> words = WordReader(line).read();
    if (!words || words->empty()) continue;
    for (Assignment& one : interpret(*words, number)) assignments.push_back(std::move(one));
  }
  return assignments;
}

std::string render_file(const std::map<std::string, std::string>& variables) {
  std::string text = ownership_header();
  for (const auto& [name, value] : variables) text += "export " + name + "=" + quote(value) + "\n";
  return text;
}

}  // namespace sparkplan::profile_env
