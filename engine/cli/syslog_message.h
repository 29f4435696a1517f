#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan {

/// Numbered as RFC 5424, section 6.2.1.
enum class SyslogSeverity : std::uint8_t { kError = 3, kWarning = 4 };

/// What one message says, before it is known who sends it and when.
struct SyslogMessage {
  SyslogSeverity severity = SyslogSeverity::kWarning;
  std::string id;                                               ///< MSGID: "drift".
  std::vector<std::pair<std::string, std::string>> parameters;  ///< Names are ours, values anybody's.
  std::string text;                                             ///< For a person.

  bool operator==(const SyslogMessage&) const = default;
};

/// Who sends a message, and when.
struct SyslogSender {
  std::string host;
  std::int64_t process = 0;
  std::chrono::system_clock::time_point time;
};

/// This process on this machine, now.
SyslogSender syslog_sender();

/// Pure. One message of facility daemon, without a final newline and within 8 KiB:
/// <28>1 2026-01-01T00:00:00.000000Z HOST sparkplan 4711 drift [sparkplan@32473 node="n1"] n1: ...
/// Whatever the values hold, the result is one line of valid UTF-8 without control characters; long
/// values are cut. Source: RFC 5424, section 6.
std::string render(const SyslogMessage& message, const SyslogSender& sender);

/// Sends each message as a datagram of its own to the socket at `path`.
/// Errors: kFailed (nobody listens there, or takes nothing for 5 s).
Result<void> send_to_syslog(const std::string& path, std::span<const SyslogMessage> messages);

}  // namespace sparkplan
