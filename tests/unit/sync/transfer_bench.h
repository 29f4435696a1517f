#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/sync/transfer.h"
#include "tests/support/catch.h"
#include "tests/unit/sync/copy_nodes.h"

/// Transfers between nodes that answer as a test says. The first node is the source.
namespace sparkplan::test {

inline constexpr std::int64_t kSize = 100;
inline constexpr std::int64_t kTimeOfHolder = 7;
inline const std::string kOfSource = "192.168.100.11";
inline const std::string kOfSecond = "192.168.100.12";

/// A chain of nodes with files to send.
struct TransferBench {
  explicit TransferBench(std::size_t count) : nodes(count), cluster(on_a_switch(count)) {}

  std::vector<TransferOutcome> run() {
    const auto connect = options_for(nodes, 1);
    std::vector<CopyClient> clients;
    for (const NodeSpec& spec : cluster.nodes) {
      auto client = CopyClient::open(spec, connect);
      REQUIRE(client);
      clients.push_back(std::move(*client));
    }
    std::vector<TransferMember> members;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string address = has_addresses ? "10.0.0." + std::to_string(11 + i) : "";
      members.push_back({{&cluster.nodes[i], i == 0 && from_controller, address}, &clients[i], false});
      if (holders.contains(i)) members.back().held_times.assign(files, kTimeOfHolder);
    }
    std::vector<CopyEntry> entries(files);
    for (std::size_t i = 0; i < files; ++i) {
      entries[i].path = "file" + std::to_string(i);
      entries[i].size = size;
      if (has_digests) entries[i].digests.assign(kCopyDigestBytes, 'd');
    }
    return transfer(cluster, members, 0, entries, options);
  }

  std::vector<CopyNode> nodes;
  Cluster cluster;
  TransferOptions options;
  std::size_t files = 1;
  std::int64_t size = kSize;      ///< Of each file.
  std::set<std::size_t> holders;  ///< They have the whole tree, as the source has.
  bool has_digests = false;       ///< The digests of the source are known from the beginning.
  bool has_addresses = false;     ///< On the management network: 10.0.0.11 and so on.
  bool from_controller = false;   ///< The first node stands for the controller.
};

/// Adds the answer at most every few milliseconds, so that it is no flood.
inline void say_now_and_then(Peer& self, const CopyAnswer& answer) {
  using Clock = std::chrono::steady_clock;
  self.on_read = [answer, next = std::make_shared<Clock::time_point>(Clock::now())](Peer& peer) {
    if (Clock::now() < *next) return;
    *next = Clock::now() + std::chrono::milliseconds(20);
    say(peer, answer);
  };
}

inline std::vector<std::string> senders_of(const CopyNode& node) {
  std::vector<std::string> senders;
  for (const CopyFetch& fetch : node.all<CopyFetch>()) senders.push_back(fetch.address);
  return senders;
}

}  // namespace sparkplan::test
