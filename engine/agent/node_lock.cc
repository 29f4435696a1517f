#include "engine/agent/node_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "engine/agent/manifest_store.h"
#include "engine/core/json.h"

namespace sparkplan {
namespace {

/// An image has no /run of its own that would be emptied at boot.
std::filesystem::path lock_directory(const LocalNode& node) {
  return node.live() ? std::string_view(kLockDirectory) : kStateDirectory;
}

struct flock whole_file(short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return range;
}

std::optional<LockHolder> read_holder(int file) {
  std::array<char, 4096> text{};
  const auto size = ::pread(file, text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  const auto value = decode_json(std::string_view(text.data(), static_cast<std::size_t>(size)));
  if (!value) return std::nullopt;
  auto holder = decode_lock_holder(*value);
  return holder ? std::optional<LockHolder>(std::move(*holder)) : std::nullopt;
}

}  // namespace

NodeLock::NodeLock(NodeLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

NodeLock::~NodeLock() {
  if (file_ >= 0) ::close(file_);
}

Result<NodeLock> NodeLock::acquire(const LockHolder& holder, LocalNode& node) {
  SPARK_CHECK(node.make_directories(lock_directory(node), 0700));
  SPARK_TRY(const int file, node.open_descriptor(lock_directory(node) / "lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  NodeLock lock(file);
  auto range = whole_file(F_WRLCK);
  if (::fcntl(file, F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES) return failure(system_error("lock the node", errno));
    const auto other = read_holder(file);
    return failure(ErrorCode::kBusy, "locked by " + (other ? other->describe() : std::string("another run")),
                   "wait for it, or give --lock-timeout");
  }
  const auto text = encode_json(encode(holder)) + "\n";
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return failure(system_error("write the lock", errno));
  }
  return lock;
}

Result<std::optional<LockHolder>> lock_holder(const LocalNode& node) {
  auto opened = node.open_descriptor(lock_directory(node) / "lock", O_RDONLY | O_NOFOLLOW);
  if (!opened) {
    if (opened.error().code == ErrorCode::kNotFound) return std::optional<LockHolder>();
    return failure(std::move(opened).error());
  }
  const int file = *opened;
  auto range = whole_file(F_RDLCK);
  std::optional<LockHolder> holder;
  if (::fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK) {
    holder = read_holder(file).value_or(LockHolder{"somebody", 0, "run", "?"});
  }
  ::close(file);
  return holder;
}

}  // namespace sparkplan
