#include "engine/sync/prune_run.h"

#include <algorithm>
#include <utility>

namespace sparkplan {
namespace {

std::vector<PrunedTree> all_of(const std::vector<SyncNode>& nodes) {
  std::vector<PrunedTree> all;
  for (const SyncNode& node : nodes) all.insert(all.end(), node.prunable.begin(), node.prunable.end());
  return all;
}

void note_error(SyncNode& node, Error error) {
  PrunedTree& none = node.prunable.emplace_back();
  none.node = node.spec->name.str();
  none.error = std::move(error);
}

void find(SyncNode& node, std::size_t items, const AnswerPatience& patience) {
  Result<std::vector<PrunedTree>> found =
      failure(ErrorCode::kRefused, "an entry was not read there, so that nothing is removed");
  if (node.items_read == items) {
    found = find_prunable(*node.client, node.spec->name.str(), node.trees, node.image_ids, patience);
  }
  if (!found) return note_error(node, std::move(found).error());
  node.prunable = std::move(*found);
}

}  // namespace

std::vector<PrunedTree> prune_nodes(std::vector<SyncNode>& nodes, const RunOptions& run, const SyncOptions& options,
                                    std::size_t items) {
  on_each_node(nodes, run, [&](SyncNode& node) {
    if (run.stop.stop_requested()) return;
    show_node(run, node, "comparing the record of earlier syncs", Activity::kWorking);
    find(node, items, options.patience);
    show_node(run, node, "waiting", Activity::kWaiting);
  });
  // Without entries, no other part of the report names them.
  for (SyncNode& node : nodes) {
    if (node.error && !node.skipped) note_error(node, *node.error);
  }
  auto found = all_of(nodes);
  const bool any = std::any_of(found.begin(), found.end(), [](const PrunedTree& tree) { return !tree.error; });
  if (!any || options.dry_run || run.stop.stop_requested()) return found;
  const bool may = options.may_prune && options.may_prune(found);
  on_each_node(nodes, run, [&](SyncNode& node) {
    const SharedPatience patience(options.patience);
    for (PrunedTree& tree : node.prunable) {
      if (tree.error || run.stop.stop_requested()) continue;
      if (may) {
        prune(*node.client, tree, patience);
      } else {
        tree.error = make_error(ErrorCode::kRefused, "not removed", "`sparkplan sync --prune --yes` removes it");
      }
    }
  });
  return all_of(nodes);
}

}  // namespace sparkplan
