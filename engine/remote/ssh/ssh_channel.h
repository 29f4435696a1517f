#pragma once

#include <memory>

#include "engine/remote/ssh/jump_tunnel.h"
#include "engine/remote/ssh/ssh_session.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan {

/// A session, and the tunnel that it uses.
struct SshConnectionParts {
  std::unique_ptr<ssh::JumpTunnel> tunnel;  // Outlives the session that uses it.
  ssh::SessionPointer session;
};

/// The streams of the program that was started on `channel`. They keep `way` alive.
std::unique_ptr<Channel> ssh_channel_over(std::shared_ptr<const SshConnectionParts> way, ssh::ChannelPointer channel);

}  // namespace sparkplan
