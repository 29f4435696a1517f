#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/remote/programs/copy_client.h"
#include "engine/sync/answer_limits.h"

namespace sparkplan {

/// A directory on a node that a sync has brought, and that no entry of the file covers any more; or the archive that an
/// interrupted transfer of an image has left.
struct PrunedTree {
  std::string node;
  std::string path;
  std::string owner;
  CopyTreeKind kind = CopyTreeKind::kDirectory;
  std::string image;       ///< The image that a sync has loaded there; empty: the archive alone.
  std::int64_t files = 0;  ///< Brought by a sync, and unchanged.
  std::int64_t bytes = 0;
  std::int64_t kept_files = 0;    ///< They stay: changed since, or there before.
  std::vector<std::string> kept;  ///< The first ones.
  bool removed = false;
  std::optional<Error> error;
};

/// Pure. True if one of the directories is `path`, contains it or lies in it. Links are not resolved.
bool is_covered(const std::string& path, const std::set<std::string>& directories);

/// The trees that the node's own record lists, without those that `current` covers. `current` has the real paths of all
/// entries on this node. Of images, those with an id in `images` are in use. Nothing is written. `patience` is for all
/// trees together. Errors: those of CopyClient, also after the deadline; of one tree: in its PrunedTree.
Result<std::vector<PrunedTree>> find_prunable(CopyClient& client, const std::string& node,
                                              const std::set<std::string>& current, const std::set<std::string>& images,
                                              const AnswerPatience& patience);

/// Removes what find_prunable() has counted, and forgets the tree. Errors are in `tree`.
void prune(CopyClient& client, PrunedTree& tree, const SharedPatience& patience);

/// Removes the archives of images whose stage `is_stale`. One that cannot be removed stays: it takes only space, and
/// find_prunable() lists it.
void prune_stages(CopyClient& client, const std::function<bool(const std::string& stage)>& is_stale,
                  const AnswerPatience& patience);

}  // namespace sparkplan
