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

void find(SyncNode& node, std::size_t models) {
  const std::string name = node.spec->name.str();
  Result<std::vector<PrunedTree>> found =
      failure(ErrorCode::kRefused, "an entry was not read there, so that nothing is removed");
  if (node.models_opened == models) found = find_prunable(*node.client, name, node.trees);
  if (found) {
    node.prunable = std::move(*found);
    return;
  }
  PrunedTree& none = node.prunable.emplace_back();
  none.node = name;
  none.error = std::move(found).error();
}

}  // namespace

std::vector<PrunedTree> prune_nodes(std::vector<SyncNode>& nodes, const RunOptions& run, const SyncOptions& options,
                                    std::size_t models) {
  on_each_node(nodes, run, [&](SyncNode& node) {
    if (run.stop.stop_requested()) return;
    show_node(run, node, "comparing the record of earlier syncs", Activity::kWorking);
    find(node, models);
    show_node(run, node, "waiting", Activity::kWaiting);
  });
  auto found = all_of(nodes);
  const bool any = std::any_of(found.begin(), found.end(), [](const PrunedTree& tree) { return !tree.error; });
  if (!any || options.dry_run || run.stop.stop_requested()) return found;
  const bool may = options.may_prune && options.may_prune(found);
  on_each_node(nodes, run, [&](SyncNode& node) {
    for (PrunedTree& tree : node.prunable) {
      if (tree.error || run.stop.stop_requested()) continue;
      if (may) {
        prune(*node.client, tree);
      } else {
        tree.error = make_error(ErrorCode::kRefused, "not removed", "`sparkplan sync --prune --yes` removes it");
      }
    }
  });
  return all_of(nodes);
}

}  // namespace sparkplan
