#pragma once

#include <libssh/libssh.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include "engine/remote/ssh/ssh_session.h"

namespace sparkplan::ssh {

/// Closes a channel. The peer may go on sending to it: that data is dropped. The session frees the channel.
struct ChannelDeleter {
  std::shared_ptr<SessionWatch> watch;
  void operator()(ssh_channel channel) const;
};
/// Must not outlive its session.
using ChannelPointer = std::unique_ptr<ssh_channel_struct, ChannelDeleter>;

/// Null if libssh has no memory.
ChannelPointer new_channel(const SessionPointer& session);

/// As await_answer(), for the call that opens a channel. SSH_ERROR also if the peer confirms it wrongly.
int await_channel(const SessionPointer& session, std::chrono::steady_clock::time_point end, const std::stop_token& stop,
                  const std::function<int()>& open);

/// Gives libssh the first of `bytes`, as many as the peer's window and one piece take: the result is their number.
/// 0: none now, for example because earlier ones are not sent yet. Below 0: the channel has failed.
int write_some(ssh_channel channel, std::string_view bytes, SessionWatch& watch);

}  // namespace sparkplan::ssh
