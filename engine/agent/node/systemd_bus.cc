#include "engine/agent/node/systemd_bus.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/bus_message.h"
#include "engine/core/digest.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// All questions are sent before the first answer is read: more questions would fill both sockets.
constexpr std::size_t kMostUnits = 64;

Result<FileDescriptor> connect_to(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return failure(ErrorCode::kInvalidInput, "the socket's path is too long");
  std::copy(path.begin(), path.end(), address.sun_path);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return failure(system_error("open a socket", errno));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failure(ErrorCode::kNotFound, system_error("ask systemd", errno).describe());
  }
  return socket;
}

/// Sends and receives bytes until a deadline.
class Conversation {
 public:
  Conversation(FileDescriptor socket, std::chrono::milliseconds deadline)
      : socket_(std::move(socket)), until_(std::chrono::steady_clock::now() + deadline) {}

  Result<void> send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return failure(system_error("ask systemd", errno));
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else {
        SPARK_CHECK(wait_for(POLLOUT));
      }
    }
    return {};
  }

  Result<void> receive(std::string& bytes) {
    std::array<char, 16384> part{};
    while (true) {
      const auto size = ::recv(socket_.get(), part.data(), part.size(), 0);
      if (size > 0) {
        bytes.append(part.data(), static_cast<std::size_t>(size));
        return {};
      }
      if (size == 0) return failure(ErrorCode::kNotFound, "systemd closed the connection");
      if (errno != EAGAIN && errno != EINTR) return failure(system_error("read systemd's answer", errno));
      SPARK_CHECK(wait_for(POLLIN));
    }
  }

 private:
  Result<void> wait_for(short event) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until_ - std::chrono::steady_clock::now()).count();
    pollfd waiting{socket_.get(), event, 0};
    const int ready = left > 0 ? ::poll(&waiting, 1, static_cast<int>(left)) : 0;
    if (ready == 0) return failure(ErrorCode::kUnreachable, "systemd did not answer in time");
    if (ready < 0 && errno != EINTR) return failure(system_error("wait for systemd", errno));
    return {};
  }

  FileDescriptor socket_;
  std::chrono::steady_clock::time_point until_;
};

std::string login() {
  return std::string(1, '\0') + "AUTH EXTERNAL " + hexadecimal(std::to_string(::geteuid())) + "\r\nBEGIN\r\n";
}

std::string calls_for(std::span<const std::string> names) {
  std::string bytes;
  std::uint32_t serial = 0;
  for (const std::string& name : names) bytes += properties_call(++serial, name);
  return bytes;
}

/// Removes "OK 0123456789abcdef...\r\n" before the first message; false if it is not complete.
Result<bool> take_welcome(std::string& bytes) {
  constexpr std::size_t kLongest = 256;
  const auto end = bytes.find("\r\n");
  if (end == std::string::npos && bytes.size() < kLongest) return false;
  if (!bytes.starts_with("OK") || end == std::string::npos) {
    return failure(ErrorCode::kNotFound, "systemd rejects the connection");
  }
  bytes.erase(0, end + 2);
  return true;
}

}  // namespace

Result<std::vector<UnitProperties>> units_by_bus(std::span<const std::string> names,
                                                 std::span<const std::string_view> properties,
                                                 std::chrono::milliseconds deadline, std::string_view socket_path) {
  if (names.size() > kMostUnits) return failure(ErrorCode::kUnsupported, "too many units for one request");
  SPARK_TRY(FileDescriptor socket, connect_to(socket_path));
  Conversation conversation(std::move(socket), deadline);
  SPARK_CHECK(conversation.send(login()));
  std::string bytes;
  for (bool welcome = false; !welcome;) {
    SPARK_CHECK(conversation.receive(bytes));
    SPARK_TRY(welcome, take_welcome(bytes));
  }
  // Not earlier: systemd reads calls that arrive with the login only when more bytes arrive.
  SPARK_CHECK(conversation.send(calls_for(names)));
  std::vector<UnitProperties> units(names.size());
  for (std::size_t missing = units.size(); missing > 0;) {
    SPARK_TRY(auto reply, take_reply(bytes, properties));
    if (!reply) {
      SPARK_CHECK(conversation.receive(bytes));
      continue;
    }
    if (reply->serial == 0 || reply->serial > units.size()) continue;
    const std::size_t index = reply->serial - 1;
    // An object without any of the properties is no unit.
    if (reply->is_error || reply->values.empty()) {
      return failure(ErrorCode::kNotFound, "systemd has no unit " + names[index]);
    }
    units[index] = std::move(reply->values);
    --missing;
  }
  return units;
}

Result<std::vector<UnitProperties>> units_by_systemctl(std::span<const std::string> names,
                                                       std::span<const std::string_view> properties,
                                                       const NodeReader& node, std::chrono::milliseconds deadline) {
  std::vector<std::string> argv{"systemctl", "show", "--no-pager", "--property", {}, "--"};
  for (const auto property : properties) argv[4] += (argv[4].empty() ? "" : ",") + std::string(property);
  argv.insert(argv.end(), names.begin(), names.end());
  SPARK_TRY(const CommandOutput output, needs_program(node.query(argv, deadline), "systemctl", "units need systemd"));
  auto units = parse_units(output.standard_output);
  if (output.exit_status == 0 && units.size() == names.size()) return units;
  const auto lines = split_lines(output.standard_error);
  return failure(ErrorCode::kFailed,
                 "systemctl show: " + (lines.empty() ? "exit status " + std::to_string(output.exit_status)
                                                     : std::string(lines.front())));
}

std::vector<UnitProperties> parse_units(std::string_view printed) {
  std::vector<UnitProperties> units;
  bool begins = true;
  for (const auto line : split_lines(printed)) {
    const auto equals = line.find('=');
    if (!line.empty() && begins) units.emplace_back();
    begins = line.empty();
    if (equals != std::string_view::npos) units.back()[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return units;
}

}  // namespace sparkplan
