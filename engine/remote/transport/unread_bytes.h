#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace sparkplan {

/// The most bytes that one node may have sent and that no caller has read, over all connections to it. A command may
/// print while a message to its starter is written: libssh sends nothing before it has handed out what it holds, which
/// may be several windows of output.
inline constexpr std::size_t kMostUnreadOfNode = std::size_t{32} << 20;

/// The limit for a node with a connection for each of up to 64 ranks. An honest rank sends one answer to each command.
///
/// Of the 100 MB for one hostile node, in MiB: the program 15 and this limit 4. For each rank there are a frame (1/4),
/// noise, standard error and the latest input twice (1/16 each), which is 28 for all. The last answers of all ranks
/// take 24 as PreparedRank and 16 as NcclTransport, and the sessions take 4. That is 91 MiB.
inline constexpr std::size_t kMostUnreadOfRanks = std::size_t{4} << 20;

/// The bytes that one node has sent and no caller has read yet: the sum over all channels to the node. Used from
/// several threads.
class UnreadBytes {
 public:
  /// A channel that had `before` of these bytes has `now`. Returns the new sum.
  std::size_t change(std::size_t before, std::size_t now) {
    const std::size_t difference = now - before;  // Less than zero is a large number, and the sum wraps around.
    return sum_.fetch_add(difference) + difference;
  }

 private:
  std::atomic<std::size_t> sum_{0};
};

/// One UnreadBytes for each node of a run. Used from several threads.
class UnreadOfNodes {
 public:
  std::shared_ptr<UnreadBytes> of(const std::string& node) {
    const std::lock_guard lock(mutex_);
    auto& found = nodes_[node];
    if (!found) found = std::make_shared<UnreadBytes>();
    return found;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<UnreadBytes>> nodes_;
};

}  // namespace sparkplan
