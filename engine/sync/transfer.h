#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/core/named_enum.h"
#include "engine/model/cluster.h"
#include "engine/remote/programs/copy_client.h"
#include "engine/remote/programs/copy_relay.h"
#include "engine/sync/comparison.h"
#include "engine/sync/route.h"

namespace sparkplan {

/// A node's part in a sync that can take long.
enum class TransferPhase : std::uint8_t {
  kReceiving,
  kReading,  ///< Its files, before a transfer.
  kSaving,   ///< The engine writes the archive of an image, and does not tell how far it is.
  kLoading,  ///< As kSaving: the engine reads it.
};
constexpr EnumNames<4> names_of(TransferPhase /*phase*/) { return {"receiving", "reading", "saving", "loading"}; }

/// How far a node is in its part.
struct TransferProgress {
  std::int64_t done_bytes = 0;
  std::int64_t total_bytes = 0;
  std::int64_t received_bytes = 0;
  double bytes_per_second = 0;
  TransferPhase phase = TransferPhase::kReceiving;
  bool finished = false;  ///< The last progress of this phase: all bytes are done.
};

/// A node in a transfer, or the controller as the source. Its program has opened the tree for writing.
struct TransferMember {
  RouteEnd end;
  CopyClient* client = nullptr;
  bool replace = false;  ///< Files with other content may be replaced.
  /// Of a node that has the whole tree and serves it beside the source: when each of the entries was modified there.
  /// Empty: it receives, or it is the source.
  std::vector<std::int64_t> held_times = {};

  bool holds() const { return !held_times.empty(); }
};

struct TransferOutcome {
  std::optional<Error> error;  ///< Why the node does not have the whole tree; of one that held it: serves no more.
  bool too_little_space = false;
  std::int64_t received_bytes = 0;
  double seconds = 0;
  Network network = Network::kFabric;  ///< Over which it received last.
  /// It fell far behind its sender, or behind a node with the same one. The nodes behind it go another way.
  bool slow = false;
  std::string slower_than;  ///< If it is slow: the node whose bytes, as that one claims them, it was compared with.
  bool delays = false;      ///< It is slow, and cables leave the nodes behind it no other way.
};

/// How long a node may keep a transfer.
struct TransferPatience {
  std::chrono::milliseconds silence{15'000};     ///< Without a message; before it has begun four times as long.
  std::chrono::milliseconds begin{300'000};      ///< Until it has compared what it has.
  std::chrono::milliseconds late_begin{60'000};  ///< Then the others no longer wait for one that has not begun.
  std::chrono::milliseconds stall{60'000};       ///< Without a byte more: then it receives from another node.
  std::chrono::milliseconds finish{600'000};     ///< As `stall`, once it has all bytes.
  std::chrono::milliseconds total{900'000};      ///< For everything.
  /// So far a node may fall behind its sender, and for so long: then the nodes behind it no longer receive from it.
  std::chrono::milliseconds lag{15'000};
  std::int64_t least_lag = std::int64_t{256} << 20;  ///< Bytes. Less is on its way between two nodes at any time.
};
/// Pure. For a tree of this size, with a limit of `rate` bytes per second (0: none) over `streams` connections. A size
/// above those of all trees counts as the largest one, and no patience is longer than a year.
TransferPatience patience_for(std::int64_t bytes, std::size_t members, std::int64_t rate, int streams);

struct TransferOptions {
  bool encrypt = false;
  int streams = 0;  ///< Connections from one node to the next. 0: copy_streams_for() the slower one of the two.
  std::optional<CopyRoot> root;  ///< The source's directory, for receivers whose own a sync has made.
  std::stop_token stop;
  TransferPatience patience;
  std::function<void(std::size_t member, const TransferProgress& progress)> progress;
  /// A way from the controller to a member, if the controller is the source, for a connection that begins with `token`.
  /// Called from several threads. `stop` comes at once when the member does not need it any more.
  std::function<Result<CopyRelay>(std::size_t member, const std::string& token, const std::stop_token& stop)> relay;
};

/// Brings the source's tree to all other members, from node to node. Members that hold it serve it too, and so do those
/// that are complete. Only the source's digests count. A member that fails is left out, and the ones that received from
/// it receive from another; so does one whose sender sends wrong bytes or nothing. If the source fails, the others go
/// on without it if one of them has everything. In a chain, a node that is slow comes last. Data that does not travel
/// over the fabric is encrypted. Outcomes are in the order of `members`. Ends within `patience.total`, whatever the
/// nodes send.
std::vector<TransferOutcome> transfer(const Cluster& cluster, const std::vector<TransferMember>& members,
                                      std::size_t source, const std::vector<CopyEntry>& entries,
                                      const TransferOptions& options);

}  // namespace sparkplan
