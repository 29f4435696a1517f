#include "engine/remote/ssh/channel_pointer.h"

#include <libssh/callbacks.h>

#include <algorithm>
#include <array>

namespace sparkplan::ssh {
namespace {

constexpr std::size_t kLargestPiece = 32768;

int drop_data(ssh_session /*session*/, ssh_channel /*channel*/, void* /*data*/, std::uint32_t size, int /*is_error*/,
              void* /*nothing*/) {
  return static_cast<int>(size);
}

/// libssh keeps a pointer to it as long as the channel.
ssh_channel_callbacks dropping() {
  static ssh_channel_callbacks_struct callbacks = [] {
    ssh_channel_callbacks_struct made{};
    made.channel_data_function = drop_data;
    ssh_callbacks_init(&made);
    return made;
  }();
  return &callbacks;
}

/// Drops the data that libssh holds.
void drop_held(ssh_channel channel) {
  constexpr int kMostPieces = 256;
  std::array<char, kLargestPiece> buffer{};
  for (int i = 0; i < kMostPieces; ++i) {
    if (ssh_channel_read_timeout(channel, buffer.data(), buffer.size(), 0, 0) <= 0) return;
  }
}

}  // namespace

void ChannelDeleter::operator()(ssh_channel channel) const {
  // It never opened, or the peer has closed it: then libssh frees it at once.
  if (ssh_channel_is_open(channel) == 0) return ssh_channel_free(channel);
  // A freed channel whose peer does not close it would store all data that still arrives.
  const ConfirmationListener listener(*watch);
  ssh_set_channel_callbacks(channel, dropping());
  drop_held(channel);
  ssh_channel_close(channel);
}

ChannelPointer new_channel(const SessionPointer& session) {
  return ChannelPointer(ssh_channel_new(session.get()), ChannelDeleter{session.get_deleter().watch});
}

int await_channel(const SessionPointer& session, std::chrono::steady_clock::time_point end, const std::stop_token& stop,
                  const std::function<int()>& open) {
  SessionWatch& watch = *session.get_deleter().watch;
  const auto heard = [&] {
    const ConfirmationListener listener(watch, ConfirmationListener::Log::kOpening);
    return open();
  };
  const int answer = await_answer(session, end, stop, heard);
  return watch.floods(session.get()) ? SSH_ERROR : answer;
}

int write_some(ssh_channel channel, std::string_view bytes, SessionWatch& watch) {
  const ssh_session session = ssh_channel_get_session(channel);
  // With such a limit libssh would not return.
  if (watch.confirms_wrongly) return SSH_ERROR;
  if (watch.has_unsent(session)) return 0;
  // libssh would wait for the window without a limit.
  const std::size_t window = ssh_channel_window_size(channel);
  const auto size = std::min({bytes.size(), window, kLargestPiece});
  if (size == 0) return 0;
  const std::uint64_t before = watch.packets.out_bytes;
  const int written = ssh_channel_write(channel, bytes.data(), static_cast<std::uint32_t>(size));
  if (written < 0) return written == SSH_AGAIN ? 0 : written;
  watch.written += static_cast<std::uint64_t>(written);
  watch.all_sent_at = before + static_cast<std::uint64_t>(written);
  return written;
}

}  // namespace sparkplan::ssh
