#include "engine/agent/state/node_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <utility>

#include "engine/agent/kernel/kernel_file.h"
#include "engine/agent/state/manifest_store.h"
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

std::optional<LockingAgent> read_holder(int file) {
  std::array<char, 4096> text{};
  const auto size = ::pread(file, text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  const auto value = decode_json(std::string_view(text.data(), static_cast<std::size_t>(size)));
  if (!value) return std::nullopt;
  auto holder = decode<LockHolder>(*value);
  if (!holder) return std::nullopt;
  return LockingAgent{std::move(*holder), value->integer_or("agent", 0),
                      static_cast<std::uint64_t>(value->integer_or("agent_started", 0))};
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
    return failure(ErrorCode::kBusy, "locked by " + (other ? other->holder.describe() : std::string("another run")),
                   "wait for it, or give --lock-timeout");
  }
  Value content = encode(holder);
  content.set("agent", static_cast<std::int64_t>(::getpid()));
  content.set("agent_started", static_cast<std::int64_t>(start_of_process(::getpid())));
  const auto text = encode_json(content) + "\n";
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return failure(system_error("write the lock", errno));
  }
  return lock;
}

std::uint64_t start_of_process(std::int64_t process) {
  const std::string text = kernel_line("/proc/" + std::to_string(process) + "/stat");
  // The name, in parentheses, may hold anything; field 3 is the first behind it.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  constexpr std::size_t kStarted = 19;
  const auto fields = split(trim(std::string_view(text).substr(name_end + 1)), ' ');
  std::uint64_t started = 0;
  if (fields.size() > kStarted) {
    std::from_chars(fields[kStarted].data(), fields[kStarted].data() + fields[kStarted].size(), started);
  }
  return started;
}

Result<std::optional<LockingAgent>> locking_agent(const LocalNode& node) {
  auto opened = node.open_descriptor(lock_directory(node) / "lock", O_RDONLY | O_NOFOLLOW);
  if (!opened) {
    if (opened.error().code == ErrorCode::kNotFound) return std::optional<LockingAgent>();
    return failure(std::move(opened).error());
  }
  const int file = *opened;
  auto range = whole_file(F_RDLCK);
  std::optional<LockingAgent> holder;
  if (::fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK) {
    holder = read_holder(file).value_or(LockingAgent{LockHolder{"somebody", 0, "run", "?"}});
  }
  ::close(file);
  return holder;
}

Result<std::optional<LockHolder>> lock_holder(const LocalNode& node) {
  SPARK_TRY(auto held, locking_agent(node));
  return held ? std::optional<LockHolder>(std::move(held->holder)) : std::nullopt;
}

}  // namespace sparkplan
