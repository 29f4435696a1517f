#include "engine/copy/file_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace sparkplan::copy {
namespace {

constexpr std::size_t kHole = 4096;
constexpr std::size_t kDigestPart = std::size_t{256} << 10;

Result<void> write_part(int file, const char* bytes, std::size_t size, std::int64_t offset) {
  while (size > 0) {
    const auto written = ::pwrite(file, bytes, size, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failure(system_error("write a chunk", errno));
    bytes += written;
    offset += written;
    size -= static_cast<std::size_t>(written);
  }
  return {};
}

Result<void> read_into(int file, char* bytes, std::size_t size, std::int64_t offset) {
  for (std::size_t done = 0; done < size;) {
    const auto count = ::pread(file, bytes + done, size - done, offset + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(system_error("read a chunk", errno));
    if (count == 0) return failure(ErrorCode::kFailed, "a file became shorter while it was read");
    done += static_cast<std::size_t>(count);
  }
  return {};
}

/// The disk reads all parts at once.
void read_ahead(int file, std::size_t size, std::int64_t offset) {
  (void)::posix_fadvise(file, offset, static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

bool all_zero(const char* bytes, std::size_t size) {
  return std::all_of(bytes, bytes + size, [](char byte) { return byte == 0; });
}

}  // namespace

Result<void> read_at(int file, std::vector<char>& bytes, std::int64_t offset) {
  return read_into(file, bytes.data(), bytes.size(), offset);
}

Result<Digest> read_with_digest(int file, std::vector<char>& bytes, std::int64_t offset) {
  read_ahead(file, bytes.size(), offset);
  ChunkHash hash;
  for (std::size_t at = 0; at < bytes.size(); at += kDigestPart) {
    const auto size = std::min(kDigestPart, bytes.size() - at);
    SPARK_CHECK(read_into(file, bytes.data() + at, size, offset + static_cast<off_t>(at)));
    hash.add(bytes.data() + at, size);
  }
  return hash.take();
}

Result<void> write_at(int file, const std::vector<char>& bytes, std::int64_t offset) {
  return write_part(file, bytes.data(), bytes.size(), offset);
}

Result<void> write_without_zeros(int file, const std::vector<char>& bytes, std::int64_t offset) {
  constexpr int kMakeHole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  // An earlier transfer may have left bytes of an earlier version. Without holes, the zeros are written.
  if (::fallocate(file, kMakeHole, offset, static_cast<off_t>(bytes.size())) != 0) return write_at(file, bytes, offset);
  std::size_t begin = 0;
  const auto write_until = [&](std::size_t end) -> Result<void> {
    return write_part(file, bytes.data() + begin, end - begin, offset + static_cast<off_t>(begin));
  };
  for (std::size_t at = 0; at < bytes.size(); at += kHole) {
    const auto size = std::min(kHole, bytes.size() - at);
    if (!all_zero(bytes.data() + at, size)) continue;
    SPARK_CHECK(write_until(at));
    begin = at + size;
  }
  return write_until(bytes.size());
}

std::size_t readers_for(std::size_t chunks) {
  constexpr std::size_t kFewest = 4;
  constexpr std::size_t kMost = 12;
  return std::min(std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, kFewest, kMost), chunks);
}

Result<Digest> digest_at(int file, std::size_t size, std::int64_t offset) {
  read_ahead(file, size, offset);
  std::vector<char> part(std::min(kDigestPart, size));
  ChunkHash hash;
  for (std::size_t at = 0; at < size; at += part.size()) {
    part.resize(std::min(kDigestPart, size - at));
    SPARK_CHECK(read_at(file, part, offset + static_cast<off_t>(at)));
    hash.add(part.data(), part.size());
  }
  return hash.take();
}

Result<void> sync_range(int file, std::int64_t offset, std::size_t size) {
  constexpr unsigned kAll = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (::sync_file_range(file, offset, static_cast<off_t>(size), kAll) == 0) return {};
  // Some file systems do not know the call; then the file as a whole is synced at its end.
  if (errno == ENOSYS || errno == ESPIPE || errno == EINVAL) return {};
  return failure(system_error("write a chunk to the disk", errno));
}

void drop_from_cache(int file, std::int64_t offset, std::size_t size) {
  (void)::posix_fadvise(file, offset, static_cast<off_t>(size), POSIX_FADV_DONTNEED);
}

}  // namespace sparkplan::copy
