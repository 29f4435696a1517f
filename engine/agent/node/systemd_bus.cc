#include "engine/agent/node/systemd_bus.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/bus_message.h"
#include "engine/core/ascii.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostUnits = 64;

/// Those that systemctl prints as they are: no times, no limits, no command lines.
constexpr std::array<std::string_view, 16> kPlain{"Id",
                                                  "LoadState",
                                                  "ActiveState",
                                                  "SubState",
                                                  "UnitFileState",
                                                  "FragmentPath",
                                                  "DropInPaths",
                                                  "InvocationID",
                                                  "ConditionResult",
                                                  "ConditionTimestampMonotonic",
                                                  "NeedDaemonReload",
                                                  "Type",
                                                  "RemainAfterExit",
                                                  "Result",
                                                  "NRestarts",
                                                  "ExecMainExitTimestampMonotonic"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_unit_name(std::string_view name) {
  constexpr std::array<std::string_view, 11> kKinds{"service", "socket", "target", "device", "mount", "automount",
                                                    "swap",    "timer",  "path",   "slice",  "scope"};
  const auto dot = name.rfind('.');
  const bool plain = std::all_of(name.begin(), name.end(), [](char letter) {
    return is_alphanumeric(letter) || std::string_view(":-_.\\@").find(letter) != std::string_view::npos;
  });
  return plain && dot != std::string_view::npos && dot > 0 && holds(kKinds, name.substr(dot + 1));
}

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

/// Bytes there and back until a deadline.
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
      if (size == 0) return failure(ErrorCode::kNotFound, "systemd does not answer us");
      if (errno != EAGAIN && errno != EINTR) return failure(system_error("hear systemd", errno));
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

std::string calls_of(const UnitQuestion& question) {
  std::string bytes;
  std::uint32_t serial = 0;
  for (const std::string& unit : question.units) bytes += properties_call(++serial, unit);
  return bytes;
}

/// "OK 0123456789abcdef...\r\n" before the first message; false while it is not whole.
Result<bool> take_welcome(std::string& bytes) {
  constexpr std::size_t kLongest = 256;
  const auto end = bytes.find("\r\n");
  if (end == std::string::npos && bytes.size() < kLongest) return false;
  if (!bytes.starts_with("OK") || end == std::string::npos) {
    return failure(ErrorCode::kNotFound, "systemd does not let us ask");
  }
  bytes.erase(0, end + 2);
  return true;
}

}  // namespace

std::optional<UnitQuestion> unit_question(std::span<const std::string> argv) {
  if (argv.size() < 3 || argv[0] != "systemctl") return std::nullopt;
  UnitQuestion question;
  question.form = argv[1] == "is-active" ? UnitQuestion::Form::kIsActive : UnitQuestion::Form::kShow;
  const bool show = question.form == UnitQuestion::Form::kShow;
  if (show && argv[1] != "show") return std::nullopt;
  if (!show) question.properties = {"ActiveState"};
  constexpr std::string_view kPropertyIs = "--property=";
  for (std::size_t i = 2; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    const bool separate = show && word == "--property" && i + 1 < argv.size();
    if (separate || (show && word.starts_with(kPropertyIs))) {
      const std::string_view list = separate ? argv[++i] : std::string_view(word).substr(kPropertyIs.size());
      for (const auto name : split(list, ',')) question.properties.emplace_back(name);
    } else if (!show && word == "--quiet") {
      question.quiet = true;
    } else if (word != "--no-pager" && word != "--") {
      question.units.push_back(word);
    }
  }
  const bool known = std::all_of(question.properties.begin(), question.properties.end(),
                                 [](const auto& property) { return holds(kPlain, property); });
  const auto& units = question.units;
  const bool asked = !units.empty() && units.size() <= (show ? kMostUnits : 1) && !question.properties.empty();
  if (!asked || !known || !std::all_of(units.begin(), units.end(), is_unit_name)) return std::nullopt;
  return question;
}

UnitAnswer unit_answer(const UnitQuestion& question, const std::vector<std::map<std::string, std::string>>& units) {
  UnitAnswer answer;
  if (question.form == UnitQuestion::Form::kIsActive) {
    constexpr int kNotActive = 3;
    const auto found = units.front().find("ActiveState");
    const std::string state = found == units.front().end() ? "inactive" : found->second;
    const bool active = state == "active" || state == "reloading" || state == "refreshing";
    return {question.quiet ? "" : state + "\n", active ? 0 : kNotActive};
  }
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i > 0) answer.printed += "\n";
    for (const std::string& property : question.properties) {
      const auto value = units[i].find(property);
      if (value != units[i].end()) answer.printed += property + "=" + value->second + "\n";
    }
  }
  return answer;
}

Result<UnitAnswer> ask_systemd(const UnitQuestion& question, std::chrono::milliseconds deadline,
                               std::string_view socket_path) {
  SPARK_TRY(FileDescriptor socket, connect_to(socket_path));
  Conversation conversation(std::move(socket), deadline);
  SPARK_CHECK(conversation.send(login()));
  std::string bytes;
  for (bool welcome = false; !welcome;) {
    SPARK_CHECK(conversation.receive(bytes));
    SPARK_TRY(welcome, take_welcome(bytes));
  }
  // Not before: what systemd reads together with the login it looks at only when more comes.
  SPARK_CHECK(conversation.send(calls_of(question)));
  std::vector<std::map<std::string, std::string>> units(question.units.size());
  for (std::size_t missing = units.size(); missing > 0;) {
    SPARK_TRY(auto reply, take_reply(bytes, question.properties));
    if (!reply) {
      SPARK_CHECK(conversation.receive(bytes));
      continue;
    }
    if (reply->serial == 0 || reply->serial > units.size()) continue;
    const std::size_t index = reply->serial - 1;
    // Every unit has a name; an object that has none is no unit.
    if (reply->is_error || reply->values.empty()) {
      return failure(ErrorCode::kNotFound, "systemd knows no unit " + question.units[index]);
    }
    units[index] = std::move(reply->values);
    --missing;
  }
  return unit_answer(question, units);
}

}  // namespace sparkplan
