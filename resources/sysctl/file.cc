#include <algorithm>

#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/core/units.h"
#include "engine/resource/artifact.h"
#include "resources/sysctl/sysctl.h"

namespace sparkplan::sysctl {
namespace {

/// "256MiB", "1.5GB". A unit without the final B ("64k") is ambiguous: 1000 or 1024. It goes to the kernel as text,
/// which refuses it.
bool is_size(std::string_view word) {
  const std::size_t unit = word.find_first_not_of("0123456789.");
  return unit != std::string_view::npos && unit > 0 && is_digit(word.front()) && word.ends_with('B') &&
         std::all_of(word.begin() + static_cast<std::ptrdiff_t>(unit), word.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

bool is_number(std::string_view word) { return !word.empty() && std::ranges::all_of(word, is_digit); }

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; });
}

/// Sizes become bytes only if every word is a number: "|/usr/bin/dump 1MB" is a command line.
Result<std::string> resolve_sizes(std::string text) {
  if (text.empty()) return text;
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ' ')) {
    if (is_size(word)) {
      SPARK_TRY(const std::int64_t bytes, parse_bytes(word));
      words.push_back(std::to_string(bytes));
    } else if (is_number(word)) {
      words.emplace_back(word);
    } else {
      return text;
    }
  }
  return join(words, " ");
}

/// As systemd's sysctl_normalize(): foreign files may have globs and unusual spellings.
std::string normalized_path(std::string_view name) {
  std::string path(name);
  const std::size_t separator = path.find_first_of("./");
  if (separator != std::string::npos && path[separator] == '.') path = dotted(Key{path});
  while (path.starts_with('/')) path.erase(0, 1);
  return path;
}

}  // namespace

std::string canonical_value(std::string_view text) {
  std::string folded;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      folded += c;
    } else if (!folded.empty() && folded.back() != ' ') {
      folded += ' ';
    }
  }
  if (folded.ends_with(' ')) folded.pop_back();
  return folded;
}

Result<std::string> resolve_value(const Value& value) {
  if (const std::int64_t* number = value.integer()) return std::to_string(*number);
  const std::string* text = value.string();
  if (text == nullptr) {
    return failure(ErrorCode::kInvalidInput,
                   "a kernel parameter takes text or an integer, not " + std::string(value.kind_name()),
                   "put it in quotes if the kernel accepts it as written");
  }
  if (has_control_character(*text)) {
    return failure(ErrorCode::kInvalidInput, "a newline or control character cannot be part of a kernel parameter");
  }
  return resolve_sizes(canonical_value(*text));
}

std::vector<Line> parse_file(std::string_view content) {
  std::vector<Line> lines;
  int number = 0;
  for (const std::string_view raw : split_lines(content)) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    const std::size_t equals = line.find('=');
    const bool dash = line.front() == '-';
    if (equals == std::string_view::npos && !dash) continue;  // systemd-sysctl logs it and continues.
    const std::string_view name =
        trim(line.substr(dash ? 1 : 0, equals == std::string_view::npos ? equals : equals - (dash ? 1 : 0)));
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = canonical_value(line.substr(equals + 1));
    lines.push_back({normalized_path(name), std::move(value), dash, number});
  }
  return lines;
}

std::string render_file(const std::map<Key, std::string>& settings) {
  std::vector<std::pair<Key, std::string>> sorted(settings.begin(), settings.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return set_before(a.first, b.first); });
  std::string text = ownership_header();
  for (const auto& [key, value] : sorted) {
    // An interface that is missing at boot is no failure: udev sets its parameters when it appears.
    if (interface_of(key)) text += '-';
    text += dotted(key) + " = " + value + "\n";
  }
  return text;
}

std::optional<Override> overriding(const Key& key, std::span<const ConfigFile> later_files) {
  std::optional<Override> last;
  for (const ConfigFile& file : later_files) {
    for (Line& line : parse_file(file.content)) {
      if (line.path != key.path) continue;
      last = Override{std::move(line.value), file.path + ":" + std::to_string(line.number)};
    }
  }
  return last;
}

Result<std::vector<ConfigFile>> later_config_files(const NodeReader& node) {
  static constexpr std::array<std::string_view, 5> kDirectories{
      "/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"};
  const std::string own = std::filesystem::path(kOwnFile).filename();
  return read_config_files(kDirectories, ".conf", node, [&](const std::string& name) { return name > own; });
}

}  // namespace sparkplan::sysctl
