#include "resources/netplan/take_over.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {
namespace {

/// After an emptied definition. It shows a person where the interface is defined, and sparkplan what to restore for
/// which interface.
constexpr std::string_view kMark = ": {}  # sparkplan: 60-sparkplan-fabric.yaml defines ";
constexpr std::string_view kEndOfMark = "; this did:";
/// In place of the interface's name if the definition has that name as key.
constexpr std::string_view kItself = "it";
/// Before each line to restore.
constexpr std::string_view kKept = "#sparkplan:";
/// The most lines that a definition may have after its last value: closing braces.
constexpr std::size_t kMostClosingLines = 8;

std::vector<std::string> lines_of(std::string_view text) {
  const auto lines = lines_with_ends(text);
  return {lines.begin(), lines.end()};
}

std::string text_of(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::string indent_of(const std::string& line) { return line.substr(0, line.find_first_not_of(" \t\r\n")); }

/// The replacement of these lines: an empty definition, and the lines as comments.
std::string emptied(std::span<const std::string> lines, const std::string& key, const std::string& interface) {
  std::string text = indent_of(lines.front()) + key + std::string(kMark) +
                     (key == interface ? std::string(kItself) : interface) + std::string(kEndOfMark) + "\n";
  for (const std::string& line : lines) text += std::string(kKept) + line;
  return text;
}

struct Marked {
  std::string key;
  std::string interface;
};

std::optional<Marked> marked_in(const std::string& line) {
  const std::string_view text = trim(line);
  const auto mark = text.find(kMark);
  if (mark == std::string_view::npos || !text.ends_with(kEndOfMark)) return std::nullopt;
  const std::string_view key = text.substr(0, mark);
  // A person has commented it out, or edited it.
  if (key.empty() || key.find_first_of("# \t") != std::string_view::npos) return std::nullopt;
  const auto begin = mark + kMark.size();
  if (text.size() < begin + kEndOfMark.size()) return std::nullopt;
  const std::string_view interface = text.substr(begin, text.size() - kEndOfMark.size() - begin);
  return Marked{std::string(key), std::string(interface == kItself ? key : interface)};
}

MapEntry* definition_in(Value& tree, const std::string& key) {
  Value* network = tree.find("network");
  Value* ethernets = network == nullptr ? nullptr : network->find("ethernets");
  if (ethernets == nullptr || ethernets->entries() == nullptr) return nullptr;
  auto& entries = *ethernets->entries();
  const auto found = std::ranges::find_if(entries, [&](auto& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

int last_line_of(const Value& value) {
  int last = value.where.line;
  for (const MapEntry& entry : entries_of(value)) {
    last = std::max({last, entry.key_where.line, last_line_of(entry.value)});
  }
  for (const Value& item : items_of(value)) last = std::max(last, last_line_of(item));
  return last;
}

/// Line numbers from 0: the line of the key, and the line after the last one.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::string replaced(const std::vector<std::string>& lines, const Range& range, const std::string& key,
                     const std::string& interface) {
  const std::span all(lines);
  return text_of(all.first(range.begin)) + emptied(all.subspan(range.begin, range.end - range.begin), key, interface) +
         text_of(all.subspan(range.end));
}

/// The lines of this definition alone: without them, the rest of the file has the same meaning.
Result<Range> range_of(std::string_view text, const std::string& key) {
  SPARK_TRY(Value tree, parse_yaml(text));
  MapEntry* entry = definition_in(tree, key);
  if (entry == nullptr) return failure(ErrorCode::kNotFound, "there is no definition of " + key);
  const auto first = static_cast<std::size_t>(entry->key_where.line - 1);
  const auto last = static_cast<std::size_t>(std::max(entry->key_where.line, last_line_of(entry->value)));
  entry->value = Value::map();
  const auto lines = lines_of(text);
  for (std::size_t end = last; end <= std::min(lines.size(), last + kMostClosingLines); ++end) {
    const auto parsed = parse_yaml(replaced(lines, {first, end}, key, key));
    if (parsed && *parsed == tree) return Range{first, end};
  }
  return failure(ErrorCode::kUnsupported, "the lines that define " + key + " cannot be determined");
}

bool names_a_secret(const std::string& key) {
  static constexpr std::array<std::string_view, 6> kWhole{"auth", "key", "keys", "wifis", "access-points", "modems"};
  // Also keys of NetworkManager: "802-1x.password", "wifi-security.psk", "wireguard.private-key".
  static constexpr std::array<std::string_view, 4> kParts{"password", "psk", "secret", "private-key"};
  return std::ranges::find(kWhole, key) != kWhole.end() ||
         std::ranges::any_of(kParts, [&](std::string_view part) { return key.find(part) != std::string::npos; });
}

/// The number of lines that begin a definition of this name, at any depth: of two, a parser takes the last one.
std::size_t count_of(std::string_view text, const std::string& key) {
  std::size_t count = 0;
  for (const std::string& line : lines_of(text)) {
    std::string_view begin = trim(line);
    if (begin.starts_with('"') || begin.starts_with('\'')) begin.remove_prefix(1);
    if (!begin.starts_with(key)) continue;
    begin.remove_prefix(key.size());
    if (begin.starts_with('"') || begin.starts_with('\'')) begin.remove_prefix(1);
    count += trim(begin).starts_with(':') ? 1U : 0U;
  }
  return count;
}

}  // namespace

Result<std::string> with_emptied(std::string_view text, const std::string& key, const std::string& interface) {
  const std::size_t definitions = count_of(text, key);
  const bool emptied_before = emptied_in(text).contains(key);
  if (emptied_before && definitions == 1) return std::string(text);
  if (definitions > 1) return failure(ErrorCode::kUnsupported, key + " is defined more than once in that file");
  SPARK_TRY(const Range range, range_of(text, key));
  const auto lines = lines_of(text);
  if (range.end < lines.size() && lines[range.end].starts_with(kKept)) {
    return failure(ErrorCode::kUnsupported,
                   "comments of an earlier takeover follow the definition: remove one of the two");
  }
  return replaced(lines, range, key, interface);
}

std::string with_restored(std::string_view text, const std::string& key) {
  std::string restored;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    if (const auto marked = marked_in(line)) {
      inside = marked->key == key;
      if (inside) continue;
    }
    // A person may have inserted blank lines or comments between them.
    const bool says_nothing = trim(line).empty() || trim(line).starts_with('#');
    inside = inside && says_nothing;
    const bool kept = inside && line.starts_with(kKept);
    // The file's last line may have had no newline, and others may follow it by now.
    if (!restored.empty() && !restored.ends_with('\n')) restored += '\n';
    restored += kept ? line.substr(kKept.size()) : line;
  }
  return restored;
}

std::map<std::string, std::string> emptied_in(std::string_view text) {
  std::map<std::string, std::string> found;
  for (const std::string& line : lines_of(text)) {
    if (auto marked = marked_in(line)) found.emplace(std::move(marked->key), std::move(marked->interface));
  }
  return found;
}

bool holds_secrets(const Value& tree) {
  if (tree.entries() != nullptr) {
    return std::ranges::any_of(
        *tree.entries(), [](const MapEntry& entry) { return names_a_secret(entry.key) || holds_secrets(entry.value); });
  }
  const auto* items = tree.list_items();
  return items != nullptr && std::ranges::any_of(*items, holds_secrets);
}

std::string why_not_taken_over(const std::string& path, std::string_view text, const Value& tree,
                               const std::string& key) {
  if (!path.starts_with("/etc/netplan/")) return "only files in /etc/netplan are taken over";
  if (holds_secrets(tree)) return "that file holds secrets, which stay on the node";
  const auto emptied = with_emptied(text, key, key);
  return emptied ? "" : emptied.error().message;
}

}  // namespace sparkplan::netplan
