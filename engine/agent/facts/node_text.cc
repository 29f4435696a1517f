#include "engine/agent/facts/node_text.h"

#include <charconv>
#include <utility>

#include "engine/core/text.h"
#include "engine/model/fact_bounds.h"

namespace sparkplan {
namespace {

std::string first_line(std::string_view text) { return std::string(trim(text.substr(0, text.find('\n')))); }

std::string_view without_quotes(std::string_view value) {
  const bool quoted =
      value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

}  // namespace

std::string first_line_of(const NodeReader& node, const std::string& path) {
  const auto text = node.read_file(path);
  return text ? first_line(*text) : "";
}

std::optional<std::string> text_or_reason(const NodeReader& node, const std::string& path, const std::string& field,
                                          std::map<std::string, std::string>& unreadable, std::size_t most) {
  auto text = node.read_file(path, most);
  if (text) return *std::move(text);
  if (text.error().code != ErrorCode::kNotFound) unreadable[field] = text.error().describe();
  return std::nullopt;
}

std::string line_or_reason(const NodeReader& node, const std::string& path, const std::string& field,
                           std::map<std::string, std::string>& unreadable) {
  const auto text = text_or_reason(node, path, field, unreadable);
  return text ? first_line(*text) : "";
}

std::vector<std::string> names_or_reason(const NodeReader& node, const std::string& directory, const std::string& field,
                                         std::map<std::string, std::string>& unreadable) {
  auto names = node.list_directory(directory);
  if (names) return *std::move(names);
  if (names.error().code != ErrorCode::kNotFound) unreadable[field] = names.error().describe();
  return {};
}

std::optional<std::int64_t> number_in_text(std::string_view text) {
  const auto digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data() + digits, text.data() + text.size(), number);
  return problem == std::errc() && number <= kMostCount ? std::optional(number) : std::nullopt;
}

std::map<std::string, std::string> key_file(std::string_view text) {
  std::map<std::string, std::string> settings;
  std::string group;
  for (const auto whole : split_lines(text)) {
    const auto line = trim(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      group = std::string(line.substr(1, line.size() - 2)) + ".";
      continue;
    }
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    settings[group + std::string(trim(line.substr(0, equals)))] = trim(line.substr(equals + 1));
  }
  return settings;
}

std::optional<std::pair<std::string, std::string>> assignment_in(std::string_view line) {
  constexpr std::string_view kExport = "export ";
  line = trim(line);
  if (line.starts_with(kExport)) line = trim(line.substr(kExport.size()));
  const auto equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0 || line.front() == '#') return std::nullopt;
  const auto name = line.substr(0, equals);
  if (name.find_first_of(" \t\"'$(") != std::string_view::npos) return std::nullopt;
  return std::pair{std::string(name), std::string(without_quotes(trim(line.substr(equals + 1))))};
}

}  // namespace sparkplan
