#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/core/result.h"
#include "engine/wire/cable_messages.h"

namespace sparkplan {

/// A socket that receives the frames of an interface.
struct LinkProbeSocket {
  std::string interface;
  int index = 0;
  FileDescriptor socket;
};

using SteadyTime = std::function<std::chrono::steady_clock::time_point()>;

/// I/O. Receives the names sent with that token until none arrives for a moment, and for a second at most: foreign
/// frames of that type cannot delay it. Names of `node` itself do not count: the two halves of one port receive each
/// other inside the adapter, without a cable. A socket that cannot be read any more is skipped.
std::vector<CableCall> calls_heard(std::span<const LinkProbeSocket> sockets, const std::string& token,
                                   const std::string& node, const SteadyTime& now);

/// Sends and receives names on the wire itself, below all addresses: it finds the other end of a cable before, and
/// despite, any configuration. Broadcast frames of an EtherType for experiments (0x88B5).
/// Source: packet(7), IEEE 802 "Local Experimental EtherTypes".
class LinkProbe {
 public:
  /// From here on the kernel keeps what comes in. An interface that is not there, or is down, is passed over.
  /// Errors: those of the system calls (without root there is no such socket).
  static Result<LinkProbe> open(const ListenToCablesRequest& request);

  /// Sends our name through every interface. hear() lists the interfaces that nothing could be sent through.
  void call(const std::string& node);
  /// The names received, as of calls_heard().
  HearCablesReply hear(const std::string& node) const;

 private:
  std::string token_;
  std::vector<LinkProbeSocket> sockets_;
  std::map<std::string, std::string> unusable_;  ///< Interface -> reason.
};

}  // namespace sparkplan
