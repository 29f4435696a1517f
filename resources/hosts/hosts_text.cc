#include <algorithm>
#include <cctype>
#include <string>

#include "engine/core/text.h"
#include "engine/resource/managed_block.h"
#include "resources/hosts/hosts.h"

namespace sparkplan::hosts {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::vector<Entry> parse_hosts(std::string_view text) {
  std::vector<Entry> entries;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
    for (std::size_t i = 1; i < words.size(); ++i) {
      entries.push_back({words.front(), words[i], number});
    }
  }
  return entries;
}

std::string render_block(const std::map<std::string, std::string>& addresses) {
  std::string text;
  for (const auto& [name, address] : addresses) text += address + " " + name + "\n";
  return text;
}

std::optional<Entry> claimed_above(std::string_view text, std::string_view name, bool ipv6) {
  for (const Entry& entry : parse_hosts(text_above_block(text))) {
    const bool same_family = ipv6 ? is_ipv6(entry.address) : is_ipv4(entry.address);
    if (same_family && same_name(entry.name, name)) return entry;
  }
  return std::nullopt;
}

}  // namespace sparkplan::hosts
