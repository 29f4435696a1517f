#include "resources/netplan/take_over.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "engine/core/text.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/yaml_tree.h"

namespace sparkplan::netplan {
namespace {

/// Behind an empty definition of ours: tells a person where to look, and us what is to come back.
constexpr std::string_view kMark = ": {}  # sparkplan: 60-sparkplan-fabric.yaml defines it";
/// As far as a definition may go on behind its last value: closing braces.
constexpr std::size_t kMostClosingLines = 8;

/// Lines with their ends, so that the pieces make up the text.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto size = end == std::string_view::npos ? text.size() : end + 1;
    lines.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::string indent_of(const std::string& line) { return line.substr(0, line.find_first_not_of(" \t\r\n")); }

/// In place of all lines from `first` to `last`.
std::string mark_line(const std::string& first, const std::string& last, const std::string& interface) {
  return indent_of(first) + interface + std::string(kMark) + (last.ends_with('\n') ? "\n" : "");
}

std::optional<std::string> marked_interface(const std::string& line) {
  const std::string_view text = trim(line);
  if (!text.ends_with(kMark)) return std::nullopt;
  return std::string(text.substr(0, text.size() - kMark.size()));
}

MapEntry* definition_in(Value& tree, const std::string& interface) {
  Value* network = tree.find("network");
  Value* ethernets = network == nullptr ? nullptr : network->find("ethernets");
  if (ethernets == nullptr || ethernets->entries() == nullptr) return nullptr;
  auto& entries = *ethernets->entries();
  const auto found = std::find_if(entries.begin(), entries.end(), [&](auto& entry) { return entry.key == interface; });
  return found == entries.end() ? nullptr : &*found;
}

int last_line_of(const Value& value) {
  int last = value.where.line;
  if (value.entries() != nullptr) {
    for (const MapEntry& entry : *value.entries()) {
      last = std::max({last, entry.key_where.line, last_line_of(entry.value)});
    }
  }
  if (value.list_items() != nullptr) {
    for (const Value& item : *value.list_items()) last = std::max(last, last_line_of(item));
  }
  return last;
}

/// From the line of its key to the one behind its last.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The lines that are the definition's and nobody else's: without them the file says the rest, and nothing more.
Result<Range> range_of(std::string_view text, const std::string& interface) {
  SPARK_TRY(Value tree, parse_yaml(text));
  MapEntry* entry = definition_in(tree, interface);
  if (entry == nullptr) return failure(ErrorCode::kNotFound, "nothing is said of " + interface);
  const auto first = static_cast<std::size_t>(entry->key_where.line - 1);
  const auto last = static_cast<std::size_t>(std::max(entry->key_where.line, last_line_of(entry->value)));
  entry->value = Value::map();
  const auto lines = lines_of(text);
  for (std::size_t end = last; end <= std::min(lines.size(), last + kMostClosingLines); ++end) {
    auto rest = lines;
    const auto from = rest.begin() + static_cast<std::ptrdiff_t>(first);
    rest.erase(from + 1, rest.begin() + static_cast<std::ptrdiff_t>(end));
    rest[first] = mark_line(lines[first], lines[end - 1], interface);
    const auto parsed = parse_yaml(text_of(rest));
    if (parsed && *parsed == tree) return Range{first, end};
  }
  return failure(ErrorCode::kUnsupported, "which lines define " + interface + " cannot be told");
}

bool names_a_secret(const std::string& key) {
  static constexpr std::array<std::string_view, 8> kSecrets{"password", "passwords", "auth",          "key",
                                                            "keys",     "wifis",     "access-points", "modems"};
  return std::find(kSecrets.begin(), kSecrets.end(), key) != kSecrets.end();
}

bool holds_secrets(const Value& value) {
  if (value.entries() != nullptr) {
    return std::any_of(value.entries()->begin(), value.entries()->end(),
                       [](const MapEntry& entry) { return names_a_secret(entry.key) || holds_secrets(entry.value); });
  }
  const auto* items = value.list_items();
  return items != nullptr && std::any_of(items->begin(), items->end(), holds_secrets);
}

}  // namespace

Result<std::string> with_emptied(std::string_view text, const std::string& interface) {
  SPARK_TRY(const Range range, range_of(text, interface));
  auto lines = lines_of(text);
  const auto first = lines.begin() + static_cast<std::ptrdiff_t>(range.begin);
  *first = mark_line(*first, lines[range.end - 1], interface);
  lines.erase(first + 1, lines.begin() + static_cast<std::ptrdiff_t>(range.end));
  return text_of(lines);
}

std::string with_restored(std::string_view text, std::string_view original, const std::string& interface) {
  const auto range = range_of(original, interface);
  if (!range) return std::string(text);
  const auto before = lines_of(original);
  std::string restored;
  for (const std::string& line : lines_of(text)) {
    if (marked_interface(line) != interface) {
      restored += line;
      continue;
    }
    for (std::size_t i = range->begin; i < range->end; ++i) restored += before[i];
    if (line.ends_with('\n') && !restored.ends_with('\n')) restored += '\n';
  }
  return restored;
}

std::set<std::string> emptied_in(std::string_view text) {
  std::set<std::string> found;
  for (const std::string& line : lines_of(text)) {
    if (auto interface = marked_interface(line)) found.insert(*std::move(interface));
  }
  return found;
}

std::string why_not_taken_over(const std::string& path, std::string_view text, const Value& tree,
                               const std::string& interface) {
  if (!path.starts_with("/etc/netplan/")) return "only files in /etc/netplan are taken over";
  if (holds_secrets(tree)) return "that file holds secrets, which stay on the node";
  const auto emptied = with_emptied(text, interface);
  return emptied ? "" : emptied.error().message;
}

}  // namespace sparkplan::netplan
