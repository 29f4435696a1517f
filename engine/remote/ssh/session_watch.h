#pragma once

#include <libssh/libssh.h>

#include <cstdint>

namespace sparkplan::ssh {

/// Counts the data that a session's peer sends without a request, and the answers to them that it does not take.
/// Requests from the peer are refused, never stored.
struct SessionWatch {
  ssh_counter_struct packets{};    ///< All received and sent packets, decrypted.
  std::uint64_t payload = 0;       ///< The part of the received bytes that is output of a program.
  std::uint64_t data_packets = 0;  ///< The received packets with output of a running program.
  std::uint64_t written = 0;       ///< The part of the sent bytes that is input of a program.
  std::uint64_t requests = 0;      ///< Requests from the peer, such as opening a channel.
  std::uint64_t sent = 0;          ///< The packets that were sent when libssh last held none.
  std::uint64_t all_sent_at = 0;   ///< The sent bytes once libssh has sent all input that it has taken.
  std::uint64_t packet_limit = 0;  ///< The largest packet that the peer accepts on its newest channel. 0: not known.
  bool confirms_wrongly = false;   ///< It confirmed a channel twice, or for packets that are too small.
  bool flooded = false;            ///< Since floods() was true.

  /// To be called after each call that has libssh handle packets of `session`. Once true, it stays true.
  bool floods(ssh_session session);

  /// True while libssh holds input that the kernel has not taken.
  bool has_unsent(ssh_session session) const;
};

/// While it lives, `watch` learns from libssh's log how the peer confirms channels. libssh does not tell it otherwise.
/// It hears the log of the calling thread. The newest of several listeners counts.
class ConfirmationListener {
 public:
  /// Repeated confirmations are warnings, which cost nothing. The limit of a channel is only in a fuller log, which is
  /// for the time in which a channel opens.
  enum class Log : bool { kWarnings, kOpening };

  explicit ConfirmationListener(SessionWatch& watch, Log log = Log::kWarnings);
  ConfirmationListener(const ConfirmationListener&) = delete;
  ConfirmationListener& operator=(const ConfirmationListener&) = delete;
  ~ConfirmationListener();

 private:
  int level_before_;
  void* watch_before_;
};

}  // namespace sparkplan::ssh
