#include "engine/report/sync_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"

namespace sparkplan {
namespace {

/// The files of a tree that stay, and the reason.
std::string kept_text(const PrunedTree& tree) {
  if (tree.kept_files == 0) return "";
  return fmt::format("; {} not removed (not brought by a sync, or changed since): {}",
                     files_text(static_cast<std::size_t>(tree.kept_files)), first_names(tree.kept));
}

std::string tree_text(const PrunedTree& tree) {
  if (tree.path.empty()) return tree.error ? printable(tree.error->describe()) : "";
  constexpr std::size_t kLongestPath = 200;
  std::string text =
      shown_text(tree.path, kLongestPath) + (tree.kind == CopyTreeKind::kImage ? ", an archive of an image: " : ": ");
  if (!tree.image.empty()) text = "image " + shown_text(tree.image, kLongestPath) + ": ";
  if (tree.error) return text + printable(tree.error->describe());
  if (!tree.image.empty() && tree.kept_files > 0) return text + "not removed, it is also " + first_names(tree.kept);
  if (!tree.image.empty()) return text + content_size_text(tree.bytes) + (tree.removed ? " removed" : "");
  return text + content_size_text(tree.bytes) + " in " + files_text(static_cast<std::size_t>(tree.files)) +
         (tree.removed ? " removed" : "") + kept_text(tree);
}

/// The directories of a node that are not shown, counted.
struct UnshownTrees {
  std::size_t trees = 0;
  std::size_t with_error = 0;
  std::int64_t files = 0;
  std::int64_t bytes = 0;

  void add(const PrunedTree& tree) {
    constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
    ++trees;
    if (tree.error) ++with_error;
    files += std::min(tree.files, kLargest - files);
    bytes += std::min(tree.bytes, kLargest - bytes);
  }
  std::string text() const {
    return fmt::format("{} more {}: {} in {}{}", trees, trees == 1 ? "directory" : "directories",
                       content_size_text(bytes), files_text(static_cast<std::size_t>(files)),
                       with_error > 0 ? fmt::format(", {} with an error", with_error) : "");
  }
};

/// One line for nodes with the same state of a directory. A node can name a thousand directories.
std::vector<NodeLine> lines_of(const std::vector<PrunedTree>& trees) {
  constexpr std::size_t kShownTrees = 20;
  std::vector<NodeLine> lines;
  std::map<std::pair<char, std::string>, std::size_t> places;
  const auto add = [&](NodeLine line, const std::string& node) {
    const auto [place, is_new] = places.try_emplace(std::pair(line.symbol, line.text), lines.size());
    if (is_new) lines.push_back(std::move(line));
    lines[place->second].nodes.push_back(printable(node));
  };
  std::map<std::string, std::size_t> shown;
  std::map<std::string, UnshownTrees> unshown;
  for (const PrunedTree& tree : trees) {
    if (++shown[tree.node] > kShownTrees) {
      unshown[tree.node].add(tree);
      continue;
    }
    const std::string hint = tree.error ? printable(tree.error->hint) : "";
    add({tree.error ? '!' : '-', tree_text(tree), hint, {}}, tree.node);
  }
  for (const auto& [node, more] : unshown) add({more.with_error > 0 ? '!' : '-', more.text(), "", {}}, node);
  return lines;
}

}  // namespace

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
  constexpr std::size_t kLongestShownName = 200;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    shown.push_back(shown_text(names[i], kLongestShownName));
  if (count > shown.size()) shown.push_back(fmt::format("{} more", count - shown.size()));
  return join(shown, ", ");
}

std::string pruned_text(const std::vector<PrunedTree>& trees, const TextStyle& style) {
  if (trees.empty()) return "";
  std::string text = paint("no longer in the file", Colour::kBold, style) + "\n";
  for (const NodeLine& line : lines_of(trees)) text += line_text(line, style);
  return text;
}

std::string question_text(const std::vector<PrunedTree>& trees) {
  const bool any_image = std::any_of(trees.begin(), trees.end(), [](const auto& tree) { return !tree.image.empty(); });
  return std::string("An earlier sync brought these directories") + (any_image ? " and images" : "") +
         ", and no entry of the file names them:\n" + pruned_text(trees, TextStyle{});
}

Value to_json_value(const PrunedTree& tree) {
  const bool refused = tree.error && tree.error->code == ErrorCode::kRefused;
  Value value = Value::map({{"node", tree.node},
                            {"path", tree.path},
                            {"status", tree.removed ? "removed"
                                       : refused    ? "refused"
                                       : tree.error ? "failed"
                                                    : "found"},
                            {"files", tree.files},
                            {"bytes", tree.bytes},
                            {"kept_files", tree.kept_files}});
  if (!tree.image.empty()) value.set("image", tree.image);
  if (!tree.kept.empty()) value.set("kept", list_of_texts(tree.kept));
  if (tree.error) value.set("error", tree.error->describe());
  return value;
}

}  // namespace sparkplan
