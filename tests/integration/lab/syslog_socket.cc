#include "tests/integration/lab/syslog_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <stdexcept>

namespace sparkplan::test {
namespace {

constexpr const char* kLog = "/dev/log";

}  // namespace

SyslogSocket::SyslogSocket() {
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = (scratch_.path() / "log").string();
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("no socket at " + path);
  }
  if (!std::filesystem::exists(kLog)) {
    std::ofstream mount_point(kLog);
    made_mount_point_ = true;
  }
}

SyslogSocket::~SyslogSocket() {
  fall_silent();
  if (made_mount_point_) ::unlink(kLog);
}

void SyslogSocket::fall_silent() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

Words SyslogSocket::logging_here(const Words& argv) const {
  Words all{"unshare",
            "--mount",
            "--propagation",
            "private",
            "--",
            "sh",
            "-c",
            R"(mount --bind "$0" /dev/log && exec "$@")",
            (scratch_.path() / "log").string()};
  all.insert(all.end(), argv.begin(), argv.end());
  return all;
}

std::string SyslogSocket::read() {
  std::string text;
  std::array<char, 8192> message{};
  while (true) {
    const auto size = ::recv(socket_, message.data(), message.size(), MSG_DONTWAIT);
    if (size < 0) return text;
    text.append(message.data(), static_cast<std::size_t>(size)) += '\n';
  }
}

}  // namespace sparkplan::test
