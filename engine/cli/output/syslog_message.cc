#include "engine/cli/output/syslog_message.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "engine/core/text.h"
#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

constexpr int kFacilityDaemon = 3;

// Names that are not registered with IANA need an enterprise number. 32473 is reserved for documentation (RFC 5612):
// the project has not registered a number.
constexpr std::string_view kStructuredDataId = "sparkplan@32473";

// Receivers should take 2048 octets and rsyslog takes 8192 (RFC 5424, section 6.1).
constexpr std::size_t kLongestValue = 400;
constexpr std::size_t kLongestText = 800;
constexpr std::size_t kMostParameters = 8;

constexpr timeval kSendPatience{5, 0};

/// HOSTNAME: printable ASCII without blanks, "-" when nothing is left.
std::string host_field(std::string_view host) {
  constexpr std::size_t kLongest = 255;
  std::string field;
  for (const char c : host) {
    if (c > ' ' && c <= '~' && field.size() < kLongest) field += c;
  }
  return field.empty() ? "-" : field;
}

std::string timestamp(std::chrono::system_clock::time_point time) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = microseconds / 1'000'000;
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::array<char, 48> whole{};
  std::snprintf(whole.data(), whole.size(), "%s.%06dZ", date.data(), static_cast<int>(microseconds % 1'000'000));
  return whole.data();
}

/// At most `longest` bytes, cut between characters.
std::string cut_to_bytes(std::string text, std::size_t longest) {
  constexpr std::string_view kEllipsis = "...";
  if (text.size() <= longest) return text;
  std::size_t end = 0;
  while (true) {
    const auto next = end + code_point_at(text, end).length;
    if (next + kEllipsis.size() > longest) break;
    end = next;
  }
  return text.substr(0, end).append(kEllipsis);
}

/// PARAM-VALUE, section 6.3.3.
std::string parameter_value(std::string_view text) {
  std::string value;
  for (const char c : cut_to_bytes(printable(text), kLongestValue)) {
    if (c == '"' || c == '\\' || c == ']') value += '\\';
    value += c;
  }
  return value;
}

Error nobody_listens(const std::string& path, int error_number) {
  auto error = system_error("log to " + path, error_number);
  error.hint = "check that systemd-journald or a syslog daemon is running";
  return error;
}

}  // namespace

SyslogSender syslog_sender() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return {host.data(), ::getpid(), std::chrono::system_clock::now()};
}

std::string render(const SyslogMessage& message, const SyslogSender& sender) {
  std::string line = "<" + std::to_string(kFacilityDaemon * 8 + static_cast<int>(message.severity)) + ">1 " +
                     timestamp(sender.time) + " " + host_field(sender.host) + " sparkplan " +
                     std::to_string(sender.process) + " " + message.id + " [" + std::string(kStructuredDataId);
  std::size_t count = 0;
  for (const auto& [name, value] : message.parameters) {
    if (count++ == kMostParameters) break;
    line += " " + name + "=\"" + parameter_value(value) + "\"";
  }
  // No byte order mark before the text: section 6.4 requires one before UTF-8, but it would appear in every log file.
  // Without it the text is MSG-ANY, which may contain anything.
  return line + "] " + cut_to_bytes(printable(message.text), kLongestText);
}

Result<void> send_to_syslog(const std::string& path, std::span<const SyslogMessage> messages) {
  if (messages.empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return failure(nobody_listens(path, ENAMETOOLONG));
  path.copy(address.sun_path, path.size());
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return failure(nobody_listens(path, errno));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kSendPatience, sizeof kSendPatience);
  int error = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  const auto sender = syslog_sender();
  for (const auto& message : messages) {
    if (error != 0) break;
    const auto line = render(message, sender);
    ssize_t sent = -1;
    do {
      sent = ::send(socket, line.data(), line.size(), MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) error = errno;
  }
  ::close(socket);
  if (error != 0) return failure(nobody_listens(path, error));
  return {};
}

}  // namespace sparkplan
