#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/fleet/session/fan_out.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/fleet/session/last_line.h"
#include "engine/remote/programs/copy_client.h"
#include "engine/sync/answer_limits.h"
#include "engine/sync/comparison.h"
#include "engine/sync/content_item.h"
#include "engine/sync/pruning.h"
#include "engine/sync/transfer.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan {

struct ContentOfNode;
struct SyncOptions;

/// One node in a run of `sync`, or the controller as a source. Used from one thread at a time.
struct SyncNode {
  const NodeSpec* spec = nullptr;
  bool is_controller = false;
  bool skipped = false;  ///< Of the controller: it is not the current item's source.
  std::optional<CopyClient> client;
  std::optional<Error> error;  ///< Of the connection: it counts for all items.
  bool started = false;        ///< The program has not opened a tree yet.
  /// The owner for whom the running program has only examined images. It can examine more of them.
  std::optional<std::string> looks_for;
  std::chrono::steady_clock::time_point last_look;
  std::set<std::string> trees;      ///< The real paths of the items that were opened.
  std::set<std::string> image_ids;  ///< Of the items' images on this node.
  std::size_t items_read = 0;
  std::chrono::milliseconds time_taken{0};  ///< For the looks at all items so far.
  std::vector<PrunedTree> prunable;
  // Of the current item:
  Listing listing;
  NameList newly_unread;  ///< Of the last listing that read files; see newly_unread().
  CopyImageState image;
  std::size_t known_layers = 0;  ///< Of the source's image; see known_layers().
  bool is_read = false;
  ContentOfNode* shown = nullptr;
};

/// The node takes no further part in the current item; without an item, in the run.
void fail_node(const RunOptions& run, SyncNode& node, Error error);

/// Calls `work(node)` for all nodes that take part, many at a time. An exception excludes only that node.
template <class Work>
void on_each_node(std::vector<SyncNode>& nodes, const RunOptions& run, Work work) {
  fan_out(
      nodes, run.workers,
      [&](SyncNode& node) {
        if (node.skipped || node.error) return;
        last_line([&] { work(node); }, [&](Error error) { fail_node(run, node, std::move(error)); });
      },
      [](SyncNode& node) {
        if (!node.client || node.error) return;
        last_line([&] { (void)node.client->send(CopyAlive{}); }, [](const Error&) {});
      });
}

/// Starts the node's program. An error is in the node.
void connect_node(const RunOptions& run, SyncNode& node);

/// Reports the current step of a node. The controller has no line in the display.
void show_node(const RunOptions& run, const SyncNode& node, std::string_view doing, Activity activity);

/// The machine that runs sparkplan as a source.
NodeSpec controller_as_node();

/// How a tree is opened and listed.
struct TreeAccess {
  bool write = false;
  bool existing = false;           ///< With `write`: a missing tree is not made.
  bool read = false;               ///< Computes digests that are not known.
  bool ignore_known = false;       ///< Computes all of them.
  std::int64_t rate = 0;           ///< Bytes per second; 0: no limit.
  std::vector<std::string> paths;  ///< For `read`: only these files; empty: all.
  /// Bytes for whose reading a node gets time, whatever it claims to have.
  std::int64_t most_to_read = std::numeric_limits<std::int64_t>::max();
  std::string stage;  ///< Of an image: stage_of().
  /// For `read`: how far the node is, at most twice a second. Empty: no one asks.
  std::function<void(const TransferProgress& progress)> progress;
  /// Of an image: the engine's storage needs the space for an archive of so many bytes; 0: for none.
  std::int64_t to_load = 0;
  std::string archive_of;  ///< The node that says how large the archive is.
  AnswerPatience patience;
};

/// To write. `stage`: of an image; empty: of none.
TreeAccess access_for(const SyncOptions& options, const std::string& stage);

/// The declared owner of the item's files on a node; empty: the owners on the source.
std::string owner_on(const SyncNode& node, const ContentItem& item);

/// Starts the program again if it works on another tree, and opens the item's tree.
/// Errors: those of CopyClient and of the program; kInvalidInput (the place of the tree is not known).
Result<CopyOpened> open_tree(SyncNode& node, const ContentItem& item, const TreeAccess& access);

/// Starts the program again, unless nothing has been asked of it. Errors: those of CopyClient.
Result<void> begin_anew(SyncNode& node);

/// Lists the tree that the program has opened. Drops the node's earlier listing before the first name arrives. Errors:
/// those of CopyClient and of the program; kFailed (a file that the node was to read has no sum).
Result<Listing> list_open_tree(SyncNode& node, const TreeAccess& access);

/// Adds to the listing the digests of chunks that the node knows: of files that are still those of the listing. Only
/// nodes that receive need them. Errors: as list_open_tree(), and those of check_to_send().
Result<void> add_digests(SyncNode& node, const ContentItem& item, const TreeAccess& access);

/// Opens the tree, and sets SyncNode::listing. If files are read, also SyncNode::newly_unread. After an error, the node
/// has no listing or its earlier one. Errors: as open_tree() and list_open_tree(); kFailed (a model of the hub with a
/// name that no honest node lists).
Result<void> list_tree(SyncNode& node, const ContentItem& item, const TreeAccess& access);

}  // namespace sparkplan
