#include "engine/report/sync_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/model/container_image.h"

namespace sparkplan {
namespace {

/// Of missing files: what an interrupted sync has left there.
std::string unfinished_text(const Comparison& found) {
  if (found.unfinished_bytes == 0) return "";
  return fmt::format(", {} of them are there unfinished, {} are still to be sent",
                     content_size_text(found.unfinished_bytes),
                     content_size_text(found.missing_bytes - found.unfinished_bytes));
}

std::string lack_text(const Comparison& found) {
  std::vector<std::string> parts;
  if (!found.missing.empty()) {
    parts.push_back(fmt::format("{} missing ({}){}", content_size_text(found.missing_bytes),
                                files_text(found.missing.size()), unfinished_text(found)));
  }
  if (!found.differing.empty()) {
    parts.push_back(fmt::format("{} {} ({}): {}", files_text(found.differing.size()),
                                found.differing.size() == 1 ? "differs" : "differ",
                                content_size_text(found.differing_bytes), first_names(found.differing)));
  }
  if (found.other_kind) {
    parts.push_back(
        "to be moved by hand, here or on the source, because a directory is in the place of a file, or the reverse: " +
        first_names({*found.other_kind}, found.other_kinds));
  }
  if (!found.unread.empty()) {
    parts.push_back(fmt::format("{} not compared yet ({})", content_size_text(found.unread_bytes),
                                files_text(found.unread.size())));
  }
  if (!found.properties.empty()) {
    parts.push_back("another mode or owner: " + first_names(found.properties));
  }
  return join(parts, "; ");
}

std::string lack_text(const ContentItem& item, const Comparison& found) {
  if (item.kind != ContentKind::kImage) return lack_text(found);
  if (found.missing.empty())
    return found.differing.empty() ? "" : "another image of this name: " + first_names(found.differing);
  return "the image is missing (" + content_size_text(found.missing_bytes) + ")";
}

std::string pace_text(const ContentOfNode& node) {
  const std::string by = node.slower_than.empty() ? "" : " compared with " + printable(node.slower_than);
  if (node.delays) return "; slow" + by + ", and the cables leave the nodes behind it no other way";
  return node.slow ? "; slow" + by + "; the others did not wait for it" : "";
}

NodeLine line_of(const ContentItem& item, const ContentOfNode& node) {
  switch (node.status) {
    case ContentStatus::kPresent:
      if (node.stopped) return {'!', "present; sent no more: " + printable(node.stopped->describe()), "", {}};
      return {'=', node.is_source ? "source" : "present", "", {}};
    case ContentStatus::kUnread:
      if (node.comparison.in_sync()) return {' ', "not compared", "", {}};
      [[fallthrough]];
    case ContentStatus::kMissing:
      return {'~', lack_text(item, node.comparison), "", {}};
    case ContentStatus::kDiffers:
      return {'!', lack_text(item, node.comparison), "", {}};
    case ContentStatus::kSent:
      return {'~',
              fmt::format("received {} in {:.1f} s{}{}", content_size_text(node.bytes_received), node.seconds,
                          node.network == Network::kSsh ? " over SSH" : "", pace_text(node)),
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

/// Of an item that was sent to no node: the error, and why nodes were not read.
std::string unsent_text(const ContentReport& item, const TextStyle& style) {
  std::string text = "\n  " + paint("! ", Colour::kRed, style) + printable(item.error->describe()) + "\n";
  if (!item.error->hint.empty()) text += wrapped("hint: " + printable(item.error->hint), 6, style);
  std::vector<NodeLine> lines;
  for (const ContentOfNode& node : item.nodes) {
    if (node.error && node.error->describe() != item.error->describe()) add_line(lines, item.item, node);
  }
  for (const NodeLine& line : lines) text += line_text(line, style);
  return text;
}

std::string text_of(const ContentReport& item, const TextStyle& style) {
  std::string text = paint(printable(item.item.name), Colour::kBold, style);
  if (item.error) return text + unsent_text(item, style);
  if (item.item.kind == ContentKind::kImage) {
    text += fmt::format("  {}, {}, id {}\n", to_string(item.item.engine), content_size_text(item.bytes),
                        short_image_id(item.image_id));
  } else {
    text += fmt::format("  {} in {}\n", content_size_text(item.bytes), files_text(item.files));
  }
  std::vector<NodeLine> lines;
  for (const ContentOfNode& node : item.nodes) add_line(lines, item.item, node);
  std::string below;
  for (const NodeLine& line : lines) {
    if (style.quiet && line.symbol != '!') continue;
    below += line_text(line, style);
  }
  below += warning_of(item, style);
  return style.quiet && below.empty() ? "" : text + below;
}

Value to_value(const ContentOfNode& node) {
  Value value = Value::map({{"name", node.node},
                            {"status", to_string(node.status)},
                            {"source", node.is_source},
                            {"bytes_missing", node.comparison.missing_bytes},
                            {"bytes_sent", node.bytes_received},
                            {"seconds", node.seconds}});
  if (node.comparison.unfinished_bytes > 0) value.set("bytes_unfinished", node.comparison.unfinished_bytes);
  if (receives(node)) value.set("network", to_string(node.network));
  if (!node.comparison.differing.empty()) value.set("differing", list_of_texts(node.comparison.differing.kept()));
  if (!node.changed.empty()) value.set("changed", list_of_texts(node.changed));
  if (node.slow) value.set("slow", true);
  if (!node.slower_than.empty()) value.set("slower_than", node.slower_than);
  if (node.delays) value.set("delays_others", true);
  if (node.stopped) value.set("stopped", node.stopped->describe());
  if (node.error) value.set("error", node.error->describe());
  return value;
}

std::optional<double> seconds_left(const TransferProgress& progress) {
  if (progress.bytes_per_second < 1) return std::nullopt;
  return static_cast<double>(progress.total_bytes - progress.done_bytes) / progress.bytes_per_second;
}

std::string source_of(const ContentReport& report) {
  const auto found = std::ranges::find_if(report.nodes, &ContentOfNode::is_source);
  return found == report.nodes.end() ? "" : printable(found->node);
}

/// One node may have made itself the source, so this says how many others stand against it.
std::string outvoted_text(const OutvotedFiles& outvoted, const std::string& source) {
  return fmt::format("{} has its version of {}, and {}{} other nodes agree on another one{}: {}", source,
                     files_text(outvoted.names.size()), outvoted.names.size() == 1 ? "" : "up to ", outvoted.agreeing,
                     outvoted.by_size ? " (by size)" : "", first_names(outvoted.names));
}

void add_note(Report& report, const ContentReport& item, const std::string& code, const std::string& text,
              const std::vector<std::string>& nodes, std::string hint = "run `sparkplan sync`") {
  Diagnostic note{Severity::kNote,
                  code,
                  fold_names(nodes) + ": " + item.item.name + ": " + text,
                  std::move(hint),
                  report.file,
                  item.item.where,
                  {},
                  {}};
  report.diagnostics.push_back(std::move(note));
}

/// Also if the other nodes have notes of what they lack: it is the source that may be wrong.
void add_outvoted(Report& report, const ContentReport& item) {
  if (item.outvoted.names.empty()) return;
  const std::string source = source_of(item);
  add_note(report, item, "content.outvoted", "only " + outvoted_text(item.outvoted, source), {source},
           "look at these files on " + source + ", and name the node with the right ones in `from`");
}

}  // namespace

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
  text += pruned_text(report.pruned, style);
  std::size_t removed = 0;
  std::size_t removed_images = 0;
  for (const PrunedTree& tree : report.pruned) {
    if (tree.removed) ++(tree.image.empty() ? removed : removed_images);
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
  if (removed_images > 0) parts.push_back(counted(removed_images, "image") + " pruned");
  if (!failed.empty()) parts.push_back(counted(failed.size(), "node") + " failed");
  if (without_consent > 0) parts.push_back(counted(without_consent, "item") + " without consent");
  if (without_source > 0) parts.push_back(counted(without_source, "item") + " without a source");
  const bool needs_attention = !failed.empty() || !lacking.empty() || without_consent + without_source > 0;
  if (style.quiet && text.empty() && !needs_attention) return "";
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
      value.set("engine", to_string(item.item.engine));
      if (!item.image_id.empty()) value.set("image_id", item.image_id);
    }
    if (item.error) value.set("error", item.error->describe());
    items.push_back(std::move(value));
  }
  Value value = Value::map({{"format_version", "1.0"}, {"command", "sync"}, {"items", std::move(items)}});
  if (report.pruned.empty()) return value;
  Value pruned{Value::List{}};
  for (const PrunedTree& tree : report.pruned) pruned.push_back(to_json_value(tree));
  value.set("pruned", std::move(pruned));
  return value;
}

std::string progress_json(const ContentItem& item, const std::string& node, const TransferProgress& progress) {
  Value value = Value::map({{"name", item.name},
                            {"node", node},
                            {"doing", to_string(progress.phase)},
                            {"bytes_done", progress.done_bytes},
                            {"bytes_total", progress.total_bytes},
                            {"bytes_per_second", progress.bytes_per_second}});
  if (const auto left = seconds_left(progress)) value.set("seconds_left", *left);
  return public_json(value, -1);
}

std::string progress_text(const TransferProgress& progress) {
  const bool reads = progress.phase == TransferPhase::kReading;
  const std::string text = (reads ? "read " : "") + content_size_text(progress.done_bytes) + " of " +
                           content_size_text(progress.total_bytes);
  const auto left = seconds_left(progress);
  if (progress.finished || !left) return text;
  // A node's claim can be a rate that no integer holds.
  constexpr double kFastest = 1e18;
  const auto rate = static_cast<std::int64_t>(std::min(progress.bytes_per_second, kFastest));
  return text + fmt::format(", {}/s, {:.0f} s left", content_size_text(rate), *left);
}

std::string question_text(const ContentReport& report) {
  std::map<std::string, std::vector<std::string>> nodes_by_names;
  for (const ContentOfNode& node : report.nodes) {
    if (!node.needs_consent()) continue;
    nodes_by_names[first_names(node.comparison.differing)].push_back(printable(node.node));
  }
  const std::string source = source_of(report);
  std::string text = printable(report.item.name) + ": ";
  if (report.item.from.empty()) {
    text +=
        "the file names no source, and sparkplan chose " + source + ".\nThese nodes have other content than " + source;
  } else {
    text += "these nodes have other content than ";
    text += report.item.is_from_controller() ? "this machine, the source" : "the source " + source;
  }
  text += ":\n";
  for (const auto& [names, nodes] : nodes_by_names) text += "  ! " + fold_names(nodes) + ": " + names + "\n";
  if (report.outvoted.names.empty()) return text;
  return text + "Only " + outvoted_text(report.outvoted, source) + "\n";
}

std::string spread_question_text(const ContentReport& report) {
  const std::string source = source_of(report);
  const std::string name = printable(report.item.name);
  if (report.item.kind == ContentKind::kImage) {
    return name + ": the file names no source, and only " + source + " has the image " +
           short_image_id(report.image_id) + "\n";
  }
  return name + ": the file names no source, and only " + source + " has " + files_text(report.unshared.size()) + ": " +
         first_names(report.unshared) + "\n";
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
    if (!item.error) add_outvoted(report, item);
    // A node can become the source by what it claims, so without `from` no note is about the other nodes alone.
    const std::string compared = item.item.from.empty() ? "; compared with " + source_of(item) : "";
    std::map<std::string, std::vector<std::string>> by_text;
    std::map<std::string, std::vector<std::string>> not_compared;
    std::vector<std::string> changed;
    for (const ContentOfNode& node : item.nodes) {
      if (!node.changed.empty()) changed.push_back(printable(node.node));
      if (node.error && node.status == ContentStatus::kSkipped) {
        not_compared[printable(node.error->describe())].push_back(printable(node.node));
        continue;
      }
      // A node that the command itself could not read has its own line.
      if (node.error && node.status == ContentStatus::kUnreachable) continue;
      if (node.error && item.error && node.error->describe() == item.error->describe()) continue;
      if (node.error) {
        by_text["not read: " + printable(node.error->describe())].push_back(printable(node.node));
      } else if (!item.error && !node.comparison.in_sync()) {
        by_text[lack_text(item.item, node.comparison) + compared].push_back(printable(node.node));
      }
    }
    for (const auto& [text, nodes] : by_text) add_note(report, item, "content.missing", text, nodes);
    for (const auto& [text, nodes] : not_compared) add_note(report, item, "content.not-compared", text, nodes, "");
    if (changed.empty()) continue;
    report.content_changed = true;
    add_note(report, item, "content.changed", "files were changed since a sync brought them", changed);
  }
}

}  // namespace sparkplan
