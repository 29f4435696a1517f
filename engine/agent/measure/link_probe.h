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

/// A socket that hears what comes in at an interface.
struct LinkProbeSocket {
  std::string interface;
  int index = 0;
  FileDescriptor socket;
};

using SteadyTime = std::function<std::chrono::steady_clock::time_point()>;

/// I/O. The calls with that token that come in, until nothing has for a moment, and for a second at most: whoever else
/// sends frames of that kind cannot hold it up. `node` is who we are: the two halves of one port hear each other inside
/// the adapter, which says nothing of the cable. A socket that cannot be read any more is passed over.
std::vector<CableCall> calls_heard(std::span<const LinkProbeSocket> ears, const std::string& token,
                                   const std::string& node, const SteadyTime& now);

/// Says and hears names on the wire itself, below all addresses: who is at the other end of a cable shows before
/// anything is configured, and whatever is. Frames of an EtherType that is there for such things (0x88B5), to all who
/// are on that wire. Source: packet(7), IEEE 802 "Local Experimental EtherTypes".
class LinkProbe {
 public:
  /// From here on the kernel keeps what comes in. An interface that is not there, or is down, is passed over.
  /// Errors: those of the system calls (without root there is no such socket).
  static Result<LinkProbe> open(const ListenToCablesRequest& request);

  /// Calls through every interface. What nothing could be sent through is told by hear().
  void call(const std::string& node);
  /// What has come in, as calls_heard() has it.
  HearCablesReply hear(const std::string& node) const;

 private:
  std::string token_;
  std::vector<LinkProbeSocket> ears_;
  std::map<std::string, std::string> mute_;  ///< Interface -> why.
};

}  // namespace sparkplan
