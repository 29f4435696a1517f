#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan {

/// Numbered as RFC 5424, section 6.2.1.
enum class SyslogSeverity : std::uint8_t { kError = 3, kWarning = 4 };

/// The content of one message, without its sender and time.
struct SyslogMessage {
  SyslogSeverity severity = SyslogSeverity::kWarning;
  std::string id;                                               ///< MSGID: "drift".
  std::vector<std::pair<std::string, std::string>> parameters;  ///< Names are fixed, values may come from anywhere.
  std::string text;                                             ///< For a person to read.

  bool operator==(const SyslogMessage&) const = default;
};

/// The sender and the time of a message.
struct SyslogSender {
  std::string host;
  std::int64_t process = 0;
  std::chrono::system_clock::time_point time;
};

/// This process on this machine, now.
SyslogSender syslog_sender();

/// Pure. One message of facility daemon, without a final newline and within 8 KiB:
/// <28>1 2026-01-01T00:00:00.000000Z HOST sparkplan 4711 drift [sparkplan@32473 node="n1"] n1: ...
/// For any values, the result is one line of valid UTF-8 without control characters. Long values are cut.
/// Source: RFC 5424, section 6.
std::string render(const SyslogMessage& message, const SyslogSender& sender);

/// Sends each message as a separate datagram to the socket at `path`.
/// Errors: kFailed (no process listens there, or it accepts nothing for 5 s).
Result<void> send_to_syslog(const std::string& path, std::span<const SyslogMessage> messages);

}  // namespace sparkplan
