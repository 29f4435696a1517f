#include "engine/remote/host_keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "engine/core/text.h"
#include "engine/remote/jump_tunnel.h"
#include "engine/remote/ssh_session.h"

namespace sparkplan {

bool is_revoked(std::string_view known_hosts, std::string_view key_base64) {
  for (const auto line : split_lines(known_hosts)) {
    const auto text = trim(line);
    if (text.rfind("@revoked", 0) != 0) continue;
    std::string blanks(text);
    std::replace(blanks.begin(), blanks.end(), '\t', ' ');
    for (const auto field : split(blanks, ' ')) {
      if (!key_base64.empty() && trim(field) == key_base64) return true;
    }
  }
  return false;
}

Result<OfferedHostKey> offered_host_key(const NodeSpec& node, std::chrono::milliseconds timeout) {
  std::unique_ptr<ssh::JumpTunnel> tunnel;
  int socket = -1;
  if (!node.ssh.jump.empty()) {
    SPARK_TRY(tunnel, ssh::JumpTunnel::open(node, ConnectOptions{timeout, {}}));
    socket = tunnel->take_socket();
  }
  SPARK_TRY(const auto session, ssh::open_session(node, timeout, "", socket));
  return ssh::examine_host_key(session.get(), node);
}

Result<std::string> remember_host_key(const OfferedHostKey& key) {
  const auto path = ssh::expand_home("~/.ssh/known_hosts");
  const auto directory = std::filesystem::path(path).parent_path();
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return failure(system_error("make " + directory.string(), errno));
  }
  const int file = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return failure(system_error("open " + path, errno));
  std::string line = key.known_hosts_line + "\n";
  // The last existing line may lack its newline; our line must not be joined to it.
  const auto size = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n') line.insert(0, "\n");
  const auto written = ::write(file, line.data(), line.size());
  const int error = errno;
  ::close(file);
  if (written != static_cast<ssize_t>(line.size())) return failure(system_error("write " + path, error));
  return path;
}

}  // namespace sparkplan
