#include "engine/report/sync_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/sync/image.h"

namespace sparkplan {
namespace {

/// Nodes of one item with the same line.
struct NodeLine {
  char symbol = '=';
  std::string text;
  std::string hint;
  std::vector<std::string> nodes;
};

std::string files_text(std::size_t files) { return counted(files, "file"); }

/// The first ones of `count` names.
std::string first_of(const std::vector<std::string>& names, std::size_t count) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) shown.push_back(printable(names[i]));
  if (count > shown.size()) shown.push_back(fmt::format("{} more", count - shown.size()));
  return join(shown, ", ");
}
std::string first_of(const NameList& names) { return first_of(names.kept(), names.size()); }

std::string lack_text(const Comparison& found) {
  std::vector<std::string> parts;
  if (!found.missing.empty()) {
    parts.push_back(
        fmt::format("{} missing ({})", content_size_text(found.missing_bytes), files_text(found.missing.size())));
  }
  if (!found.differing.empty()) {
    parts.push_back(
        fmt::format("{} with other content: {}", files_text(found.differing.size()), first_of(found.differing)));
  }
  if (!found.unread.empty()) {
    parts.push_back(fmt::format("{} not compared yet ({})", content_size_text(found.unread_bytes),
                                files_text(found.unread.size())));
  }
  if (!found.properties.empty()) {
    parts.push_back("another mode or owner: " + first_of(found.properties));
  }
  return join(parts, "; ");
}

std::string lack_text(const ContentItem& item, const Comparison& found) {
  if (item.kind != ContentKind::kImage) return lack_text(found);
  if (found.missing.empty())
    return found.differing.empty() ? "" : "another image of this name: " + first_of(found.differing);
  return "the image is missing (" + content_size_text(found.missing_bytes) + ")";
}

NodeLine line_of(const ContentItem& item, const ContentOfNode& node) {
  switch (node.status) {
    case ContentStatus::kPresent:
      return {'=', node.is_source ? "source" : "present", "", {}};
    case ContentStatus::kMissing:
    case ContentStatus::kUnread:
      return {'~', lack_text(item, node.comparison), "", {}};
    case ContentStatus::kDiffers:
      return {'!', lack_text(item, node.comparison), "", {}};
    case ContentStatus::kSent:
      return {'~',
              fmt::format("received {} in {:.1f} s{}", content_size_text(node.bytes_received), node.seconds,
                          node.network == Network::kSsh ? " over SSH" : ""),
              "",
              {}};
    case ContentStatus::kSkipped:
      return {' ', "skipped", "", {}};
    case ContentStatus::kFailed:
    case ContentStatus::kUnreachable:
      break;
  }
  const std::string why = node.error ? printable(node.error->describe()) : "";
  return {'!', std::string(to_string(node.status)) + ": " + why, node.error ? printable(node.error->hint) : "", {}};
}

void add_line(std::vector<NodeLine>& lines, const ContentItem& item, const ContentOfNode& node) {
  NodeLine line = line_of(item, node);
  const auto twin = std::find_if(lines.begin(), lines.end(), [&](const NodeLine& other) {
    return std::tie(other.symbol, other.text, other.hint) == std::tie(line.symbol, line.text, line.hint);
  });
  NodeLine& kept = twin != lines.end() ? *twin : lines.emplace_back(std::move(line));
  kept.nodes.push_back(printable(node.node));
}

std::string_view engine_name(const ContentItem& item) {
  return names_of(item.engine)[static_cast<std::size_t>(item.engine)];
}

std::string text_of(const NodeLine& line, const TextStyle& style) {
  FlowingLine flowing("  " + paint(std::string(1, line.symbol), colour_of_symbol(line.symbol), style), 3, 4, style);
  flowing.add({fold_names(line.nodes), Colour::kBold, 1});
  flowing.add_words(line.text, Colour::kNone, 1);
  const std::string hint = line.hint.empty() ? "" : wrapped("hint: " + line.hint, 6, style);
  return std::move(flowing).text() + hint;
}

bool receives(const ContentOfNode& node) {
  return !node.is_source && (node.status == ContentStatus::kSent || !node.comparison.in_sync());
}

/// Nodes that the fabric does not join with the source: the management network is slow.
std::string warning_of(const ContentReport& item, const TextStyle& style) {
  std::vector<std::string> nodes;
  for (const ContentOfNode& node : item.nodes) {
    if (receives(node) && node.network == Network::kManagement) nodes.push_back(printable(node.node));
  }
  if (nodes.empty()) return "";
  return wrapped("warning: no common fabric network: " + fold_names(nodes) +
                     (nodes.size() == 1 ? " receives" : " receive") + " over the management network, encrypted",
                 2, style);
}

std::string text_of(const ContentReport& item, const TextStyle& style) {
  std::string text = paint(printable(item.item.name), Colour::kBold, style);
  if (item.error) {
    text += "\n  " + paint("! ", Colour::kRed, style) + printable(item.error->describe()) + "\n";
    return item.error->hint.empty() ? text : text + wrapped("hint: " + printable(item.error->hint), 6, style);
  }
  if (item.item.kind == ContentKind::kImage) {
    text += fmt::format("  {}, {}, id {}\n", engine_name(item.item), content_size_text(item.bytes),
                        short_id(item.image_id));
  } else {
    text += fmt::format("  {} in {}\n", content_size_text(item.bytes), files_text(item.files));
  }
  std::vector<NodeLine> lines;
  for (const ContentOfNode& node : item.nodes) add_line(lines, item.item, node);
  for (const NodeLine& line : lines) {
    if (style.quiet && line.symbol != '!') continue;
    text += text_of(line, style);
  }
  return text + warning_of(item, style);
}

/// The files of a tree that stay, and the reason.
std::string kept_text(const PrunedTree& tree) {
  if (tree.kept_files == 0) return "";
  return fmt::format("; {} not removed (not brought by a sync, or changed since): {}",
                     files_text(static_cast<std::size_t>(tree.kept_files)), first_of(tree.kept, tree.kept.size()));
}

std::string pruned_text(const PrunedTree& tree) {
  if (tree.path.empty()) return tree.error ? printable(tree.error->describe()) : "";
  std::string text = printable(tree.path) + (tree.kind == CopyTreeKind::kImage ? ", an archive of an image: " : ": ");
  if (tree.error) return text + printable(tree.error->describe());
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
    add({tree.error ? '!' : '-', pruned_text(tree), hint, {}}, tree.node);
  }
  for (const auto& [node, more] : unshown) add({more.with_error > 0 ? '!' : '-', more.text(), "", {}}, node);
  return lines;
}

std::string text_of(const std::vector<PrunedTree>& trees, const TextStyle& style) {
  if (trees.empty()) return "";
  std::string text = paint("no longer in the file", Colour::kBold, style) + "\n";
  for (const NodeLine& line : lines_of(trees)) text += text_of(line, style);
  return text;
}

Value list_of(const std::vector<std::string>& texts) {
  Value list{Value::List{}};
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

Value to_value(const ContentOfNode& node) {
  Value value = Value::map({{"name", node.node},
                            {"status", to_string(node.status)},
                            {"source", node.is_source},
                            {"bytes_missing", node.comparison.missing_bytes},
                            {"bytes_sent", node.bytes_received},
                            {"seconds", node.seconds}});
  if (receives(node)) value.set("network", to_string(node.network));
  if (!node.comparison.differing.empty()) value.set("differing", list_of(node.comparison.differing.kept()));
  if (!node.changed.empty()) value.set("changed", list_of(node.changed));
  if (node.error) value.set("error", node.error->describe());
  return value;
}

Value to_value(const PrunedTree& tree) {
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
  if (!tree.kept.empty()) value.set("kept", list_of(tree.kept));
  if (tree.error) value.set("error", tree.error->describe());
  return value;
}

void add_note(Report& report, const ContentReport& item, const std::string& code, const std::string& text,
              const std::vector<std::string>& nodes) {
  Diagnostic note{Severity::kNote,
                  code,
                  fold_names(nodes) + ": " + item.item.name + ": " + text,
                  "run `sparkplan sync`",
                  report.file,
                  item.item.where,
                  {},
                  {}};
  report.diagnostics.push_back(std::move(note));
}

}  // namespace

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

std::string to_text(const SyncReport& report, bool dry_run, const TextStyle& style) {
  std::string text;
  std::set<std::string> received;
  std::set<std::string> failed;
  std::set<std::string> lacking;
  std::int64_t bytes = 0;
  std::size_t without_source = 0;
  std::size_t without_consent = 0;
  for (const ContentReport& item : report.items) {
    text += text_of(item, style);
    if (item.error) ++(item.error->code == ErrorCode::kRefused ? without_consent : without_source);
    for (const ContentOfNode& node : item.nodes) {
      if (node.error) failed.insert(node.node);
      if (node.status == ContentStatus::kSent) {
        received.insert(node.node);
        bytes += std::min(node.bytes_received, std::numeric_limits<std::int64_t>::max() - bytes);
      } else if (!node.error && !node.comparison.in_sync()) {
        lacking.insert(node.node);
      }
    }
  }
  text += text_of(report.pruned, style);
  std::size_t removed = 0;
  for (const PrunedTree& tree : report.pruned) {
    if (tree.removed) ++removed;
    if (tree.error) failed.insert(tree.node);
  }
  if (report.items.empty() && report.pruned.empty())
    return "Nothing to sync: the file has neither `models` nor `images`.\n";
  std::vector<std::string> parts;
  if (!received.empty()) parts.push_back(counted(received.size(), "node") + " received " + content_size_text(bytes));
  if (!lacking.empty()) {
    parts.push_back(counted(lacking.size(), "node") + (dry_run               ? " would receive content"
                                                       : lacking.size() == 1 ? " still lacks content"
                                                                             : " still lack content"));
  }
  if (removed > 0)
    parts.push_back(std::to_string(removed) + (removed == 1 ? " directory" : " directories") + " pruned");
  if (!failed.empty()) parts.push_back(counted(failed.size(), "node") + " failed");
  if (without_consent > 0) parts.push_back(counted(without_consent, "item") + " without consent");
  if (without_source > 0) parts.push_back(counted(without_source, "item") + " without a source");
  return text + "Sync: " + (parts.empty() ? "nothing to do" : join(parts, ", ")) + ".\n";
}

Value to_json_value(const SyncReport& report) {
  Value items{Value::List{}};
  for (const ContentReport& item : report.items) {
    Value nodes{Value::List{}};
    for (const ContentOfNode& node : item.nodes) nodes.push_back(to_value(node));
    Value value = Value::map({{"kind", to_string(item.item.kind)},
                              {"name", item.item.name},
                              {"bytes", item.bytes},
                              {"files", static_cast<std::int64_t>(item.files)},
                              {"nodes", std::move(nodes)}});
    if (item.item.kind == ContentKind::kImage) {
      value.set("engine", engine_name(item.item));
      if (!item.image_id.empty()) value.set("image_id", item.image_id);
    }
    if (item.error) value.set("error", item.error->describe());
    items.push_back(std::move(value));
  }
  Value value = Value::map({{"format_version", "1.0"}, {"command", "sync"}, {"items", std::move(items)}});
  if (report.pruned.empty()) return value;
  Value pruned{Value::List{}};
  for (const PrunedTree& tree : report.pruned) pruned.push_back(to_value(tree));
  value.set("pruned", std::move(pruned));
  return value;
}

std::string progress_json(const ContentItem& item, const std::string& node, const TransferProgress& progress) {
  return public_json(Value::map({{"name", item.name},
                                 {"node", node},
                                 {"bytes_done", progress.done_bytes},
                                 {"bytes_total", progress.total_bytes},
                                 {"bytes_per_second", progress.bytes_per_second}}),
                     -1);
}

std::string progress_text(const TransferProgress& progress) {
  std::string text = content_size_text(progress.done_bytes) + " of " + content_size_text(progress.total_bytes);
  const auto left = static_cast<double>(progress.total_bytes - progress.done_bytes);
  if (progress.bytes_per_second < 1) return text;
  // A node's claim can be a rate that no integer holds.
  constexpr double kFastest = 1e18;
  text += ", " + content_size_text(static_cast<std::int64_t>(std::min(progress.bytes_per_second, kFastest))) + "/s";
  return text + fmt::format(", {:.0f} s left", left / progress.bytes_per_second);
}

std::string question_text(const ContentReport& report) {
  std::map<std::string, std::vector<std::string>> nodes_by_names;
  for (const ContentOfNode& node : report.nodes) {
    if (node.status != ContentStatus::kDiffers) continue;
    nodes_by_names[first_of(node.comparison.differing)].push_back(printable(node.node));
  }
  std::string text = printable(report.item.name) + ": these nodes have other content:\n";
  for (const auto& [names, nodes] : nodes_by_names) text += "  ! " + fold_names(nodes) + ": " + names + "\n";
  return text;
}

std::string question_text(const std::vector<PrunedTree>& trees) {
  return "An earlier sync brought these directories, and no entry of the file names them:\n" +
         text_of(trees, TextStyle{});
}

std::string spread_question_text(const ContentReport& report) {
  std::string source;
  for (const ContentOfNode& node : report.nodes) {
    if (node.is_source) source = printable(node.node);
  }
  const std::string name = printable(report.item.name);
  if (report.item.kind == ContentKind::kImage) {
    return name + ": the file names no source, and only " + source + " has the image " + short_id(report.image_id) +
           "\n";
  }
  return name + ": the file names no source, and only " + source + " has " + files_text(report.unshared.size()) + ": " +
         first_of(report.unshared) + "\n";
}

ExitCode exit_code(const SyncReport& report) {
  std::set<ExitCode> codes;
  for (const PrunedTree& tree : report.pruned) {
    if (tree.error) codes.insert(exit_code_of(*tree.error));
  }
  if (report.interrupted) codes.insert(ExitCode::kNodeFailed);
  for (const ContentReport& item : report.items) {
    if (item.error) codes.insert(exit_code_of(*item.error));
    for (const ContentOfNode& node : item.nodes) {
      if (!node.error) continue;
      codes.insert(node.too_little_space ? ExitCode::kVerificationFailed : exit_code_of(*node.error));
    }
  }
  return first_of(codes);
}

void add_content(Report& report, const SyncReport& content) {
  for (const ContentReport& item : content.items) {
    if (item.error) add_note(report, item, "content.no-source", printable(item.error->describe()), {"all nodes"});
    std::map<std::string, std::vector<std::string>> by_text;
    std::vector<std::string> changed;
    for (const ContentOfNode& node : item.nodes) {
      if (!node.changed.empty()) changed.push_back(printable(node.node));
      // A node that the command itself could not read has its own line.
      if (node.error && (node.status == ContentStatus::kUnreachable || item.error)) continue;
      if (node.error) {
        by_text["not read: " + printable(node.error->describe())].push_back(printable(node.node));
      } else if (!node.comparison.in_sync()) {
        by_text[lack_text(item.item, node.comparison)].push_back(printable(node.node));
      }
    }
    for (const auto& [text, nodes] : by_text) add_note(report, item, "content.missing", text, nodes);
    if (changed.empty()) continue;
    report.content_changed = true;
    add_note(report, item, "content.changed", "files were changed since a sync brought them", changed);
  }
}

}  // namespace sparkplan
