#include "engine/sync/pruning.h"

#include <algorithm>

#include "engine/model/directory_path.h"

namespace sparkplan {
namespace {

Error no_answer_in_time() { return make_error(ErrorCode::kUnreachable, "sparkplan-copy did not answer in time"); }

Result<CopyPruned> prune_open_tree(CopyClient& client, const PrunedTree& tree, bool remove,
                                   const SharedPatience& patience) {
  if (patience.is_over()) return failure(no_answer_in_time());
  SPARK_CHECK(client.restart());
  CopyOpen open;
  open.path = tree.path;
  open.owner = tree.owner;
  open.kind = tree.kind;
  open.write = remove;
  open.existing = true;
  SPARK_CHECK(client.send(open));
  SPARK_TRY(const auto opened, await<CopyOpened>(client, patience.left()));
  // The stage of a loaded image is gone, and its record is not.
  if (!opened.exists && tree.image.empty()) return CopyPruned{};
  SPARK_CHECK(client.send(CopyPrune{remove, !tree.image.empty()}));
  return await<CopyPruned>(client, patience.left());
}

Result<void> forget(CopyClient& client, const PrunedTree& tree, const SharedPatience& patience) {
  SPARK_CHECK(client.restart());
  SPARK_CHECK(client.send(CopyForget{tree.path, tree.owner, tree.kind, !tree.image.empty()}));
  const auto forgotten = await<CopyForgotten>(client, patience.left());
  return forgotten ? Result<void>() : failure(forgotten.error());
}

Result<CopyTrees> list_trees(CopyClient& client, const SharedPatience& patience) {
  SPARK_CHECK(client.restart());
  SPARK_CHECK(client.send(CopyListTrees{}));
  return await<CopyTrees>(client, patience.left());
}

PrunedTree recorded(const CopyTree& tree, const std::string& node) {
  PrunedTree one;
  one.node = node;
  one.path = tree.path;
  one.owner = tree.owner;
  one.kind = tree.kind;
  return one;
}

void take(PrunedTree& tree, CopyPruned pruned) {
  tree.files = pruned.files;
  tree.bytes = pruned.bytes;
  tree.kept_files = pruned.kept_files;
  keep_few_names(pruned.kept);
  tree.kept = std::move(pruned.kept);
}

}  // namespace

bool is_covered(const std::string& path, const std::set<std::string>& directories) {
  const std::string own = plain_path(path);
  return std::any_of(directories.begin(), directories.end(),
                     [&](const std::string& directory) { return nested_or_same(own, plain_path(directory)); });
}

Result<std::vector<PrunedTree>> find_prunable(CopyClient& client, const std::string& node,
                                              const std::set<std::string>& current, const std::set<std::string>& images,
                                              const AnswerPatience& patience) {
  const SharedPatience shared(patience);
  SPARK_TRY(const auto listed, list_trees(client, shared));
  std::vector<PrunedTree> found;
  for (const CopyTree& tree : listed.trees) {
    if (is_covered(tree.path, current) || is_covered(tree.real_path, current)) continue;
    if (!tree.image.empty() && images.contains(tree.image_id)) continue;
    PrunedTree& one = found.emplace_back(recorded(tree, node));
    one.image = tree.image;
    auto pruned = prune_open_tree(client, one, false, shared);
    if (shared.is_over()) return failure(no_answer_in_time());
    if (pruned) {
      take(one, std::move(*pruned));
    } else {
      one.error = std::move(pruned).error();
    }
  }
  return found;
}

void prune(CopyClient& client, PrunedTree& tree, const SharedPatience& patience) {
  auto pruned = prune_open_tree(client, tree, true, patience);
  if (!pruned) {
    tree.error = std::move(pruned).error();
    return;
  }
  take(tree, std::move(*pruned));
  if (auto forgotten = forget(client, tree, patience); !forgotten) {
    tree.error = std::move(forgotten).error();
    return;
  }
  tree.removed = true;
}

void prune_stages(CopyClient& client, const std::function<bool(const std::string& stage)>& is_stale,
                  const AnswerPatience& patience) {
  const SharedPatience shared(patience);
  const auto listed = list_trees(client, shared);
  if (!listed) return;
  for (const CopyTree& tree : listed->trees) {
    if (tree.kind != CopyTreeKind::kImage || !is_stale(tree.path.substr(tree.path.rfind('/') + 1))) continue;
    PrunedTree one = recorded(tree, "");
    prune(client, one, shared);
  }
}

}  // namespace sparkplan
