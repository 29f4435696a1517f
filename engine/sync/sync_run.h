#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/named_enum.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/sync/answer_limits.h"
#include "engine/sync/comparison.h"
#include "engine/sync/content_item.h"
#include "engine/sync/pruning.h"
#include "engine/sync/transfer.h"

namespace sparkplan {

enum class ContentStatus : std::uint8_t {
  kPresent,  ///< The node has everything, with equal digests; or it is the source.
  kMissing,  ///< Names are missing, and nothing differs.
  kDiffers,  ///< A name has other content.
  kUnread,   ///< Not compared: equal by name and size alone, or there was no source to compare with.
  kSent,     ///< This run brought it.
  kFailed,
  kUnreachable,
  kSkipped,  ///< Not selected, in maintenance, or, with an error, a directory that sync only reads.
};
constexpr EnumNames<8> names_of(ContentStatus /*status*/) {
  return {"present", "missing", "differs", "unread", "sent", "failed", "unreachable", "skipped"};
}

/// One node's part of one item.
struct ContentOfNode {
  std::string node;
  ContentStatus status = ContentStatus::kPresent;
  bool is_source = false;
  /// How the node receives, or would receive. Over the management network it is slow, so that people are warned.
  Network network = Network::kFabric;
  Comparison comparison;
  std::vector<std::string> changed;  ///< Files that changed on the node since a sync brought them.
  std::optional<Error> error;
  std::optional<Error> stopped;  ///< Why a node that has everything did not serve it to the end.
  bool too_little_space = false;
  std::int64_t bytes_received = 0;
  double seconds = 0;
  bool slow = false;        ///< TransferOutcome::slow
  std::string slower_than;  ///< TransferOutcome::slower_than
  bool delays = false;      ///< TransferOutcome::delays

  /// True if the node has other content that a consent replaces.
  bool needs_consent() const { return status == ContentStatus::kDiffers && !comparison.other_kind; }
};

struct ContentReport {
  ContentItem item;
  std::int64_t bytes = 0;  ///< On the source.
  std::size_t files = 0;
  std::string image_id;              ///< On the source; empty for models.
  std::optional<Error> error;        ///< No node has it, its source was not read, or consent is missing.
  OutvotedFiles outvoted;            ///< Without `from`, of a model. Of a sync: set before `may_replace` is called.
  NameList unshared;                 ///< Without `from`: what the source alone has so. Set before it is sent.
  std::vector<ContentOfNode> nodes;  ///< In the order of the cluster; then the controller, if it is the source.
};

struct SyncReport {
  std::vector<ContentReport> items;
  std::vector<PrunedTree> pruned;  ///< In the order of the cluster.
  bool interrupted = false;
};

struct SyncOptions {
  bool dry_run = false;
  bool verify = false;  ///< Every digest is computed again.
  bool encrypt = false;
  bool prune = false;     ///< Removes what earlier syncs have brought and the file no longer names.
  std::int64_t rate = 0;  ///< Bytes per second, per node and direction; 0: no limit.
  /// Whether the differing files of these nodes may be replaced. Called between the phases, on the caller's thread.
  std::function<bool(const ContentReport& item)> may_replace;
  /// Whether ContentReport::unshared may be sent to the other nodes. As above.
  std::function<bool(const ContentReport& item)> may_spread;
  /// Whether the unchanged files of these trees may be removed. As above.
  std::function<bool(const std::vector<PrunedTree>& trees)> may_prune;
  AnswerPatience patience;  ///< With each node's answers before the transfer.
  /// From several threads.
  std::function<void(const ContentItem& item, const std::string& node, const TransferProgress& progress)> progress;
};

/// The state of each item on each node. Reads no file's content, and writes nothing. `patience` is for all items of a
/// node together.
SyncReport look_at_content(const Cluster& cluster, const RunOptions& run, const AnswerPatience& patience = {});

/// Brings every item to every selected node. Items are handled one after another.
SyncReport sync_content(const Cluster& cluster, const RunOptions& run, const SyncOptions& options);

}  // namespace sparkplan
