#include "tests/unit/agent/own_mounts.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <vector>

#include "engine/agent/node/separate_access.h"
#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

constexpr std::chrono::seconds kTimeWithMount{60};

void write_to_kernel(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

/// From now on no other process sees the mounts of this one. A user without rights gets those of root over them.
bool have_own_mounts() {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  const bool is_root = ::geteuid() == 0;
  if (::unshare(is_root ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  if (!is_root) {
    write_to_kernel("/proc/self/setgroups", "deny");
    write_to_kernel("/proc/self/uid_map", "0 " + user + " 1");
    write_to_kernel("/proc/self/gid_map", "0 " + group + " 1");
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Answers the first request of the kernel so that each access fails with ECONNREFUSED.
bool refuse(int server) {
  std::vector<char> request(FUSE_MIN_READ_BUFFER);
  if (::read(server, request.data(), request.size()) < static_cast<ssize_t>(sizeof(fuse_in_header))) return false;
  fuse_in_header asked{};
  std::memcpy(&asked, request.data(), sizeof asked);
  const fuse_out_header answer{sizeof(fuse_out_header), -EPERM, asked.unique};
  return ::write(server, &answer, sizeof answer) == static_cast<ssize_t>(sizeof answer);
}

}  // namespace

std::optional<std::string> with_own_mounts(const ScratchDirectory& root, const std::function<bool()>& mount,
                                           const Look& look) {
  const auto work = [&]() -> Result<HomeAnswer> {
    // Its standard streams are closed. A program that it starts needs other numbers for its pipes.
    while (::open("/dev/null", O_RDWR) < STDERR_FILENO) continue;
    if (!have_own_mounts() || !mount()) return failure(system_error("mount", ENOSYS));
    SPARK_TRY(LocalNode node, LocalNode::open(root.path()));
    return HomeAnswer{{}, look(node)};
  };
  const FileDescriptor unneeded(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto answer = in_separate_process(work, unneeded.get(), kTimeWithMount);
  if (answer) return answer->bytes;
  INFO(answer.error().describe());
  REQUIRE(answer.error().sys_errno == ENOSYS);
  WARN("SKIPPED: this process may not mount");
  return std::nullopt;
}

std::optional<std::string> with_mount(const ScratchDirectory& root, const std::string& what, const std::string& where,
                                      const Look& look) {
  const auto mount = [&] {
    return ::mount((root / what).c_str(), (root / where).c_str(), nullptr, MS_BIND, nullptr) == 0;
  };
  return with_own_mounts(root, mount, look);
}

/// The server has no other file open than this one, which stays open: without a server, the kernel would answer.
bool mount_fuse(const std::string& where, const Fuse& fuse) {
  const int server = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  const std::string options = "fd=" + std::to_string(server) + ",rootmode=" + (fuse.is_file ? "100000" : "40000") +
                              ",user_id=" + std::to_string(fuse.user) + ",group_id=0,allow_other";
  if (server < 0 || ::mount("x", where.c_str(), "fuse", 0, options.c_str()) != 0) return false;
  return !fuse.refuses || refuse(server);
}

std::optional<std::string> with_fuse(const ScratchDirectory& root, const std::string& where, const Fuse& fuse,
                                     const Look& look) {
  return with_own_mounts(
      root, [&] { return mount_fuse((root / where).string(), fuse); }, look);
}

}  // namespace sparkplan::test
