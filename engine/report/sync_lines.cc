#include "engine/report/sync_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"

namespace sparkplan {

std::string line_text(const NodeLine& line, const TextStyle& style) {
  FlowingLine flowing("  " + paint(std::string(1, line.symbol), colour_of_symbol(line.symbol), style), 3, 4, style);
  flowing.add({fold_names(line.nodes), Colour::kBold, 1});
  flowing.add_words(line.text, Colour::kNone, 1);
  const std::string hint = line.hint.empty() ? "" : wrapped("hint: " + line.hint, 6, style);
  return std::move(flowing).text() + hint;
}

std::string content_size_text(std::int64_t bytes) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits{{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};
  const auto number = static_cast<double>(bytes);
  for (const auto& [size, unit] : kUnits) {
    if (number < size) continue;
    return number < 100 * size ? fmt::format("{:.1f} {}", number / size, unit)
                               : fmt::format("{:.0f} {}", number / size, unit);
  }
  return counted(static_cast<std::size_t>(bytes), "byte");
}

std::string files_text(std::size_t files) { return counted(files, "file"); }

std::string first_names(const std::vector<std::string>& names, std::size_t count) {
  constexpr std::size_t kShown = 3;
  // A node words its names, and a question must stay in sight.
  constexpr std::size_t kLongestName = 200;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) shown.push_back(shown_text(names[i], kLongestName));
  if (count > shown.size()) shown.push_back(fmt::format("{} more", count - shown.size()));
  return join(shown, ", ");
}

}  // namespace sparkplan
