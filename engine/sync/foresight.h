#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/cluster.h"
#include "engine/sync/comparison.h"
#include "engine/sync/content_item.h"
#include "engine/sync/sync_node.h"
#include "engine/sync/sync_run.h"

/// The actions of a future sync with an item, those that need consent, and the end of each node's part.
namespace sparkplan {

/// Sets ContentOfNode::network: how each node that lacks content would receive it.
void foresee_networks(const Cluster& cluster, const std::vector<SyncNode>& nodes, std::size_t source,
                      ContentReport& report);

/// Pure. Of a node that was compared with the source.
ContentStatus status_of(const Comparison& found);

/// Pure. The names that any node has not compared yet, sorted. `is_cut`: a node has more of them than it keeps.
struct UnreadNames {
  std::vector<std::string> names;
  bool is_cut = false;
};
UnreadNames unread_of_any(const ContentReport& report);

/// Fails the nodes whose comparison has files that are unread after all nodes have read theirs. If the source did not
/// list such a file so before, it fails in place of them.
void fail_unread(const RunOptions& run, std::vector<SyncNode>& nodes, std::size_t source);

/// Sets ContentReport::outvoted, for the question about files that nodes have with other content, and for the notes of
/// commands that only read.
void note_outvoted(const std::vector<NamedListing>& listings, std::size_t source, ContentReport& report);

/// Notes in ContentOfNode how the node's part of a transfer has ended.
void note_outcome(const RunOptions& run, SyncNode& node, TransferOutcome outcome);

/// Pure. Why nothing can be sent: no machine that was read has the item.
Error no_source(const ContentItem& item);

/// Pure. Why a node with other content is left as it is: there is no consent, or none would be enough.
Error not_replaced(const ContentItem& item, const Comparison& found, const std::string& source);

/// Pure. Why nothing is sent without `from`, if it is so: the source alone has a name as a directory, or the reverse.
std::optional<Error> no_common_kind(const ContentItem& item, const std::vector<NamedListing>& listings,
                                    std::size_t source);

/// Pure. Why ContentReport::unshared is not sent.
Error not_spread(const ContentReport& report, const std::string& source);

}  // namespace sparkplan
