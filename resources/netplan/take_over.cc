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

/// Removes the first line from the text, and returns it with its end. A node's text can have millions of lines.
std::string_view take_whole_line(std::string_view& text) {
  const std::string_view whole = text;
  return whole.substr(0, take_line(text).size() + 1);
}

std::string_view indent_of(std::string_view line) { return line.substr(0, line.find_first_not_of(" \t\r\n")); }

/// Adds the replacement of these lines: an empty definition, and the lines as comments.
void add_emptied(std::span<const std::string_view> lines, const std::string& key, const std::string& interface,
                 std::string& text) {
  text += indent_of(lines.front());
  text += key;
  text += kMark;
  text += key == interface ? kItself : std::string_view(interface);
  text += kEndOfMark;
  text += '\n';
  for (const std::string_view line : lines) {
    text += kKept;
    text += line;
  }
}

struct Marked {
  std::string key;
  std::string interface;
};

std::optional<Marked> marked_in(std::string_view line) {
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

/// Line numbers from 0: the line of the key, and the line after the last one.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string key;
};

tl::unexpected<Error> not_determined(const std::string& key) {
  return failure(ErrorCode::kUnsupported, "the lines that define " + key + " cannot be determined");
}

/// The lines of these definitions, in their order. Empties the definitions in the tree.
Result<std::vector<Range>> take_ranges(const KeysToEmpty& keys, ParsedYaml& file) {
  std::vector<Range> ranges;
  for (const auto& [key, interface] : keys) {
    MapEntry* entry = definition_in(file.tree, key);
    if (entry == nullptr) return failure(ErrorCode::kNotFound, "there is no definition of " + key);
    const auto last = file.last_lines.find(key);
    if (last == file.last_lines.end()) return not_determined(key);
    const int line = entry->key_where.line;
    ranges.push_back({static_cast<std::size_t>(line - 1), static_cast<std::size_t>(std::max(line, last->second)), key});
    entry->value = Value::map();
  }
  std::ranges::sort(ranges, {}, &Range::begin);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) return not_determined(ranges[i].key);
  }
  return ranges;
}

/// The text with these definitions emptied.
Result<std::string> replaced(std::string_view text, const std::vector<Range>& ranges, const KeysToEmpty& keys) {
  const auto lines = lines_with_ends(text);
  const std::span all(lines);
  std::string replaced;
  std::size_t done = 0;
  const auto keep_until = [&](std::size_t end) {
    for (; done < end; ++done) replaced += all[done];
  };
  for (const Range& range : ranges) {
    if (range.end > lines.size()) return not_determined(range.key);
    if (range.end < lines.size() && lines[range.end].starts_with(kKept)) {
      return failure(ErrorCode::kUnsupported,
                     "comments of an earlier takeover follow the definition: remove one of the two");
    }
    keep_until(range.begin);
    add_emptied(all.subspan(range.begin, range.end - range.begin), range.key, keys.at(range.key), replaced);
    done = range.end;
  }
  keep_until(lines.size());
  return replaced;
}

bool names_a_secret(const std::string& key) {
  static constexpr std::array<std::string_view, 6> kWhole{"auth", "key", "keys", "wifis", "access-points", "modems"};
  // Also keys of NetworkManager: "802-1x.password", "wifi-security.psk", "wireguard.private-key".
  static constexpr std::array<std::string_view, 4> kParts{"password", "psk", "secret", "private-key"};
  return std::ranges::find(kWhole, key) != kWhole.end() ||
         std::ranges::any_of(kParts, [&](std::string_view part) { return key.find(part) != std::string::npos; });
}

/// Whether the line begins a definition of this name.
bool begins(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return false;
  line.remove_prefix(key.size());
  if (line.starts_with('"') || line.starts_with('\'')) line.remove_prefix(1);
  return trim(line).starts_with(':');
}

/// The number of lines that begin a definition of each name, at any depth: of two, a parser takes the last one.
std::map<std::string, std::size_t> counts_of(std::string_view text, const KeysToEmpty& keys) {
  std::map<std::string, std::size_t> counts;
  for_each_line(text, [&](std::string_view whole) {
    std::string_view line = trim(whole);
    if (line.starts_with('"') || line.starts_with('\'')) line.remove_prefix(1);
    if (line.empty()) return;
    for (const auto& [key, interface] : keys) {
      if (begins(line, key)) ++counts[key];
    }
  });
  return counts;
}

/// The keys that the text has not emptied yet. Errors: kUnsupported for a key that is defined more than once.
Result<KeysToEmpty> still_to_empty(std::string_view text, const KeysToEmpty& keys) {
  auto counts = counts_of(text, keys);
  const auto before = emptied_in(text);
  KeysToEmpty left;
  for (const auto& [key, interface] : keys) {
    const std::size_t count = counts[key];
    if (count > 1) return failure(ErrorCode::kUnsupported, key + " is defined more than once in that file");
    if (count == 0 || !before.contains(key)) left.emplace(key, interface);
  }
  return left;
}

}  // namespace

Result<std::string> with_emptied(std::string_view text, const KeysToEmpty& keys) {
  SPARK_TRY(const KeysToEmpty left, still_to_empty(text, keys));
  if (left.empty()) return std::string(text);
  SPARK_TRY(ParsedYaml file, parse_yaml_with_lines(text));
  SPARK_TRY(const auto ranges, take_ranges(left, file));
  SPARK_TRY(std::string emptied, replaced(text, ranges, left));
  const auto parsed = parse_yaml(emptied);
  if (!parsed || *parsed != file.tree) return not_determined(ranges.front().key);
  return emptied;
}

std::string with_restored(std::string_view text, const std::set<std::string>& keys) {
  std::string restored;
  bool inside = false;
  while (!text.empty()) {
    const std::string_view line = take_whole_line(text);
    if (const auto marked = marked_in(line)) {
      inside = keys.contains(marked->key);
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
  for_each_line(text, [&](std::string_view line) {
    if (auto marked = marked_in(line)) found.emplace(std::move(marked->key), std::move(marked->interface));
  });
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

std::string why_not_emptied_at(std::string_view path) {
  constexpr std::string_view kDirectory = "/etc/netplan/";
  constexpr std::size_t kLongestFileName = 255;  // Source: NAME_MAX, linux/limits.h.
  const bool there = path.starts_with(kDirectory) && path.size() <= kDirectory.size() + kLongestFileName;
  return there ? "" : "only files in /etc/netplan are taken over";
}

std::string why_not_taken_over(const std::string& path, std::string_view text, const Value& tree,
                               const std::string& key) {
  if (auto elsewhere = why_not_emptied_at(path); !elsewhere.empty()) return elsewhere;
  if (holds_secrets(tree)) return "that file holds secrets, which stay on the node";
  const auto emptied = with_emptied(text, {{key, key}});
  return emptied ? "" : emptied.error().message;
}

}  // namespace sparkplan::netplan
