#include "engine/remote/ssh/host_keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/core/file_descriptor.h"
#include "engine/process/own_user.h"
#include "engine/remote/ssh/ssh_connection.h"

namespace sparkplan {
namespace {

const char* const kUsualFile = "~/.ssh/known_hosts";

}  // namespace

Result<OfferedHostKey> offered_host_key(const NodeSpec& node, const ConnectOptions& options) {
  SPARK_TRY(const SshWay way, ssh::way_with(node, options));
  return offered_host_key(way, way.stations.size() - 1, options);
}

Result<std::string> remember_host_key(const OfferedHostKey& key) {
  const auto path = key.file.empty() ? expand_home(kUsualFile) : key.file;
  const auto directory = std::filesystem::path(path).parent_path();
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return failure(system_error("make " + directory.string(), errno));
  }
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file.valid()) return failure(system_error("open " + path, errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return failure(ErrorCode::kInvalidInput, "the host key cannot be recorded: " + path + " is not a regular file",
                   "see UserKnownHostsFile in ~/.ssh/config, or pin the key as `host_key` of the node");
  }
  std::string line = key.known_hosts_line + "\n";
  // The last existing line may lack its newline; our line must not be joined to it.
  char last = '\n';
  if (status.st_size > 0 && ::pread(file.get(), &last, 1, status.st_size - 1) == 1 && last != '\n')
    line.insert(0, "\n");
  if (!write_fully(file.get(), line)) return failure(system_error("write " + path, errno));
  return path;
}

std::string command_to_forget(const OfferedHostKey& key, const SshStation& station) {
  const std::string name = station.known_name();
  std::string command = "ssh-keygen -R " + (name.front() == '[' ? "'" + name + "'" : name);
  const std::string file = key.known.empty() ? key.file : key.known.front().file;
  if (!file.empty() && file != expand_home(kUsualFile)) command += " -f " + file;
  return command;
}

}  // namespace sparkplan
