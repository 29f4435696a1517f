#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// An IP packet of 84 bytes, as ping sends it.
inline constexpr std::int64_t kSmallPacket = 84;

/// The sizes that got through in one direction, in bytes of whole IP packets that must not be fragmented.
struct Reached {
  std::set<std::int64_t> echoed;  ///< Sent there and back again.
  std::set<std::int64_t> heard;   ///< Received by the agent there: proves nothing about the way back.

  bool any(std::int64_t size) const { return echoed.contains(size) || heard.contains(size); }
};

/// Sends packets from one half to another and reports which of them arrive. A node that is lost meanwhile is recorded
/// as lost, and then no packet arrives.
class PacketProbe {
 public:
  PacketProbe(VerifyContext& context, const HalfPair& pair);

  /// ICMP echo, all sizes at the same time, until all are answered or the patience is over.
  void echo(const std::vector<std::int64_t>& sizes, std::int64_t patience_ms, Reached& reached);
  /// Datagrams from agent to agent, for nodes that do not answer an echo.
  void talk(const std::vector<std::int64_t>& sizes, Reached& reached);
  /// The largest size that arrives, between a size that does and a size that does not.
  std::int64_t largest(std::int64_t works, std::int64_t fails, bool by_echo);

 private:
  VerifyNode& from_;
  VerifyNode& to_;
  const ObservedPort& out_;
  const ObservedPort& in_;
};

}  // namespace sparkplan
