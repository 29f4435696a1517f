#include "engine/sync/pruning.h"

#include <algorithm>

#include "engine/core/text.h"
#include "engine/sync/answer_limits.h"

namespace sparkplan {
namespace {

/// The parts of a path that count, each followed by a slash.
std::string plain_path(const std::string& path) {
  std::string plain = "/";
  for (const auto part : split(path, '/')) {
    if (!part.empty() && part != ".") plain += std::string(part) + "/";
  }
  return plain;
}

Result<CopyPruned> prune_open_tree(CopyClient& client, const PrunedTree& tree, bool remove) {
  SPARK_CHECK(client.restart());
  CopyOpen open;
  open.path = tree.path;
  open.owner = tree.owner;
  open.write = remove;
  open.existing = true;
  SPARK_CHECK(client.send(open));
  SPARK_TRY(const auto opened, await<CopyOpened>(client, AnswerPatience{}));
  if (!opened.exists) return CopyPruned{};
  SPARK_CHECK(client.send(CopyPrune{remove}));
  return await<CopyPruned>(client, AnswerPatience{});
}

Result<void> forget(CopyClient& client, const PrunedTree& tree) {
  SPARK_CHECK(client.restart());
  SPARK_CHECK(client.send(CopyForget{tree.path}));
  const auto forgotten = await<CopyForgotten>(client, AnswerPatience{});
  return forgotten ? Result<void>() : failure(forgotten.error());
}

void take(PrunedTree& tree, CopyPruned pruned) {
  tree.files = pruned.files;
  tree.bytes = pruned.bytes;
  tree.kept_files = pruned.kept_files;
  tree.kept = std::move(pruned.kept);
}

}  // namespace

bool is_covered(const std::string& path, const std::set<std::string>& directories) {
  const std::string own = plain_path(path);
  return std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) {
    const std::string other = plain_path(directory);
    return own.starts_with(other) || other.starts_with(own);
  });
}

Result<std::vector<PrunedTree>> find_prunable(CopyClient& client, const std::string& node,
                                              const std::set<std::string>& current) {
  SPARK_CHECK(client.restart());
  SPARK_CHECK(client.send(CopyListTrees{}));
  SPARK_TRY(const auto listed, await<CopyTrees>(client, AnswerPatience{}));
  std::vector<PrunedTree> found;
  for (const CopyTree& tree : listed.trees) {
    if (is_covered(tree.path, current) || is_covered(tree.real_path, current)) continue;
    PrunedTree& one = found.emplace_back();
    one.node = node;
    one.path = tree.path;
    one.owner = tree.owner;
    auto pruned = prune_open_tree(client, one, false);
    if (pruned) {
      take(one, std::move(*pruned));
    } else {
      one.error = std::move(pruned).error();
    }
  }
  return found;
}

void prune(CopyClient& client, PrunedTree& tree) {
  auto pruned = prune_open_tree(client, tree, true);
  if (!pruned) {
    tree.error = std::move(pruned).error();
    return;
  }
  take(tree, std::move(*pruned));
  if (auto forgotten = forget(client, tree); !forgotten) {
    tree.error = std::move(forgotten).error();
    return;
  }
  tree.removed = true;
}

}  // namespace sparkplan
