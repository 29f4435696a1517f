#include "engine/remote/ssh/session_watch.h"

#include <libssh/callbacks.h>

#include <charconv>
#include <string_view>

namespace sparkplan::ssh {
namespace {

/// A line of libssh's log. It contains numbers of the peer, and none of its texts.
void hear(int level, const char* function, const char* line, void* watch) {
  // With less than a header, libssh 0.9 and 0.10 would write empty packets without end. No server has such a limit.
  constexpr std::uint64_t kSmallestLimit = 1024;
  if (watch == nullptr || std::string_view(function) != "ssh_packet_channel_open_conf") return;
  SessionWatch& session = *static_cast<SessionWatch*>(watch);
  // libssh refuses a second confirmation, but has the new limit by then.
  if (level <= SSH_LOG_WARN) session.confirms_wrongly = true;
  constexpr std::string_view kBefore = "maxpacket : ";
  const std::string_view text(line);
  const auto at = text.find(kBefore);
  if (at == std::string_view::npos) return;
  std::uint64_t limit = 0;
  std::from_chars(text.data() + at + kBefore.size(), text.data() + text.size(), limit);
  session.packet_limit = limit;
  if (limit < kSmallestLimit) session.confirms_wrongly = true;
}

}  // namespace

bool SessionWatch::floods(ssh_session session) {
  constexpr std::uint64_t kMostRequests = 1000;
  // Room for the server's own messages.
  constexpr std::uint64_t kSpare = std::uint64_t{16} << 20;
  // A packet of output has a header of 9 bytes, one of standard error of 13.
  constexpr std::uint64_t kHeader = 16;
  // sshd grants a new window of 9 bytes for each piece that it has taken; a piece has some thousand bytes.
  constexpr std::uint64_t kWrittenPerByte = 256;
  constexpr std::uint64_t kWrittenPerPacket = 2048;
  // libssh may have to keep an answer of 200 bytes for each, until a key exchange ends.
  constexpr std::uint64_t kMostOtherPackets = 100'000;
  // Less than 1 MB: the answers to packets that libssh does not know, or to requests that it refuses by itself. Our own
  // packets are sent one after the other.
  constexpr std::uint64_t kMostUnsent = 10'000;
  if ((ssh_get_poll_flags(session) & SSH_WRITE_PENDING) == 0) sent = packets.out_packets;
  flooded = flooded || confirms_wrongly || requests > kMostRequests || packets.out_packets - sent > kMostUnsent ||
            packets.in_packets > data_packets + written / kWrittenPerPacket + kMostOtherPackets ||
            packets.in_bytes > payload + data_packets * kHeader + written / kWrittenPerByte + kSpare;
  return flooded;
}

bool SessionWatch::has_unsent(ssh_session session) const {
  // During a key exchange libssh keeps all input in a list, where it does not count as pending.
  return (ssh_get_poll_flags(session) & SSH_WRITE_PENDING) != 0 || packets.out_bytes < all_sent_at;
}

ConfirmationListener::ConfirmationListener(SessionWatch& watch, Log log)
    : level_before_(ssh_get_log_level()), watch_before_(ssh_get_log_userdata()) {
  ssh_set_log_callback(hear);
  ssh_set_log_userdata(&watch);
  // libssh 0.11 calls this level "debug".
  ssh_set_log_level(log == Log::kOpening ? SSH_LOG_PACKET : SSH_LOG_WARN);
}

ConfirmationListener::~ConfirmationListener() {
  ssh_set_log_level(level_before_);
  ssh_set_log_userdata(watch_before_);
}

}  // namespace sparkplan::ssh
