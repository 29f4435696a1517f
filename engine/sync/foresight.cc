#include "engine/sync/foresight.h"

#include <algorithm>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/sync/route.h"

namespace sparkplan {
namespace {

std::string counted_files(std::size_t number) { return std::to_string(number) + (number == 1 ? " file" : " files"); }

bool takes_no_part(const SyncNode& node) { return !node.is_read || node.shown->error.has_value(); }

Error not_compared(const std::string& path) {
  return make_error(ErrorCode::kFailed,
                    "the content of " + shown_text(path) + " is not known: it has changed since it was listed",
                    "run `sparkplan sync` again when no program changes the directory");
}

/// The first one of these names that the source did not list so before. If the source has too many of such names, all
/// of them may be among these.
std::optional<std::string> unread_by_source(const NameList& unread, const NameList& of_source) {
  const auto& known = of_source.kept();
  const auto found = std::ranges::find_if(
      unread.kept(), [&](const std::string& name) { return std::binary_search(known.begin(), known.end(), name); });
  if (found != unread.kept().end()) return *found;
  return of_source.is_cut() ? std::optional(unread.front()) : std::nullopt;
}

}  // namespace

void foresee_networks(const Cluster& cluster, const std::vector<SyncNode>& nodes, std::size_t source,
                      ContentReport& report) {
  std::vector<std::size_t> members;
  std::vector<RoutePlace> places;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].skipped || takes_no_part(nodes[i]) || (nodes[i].is_controller && i != source)) continue;
    const bool holds = i != source && report.nodes[i].comparison.in_sync();
    const bool is_model = report.item.kind != ContentKind::kImage;
    if (holds && !is_model && cluster.cables.empty()) continue;
    members.push_back(i);
    places.push_back({nodes[i].is_controller ? nullptr : nodes[i].spec, i == source || (holds && is_model)});
  }
  const auto found = senders(cluster, places);
  for (std::size_t place = 0; place < places.size(); ++place) {
    if (!found[place]) continue;
    ContentOfNode& shown = report.nodes[members[place]];
    const NodeSpec* sender = places[*found[place]].node;
    const bool is_joined = sender != nullptr && !fabric_paths(cluster, *sender, *places[place].node).empty();
    shown.network = sender == nullptr ? Network::kSsh : is_joined ? Network::kFabric : Network::kManagement;
  }
}

ContentStatus status_of(const Comparison& found) {
  if (!found.differing.empty()) return ContentStatus::kDiffers;
  if (!found.missing.empty() || !found.properties.empty()) return ContentStatus::kMissing;
  return found.unread.empty() ? ContentStatus::kPresent : ContentStatus::kUnread;
}

UnreadNames unread_of_any(const ContentReport& report) {
  UnreadNames all;
  for (const ContentOfNode& node : report.nodes) {
    const NameList& unread = node.comparison.unread;
    all.names.insert(all.names.end(), unread.kept().begin(), unread.kept().end());
    all.is_cut = all.is_cut || unread.is_cut();
  }
  std::sort(all.names.begin(), all.names.end());
  all.names.erase(std::unique(all.names.begin(), all.names.end()), all.names.end());
  return all;
}

void fail_unread(const RunOptions& run, std::vector<SyncNode>& nodes, std::size_t source) {
  std::vector<SyncNode*> unread;
  for (SyncNode& node : nodes) {
    if (&node == &nodes[source] || takes_no_part(node) || node.shown->comparison.unread.empty()) continue;
    const auto of_source = unread_by_source(node.shown->comparison.unread, nodes[source].newly_unread);
    if (of_source) return fail_node(run, nodes[source], not_compared(*of_source));
    unread.push_back(&node);
  }
  for (SyncNode* node : unread) fail_node(run, *node, not_compared(node->shown->comparison.unread.front()));
}

void note_outvoted(const std::vector<NamedListing>& listings, std::size_t source, ContentReport& report) {
  // Of an image, the id that most nodes have counts.
  const bool may_be_lone = report.item.kind != ContentKind::kImage && report.item.from.empty();
  if (may_be_lone) report.outvoted = outvoted_files(listings, source);
}

void note_outcome(const RunOptions& run, SyncNode& node, TransferOutcome outcome) {
  ContentOfNode& shown = *node.shown;
  shown.bytes_received = shown.is_source ? 0 : outcome.received_bytes;  // A source receives only requests.
  shown.seconds = outcome.seconds;
  shown.too_little_space = outcome.too_little_space;
  shown.network = outcome.network;
  shown.slow = outcome.slow;
  shown.slower_than = std::move(outcome.slower_than);
  shown.delays = outcome.delays;
  if (outcome.error) return fail_node(run, node, std::move(*outcome.error));
  if (shown.is_source || shown.comparison.in_sync()) return;
  shown.status = ContentStatus::kSent;
  shown.changed.clear();
  show_node(run, node, "done", Activity::kWaiting);
}

Error no_source(const ContentItem& item) {
  if (item.is_from_controller()) return make_error(ErrorCode::kNotFound, "this machine does not have " + item.name);
  if (item.from.empty()) return make_error(ErrorCode::kNotFound, "no node that was read has " + item.name);
  return make_error(ErrorCode::kNotFound, item.from + " does not have it, or was not read");
}

Error not_replaced(const ContentItem& item, const Comparison& found, const std::string& source) {
  if (item.kind == ContentKind::kImage) {
    return make_error(ErrorCode::kRefused,
                      "another image of this name: " + found.differing.front() + "; the source is " + source,
                      "look at the image; `sparkplan sync --yes` replaces it");
  }
  if (found.other_kind) {
    const std::string others = found.other_kinds > 1 ? " (and " + std::to_string(found.other_kinds - 1) + " more)" : "";
    return make_error(ErrorCode::kRefused,
                      shown_text(*found.other_kind) + others + ": it is of another kind on the source " + source +
                          ", and a directory cannot take the place of a file or link, nor the reverse",
                      "compare it with the one on " + source + ", and move the wrong one out of the directory");
  }
  return make_error(ErrorCode::kRefused,
                    counted_files(found.differing.size()) + " with other content than on the source " + source + ": " +
                        shown_text(found.differing.front()),
                    item.from.empty() ? "look at the files, and name the node with the right ones in `from`; "
                                        "`sparkplan sync --yes` replaces them by those of " +
                                            source
                                      : "look at the files; `sparkplan sync --yes` replaces them");
}

std::optional<Error> no_common_kind(const ContentItem& item, const std::vector<NamedListing>& listings,
                                    std::size_t source) {
  if (!item.from.empty()) return std::nullopt;
  const auto found = lone_kind(listings, source);
  if (!found) return std::nullopt;
  const std::string name = shown_text(found->path);
  const std::string as_directory = " as a directory";
  const std::string as_other = " as a file or link";
  return make_error(ErrorCode::kRefused,
                    "without `from`, only the source " + listings[source].node + " has " + name +
                        (found->is_directory ? as_directory : as_other) + ", and " + found->other + " has it" +
                        (found->is_directory ? as_other : as_directory),
                    "look at " + name + " on both nodes, and name the right one in `from`");
}

Error not_spread(const ContentReport& report, const std::string& source) {
  return make_error(ErrorCode::kRefused,
                    "without `from`, only " + source + " has " + counted_files(report.unshared.size()) + ": " +
                        shown_text(report.unshared.front()),
                    "name the node in `from`, or look at its content; `sparkplan sync --yes` sends it");
}

}  // namespace sparkplan
