#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/core/result.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// A socket that receives on one interface.
struct LinkProbeSocket {
  std::string interface;
  int index = 0;
  FileDescriptor socket;
};

using SteadyTime = std::function<std::chrono::steady_clock::time_point()>;

/// True if the kernel has dropped frames of that socket, for lack of room.
using FrameLosses = std::function<bool(const LinkProbeSocket&)>;

/// The probes that a node keeps.
struct AwaitedProbes {
  std::string token;
  /// This node's name in its own probes, which are left out: the adapter passes frames between the two halves of one
  /// port, which proves nothing about the cable.
  std::string node;
  std::vector<std::string> senders = {};  ///< sha256() of the names of all senders. Empty: any sender.
};

/// I/O. The awaited probes, until none has arrived for a moment, and for at most a second: other senders of such frames
/// cannot delay it. A socket that fails is skipped, and so is a probe with a name that no node or interface can have.
/// The probes fit into a reply. Of each sender, each interface keeps a few probes: others cannot displace them. Without
/// send errors.
ReadLinkProbesReply received_probes(std::span<const LinkProbeSocket> sockets, const AwaitedProbes& awaited,
                                    const SteadyTime& now, const FrameLosses& lost);

/// Sends and receives node names as broadcast Ethernet frames, without IP addresses. It finds the other end of a cable
/// for any network configuration. The EtherType is reserved for experiments (0x88B5).
/// Source: packet(7), IEEE 802 "Local Experimental EtherTypes".
class LinkProbe {
 public:
  /// From now on the kernel stores received probes. An interface that is missing or down is skipped.
  /// Errors: those of the system calls (such sockets require root).
  static Result<LinkProbe> open(const StartLinkProbeRequest& request);

  /// Sends a probe through each interface. Interfaces that failed are reported by read().
  void send(const std::string& node);
  /// The received probes of `senders` (AwaitedProbes::senders), without those of `node`, and the interfaces that could
  /// not send.
  ReadLinkProbesReply read(const std::string& node, const std::vector<std::string>& senders) const;

 private:
  std::string token_;
  std::vector<LinkProbeSocket> sockets_;
  std::map<std::string, std::string> send_errors_;  ///< Interface -> reason.
};

}  // namespace sparkplan
