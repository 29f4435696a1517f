#include "engine/launch/job_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "engine/core/file_descriptor.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::string_view end_of(std::string_view text, std::size_t most) {
  return text.substr(text.size() - std::min(text.size(), most));
}

/// Also gives back the memory of what is cut.
void cut_to(std::size_t most, OutputTails::Tail& tail) {
  tail.is_cut = tail.is_cut || tail.text.size() > most;
  tail.text = std::string(end_of(tail.text, most));
}

}  // namespace

void LineSplitter::feed(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    // "\r\n" is one end of a line.
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const auto end = bytes.find_first_of("\r\n");
    put(bytes.substr(0, end), take);
    if (end == std::string_view::npos) return;
    after_return_ = bytes[end] == '\r';
    take(line_);
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::put(std::string_view bytes, const Take& take) {
  while (line_.size() + bytes.size() > kLongestLine) {
    const auto room = kLongestLine - line_.size();
    line_ += bytes.substr(0, room);
    bytes.remove_prefix(room);
    take(line_);
    line_.clear();
  }
  line_ += bytes;
}

void LineSplitter::finish(const Take& take) {
  if (!line_.empty()) take(line_);
  line_.clear();
}

Result<void> PrefixedLines::take(const OutputSource& source, std::string_view bytes) {
  std::string lines;
  const std::string prefix = prefix_(source);
  streams_[source].feed(bytes, [&](std::string_view line) { lines += prefix + printable(line) + "\n"; });
  if (!lines.empty()) print_(lines, source.error);
  return {};
}

Result<void> PrefixedLines::finish() {
  for (auto& [source, stream] : streams_) {
    stream.finish(
        [&, &from = source](std::string_view line) { print_(prefix_(from) + printable(line) + "\n", from.error); });
  }
  return {};
}

Result<OutputFiles> OutputFiles::in(const std::string& folder, Name name, const OutputRoom& room) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return failure(system_error("make " + folder, errno));
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0) return failure(system_error("read " + folder, errno));
  if (!S_ISDIR(found.st_mode)) return failure(system_error("write in " + folder, ENOTDIR));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return failure(system_error("write in " + folder, errno));
  return OutputFiles(folder, std::move(name), room);
}

OutputFiles::~OutputFiles() {
  for (const auto& [source, file] : files_) ::close(file);
}

Result<int> OutputFiles::file_of(const OutputSource& source) {
  const auto found = files_.find(source);
  if (found != files_.end()) return found->second;
  const std::string path = folder_ + "/" + name_(source);
  // O_NONBLOCK: in a folder of several users, any of them can make a FIFO of that name. open() would wait for its
  // reader.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  FileDescriptor file(::open(path.c_str(), kFlags, 0666));
  if (!file.valid()) return failure(system_error("write " + path, errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure(system_error("write " + path, errno));
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUnsupported, path + " is not a regular file", "remove it");
  if (::ftruncate(file.get(), 0) != 0) return failure(system_error("write " + path, errno));
  return files_.emplace(source, file.release()).first->second;
}

Result<void> OutputFiles::make(const OutputSource& source) {
  SPARK_TRY([[maybe_unused]] const int file, file_of(source));
  return {};
}

Result<void> OutputFiles::check_room(int file) const {
  struct statvfs status {};
  if (written_ <= room_.unchecked || ::fstatvfs(file, &status) != 0) return {};
  const auto free = static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
  if (free >= room_.kept_free) return {};
  constexpr std::int64_t kMegabyte = 1'000'000;
  return failure(ErrorCode::kFailed,
                 "the output fills the disk of " + folder_ + ": " + std::to_string(free / kMegabyte) + " MB are free",
                 "find the large file there, and remove it");
}

Result<void> OutputFiles::take(const OutputSource& source, std::string_view bytes) {
  SPARK_TRY(const int file, file_of(source));
  written_ += static_cast<std::int64_t>(bytes.size());
  SPARK_CHECK(check_room(file));
  if (write_fully(file, bytes)) return {};
  const int why = errno;
  return failure(system_error("write " + folder_ + "/" + name_(source), why));
}

std::size_t OutputTails::longest_of(std::size_t node) const {
  const auto ranks = ranks_.find(node);
  return ranks == ranks_.end() ? kLongestTail : std::min(kLongestTail, kMostOfNode / ranks->second);
}

OutputTails::Tail& OutputTails::tail_for(const OutputSource& source) {
  const auto [place, is_new] = tails_.try_emplace({source.node, source.rank});
  if (!is_new) return place->second;
  ++ranks_[source.node];
  // The tails of the other ranks may now be longer than their part.
  const std::size_t most = 2 * longest_of(source.node);
  for (auto one = tails_.lower_bound({source.node, std::numeric_limits<int>::min()});
       one != tails_.end() && one->first.first == source.node; ++one) {
    if (one->second.text.capacity() > most) cut_to(longest_of(source.node), one->second);
  }
  return place->second;
}

Result<void> OutputTails::take(const OutputSource& source, std::string_view bytes) {
  Tail& tail = tail_for(source);
  const std::size_t longest = longest_of(source.node);
  if (bytes.size() > longest) {
    bytes.remove_prefix(bytes.size() - longest);
    tail.text.clear();
    tail.is_cut = true;
  }
  // Cut rarely, so that a flood is not copied once per piece.
  if (tail.text.size() + bytes.size() > 2 * longest) cut_to(longest - bytes.size(), tail);
  if (tail.text.size() + bytes.size() > longest && tail.text.capacity() < 2 * longest) {
    // A string that grows by itself would double its memory.
    std::string with_room;
    with_room.reserve(2 * longest);
    with_room += tail.text;
    tail.text = std::move(with_room);
  }
  tail.text += bytes;
  return {};
}

OutputTails::Tail OutputTails::tail_of(std::size_t node, int rank) const {
  const auto found = tails_.find({node, rank});
  if (found == tails_.end()) return {};
  const Tail& tail = found->second;
  const std::string_view end = end_of(tail.text, longest_of(node));
  return {std::string(end), tail.is_cut || end.size() < tail.text.size()};
}

OutputTails::Tail OutputTails::move_tail_of(std::size_t node, int rank) {
  const auto found = tails_.find({node, rank});
  if (found == tails_.end()) return {};
  Tail tail = std::move(found->second);
  tails_.erase(found);
  if (tail.text.size() > longest_of(node)) cut_to(longest_of(node), tail);
  return tail;
}

}  // namespace sparkplan
