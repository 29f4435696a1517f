#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

#include "engine/remote/ssh/channel_pointer.h"
#include "engine/remote/ssh/jump_tunnel.h"
#include "engine/remote/ssh/ssh_session.h"
#include "engine/remote/transport/transport.h"
#include "engine/remote/transport/unread_bytes.h"

namespace sparkplan {

/// A session, the tunnel that it uses, and the limits of its channels.
struct SshConnectionParts {
  std::unique_ptr<ssh::JumpTunnel> tunnel;  // Outlives the session that uses it.
  ssh::SessionPointer session;
  std::shared_ptr<UnreadBytes> unread;  ///< Of the node. Never null.
  std::size_t most_unread = kMostUnreadOfNode;
  std::stop_token write_stop = {};  ///< Ends a write.
};

/// The streams of the program that was started on `channel`. They keep `way` alive.
std::unique_ptr<Channel> ssh_channel_over(std::shared_ptr<const SshConnectionParts> way, ssh::ChannelPointer channel);

}  // namespace sparkplan
