#include "engine/copy/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "engine/copy/tree.h"
#include "engine/core/digest.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"

namespace sparkplan::copy {
namespace {

constexpr std::size_t kLargestJournal = std::size_t{512} << 20;

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

/// One word, whatever the path has in it. No line of a boot can begin in it: hexadecimal digits are small letters.
std::string word_of_path(const std::string& path) { return sha256(path).substr(0, 32); }

std::string line_of(const std::string& partial_name, std::size_t chunk, const Digest& digest) {
  return "C " + partial_name + " " + std::to_string(chunk) + " " + hex(digest) + "\n";
}

}  // namespace

Result<Journal::DirectoryId> Journal::id_of(int directory) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  struct statx status {};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) {
    return failure(system_error("read a directory", errno));
  }
  const bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
  return DirectoryId{status.stx_ino, has_birth ? status.stx_btime.tv_sec * kSecond + status.stx_btime.tv_nsec : 0};
}

Result<void> Journal::open(int partial_folder) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  file_ = FileDescriptor(::openat(partial_folder, kJournalName, kFlags, 0600));
  if (!file_.valid()) return failure(system_error("open the journal of unfinished files", errno));
  SPARK_CHECK(check_regular(file_.get(), std::string(kPartialFolder) + "/" + kJournalName));
  std::string text;
  std::string buffer(std::size_t{1} << 16, '\0');
  while (text.size() < kLargestJournal) {
    const auto count = ::read(file_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(system_error("read the journal of unfinished files", errno));
    if (count == 0) break;
    text.append(buffer, 0, static_cast<std::size_t>(count));
  }
  const std::string own = "B " + boot_id();
  const auto last_boot = text.rfind("B ");
  earlier_boot_ = !text.empty() && (last_boot == std::string::npos || text.compare(last_boot, own.size(), own) != 0);
  read(text);
  // Also ends a line that a crash has cut off. The line of a new boot comes with confirm().
  const std::string begin = (text.empty() ? "" : "\n") + (earlier_boot_ ? "" : own + "\n");
  return write(begin);
}

Result<void> Journal::keep_only(const std::string& partial_name, const Chunks& found) {
  std::string lines;
  for (const auto& [chunk, digest] : chunks_of_file(partial_name)) {
    const auto kept = found.find(chunk);
    if (kept == found.end() || kept->second != digest) lines += line_of(partial_name, chunk, Digest{});
  }
  kept_.insert(partial_name);
  if (lines.empty()) return {};
  chunks_[partial_name] = found;
  return write(lines);
}

Result<void> Journal::confirm() {
  if (!earlier_boot_) return {};
  std::string lines;
  for (const auto& [partial_name, chunks] : chunks_) {
    if (!kept_.contains(partial_name)) lines += "R " + partial_name + "\n";
  }
  return write(lines + "B " + boot_id() + "\n");
}

void Journal::read(const std::string& text) {
  for (auto rest = std::string_view(text).substr(0, text.rfind('\n') + 1); !rest.empty();) {
    const auto words = split(take_line(rest), ' ');
    if (words.size() == 2 && words[0] == "R") chunks_.erase(std::string(words[1]));
    if (words.size() == 4 && words[0] == "D") {
      const auto inode = parse_number<std::uint64_t>(words[2]);
      const auto birth = parse_number<std::int64_t>(words[3]);
      if (inode && birth) directories_.insert_or_assign(std::string(words[1]), DirectoryId{*inode, *birth});
    }
    if (words.size() != 4 || words[0] != "C") continue;
    const auto chunk = parse_number<std::size_t>(words[2]);
    const Digest digest = digest_from_hex(words[3]);
    if (!chunk) continue;
    if (is_known(digest)) {
      chunks_[std::string(words[1])][*chunk] = digest;
    } else if (const auto found = chunks_.find(std::string(words[1])); found != chunks_.end()) {
      found->second.erase(*chunk);
    }
  }
}

Journal::Chunks Journal::chunks_of_file(const std::string& partial_name) const {
  const auto found = chunks_.find(partial_name);
  return found == chunks_.end() ? Chunks() : found->second;
}

Result<void> Journal::add(const std::string& partial_name, std::size_t chunk, const Digest& digest) {
  return write(line_of(partial_name, chunk, digest));
}

Result<void> Journal::forget(const std::string& partial_name, std::size_t chunk) {
  return add(partial_name, chunk, Digest{});
}

Result<void> Journal::begin_again(const std::string& partial_name) {
  chunks_.erase(partial_name);
  return write("R " + partial_name + "\n");
}

Result<void> Journal::add_directory(const std::string& path, const DirectoryId& id) {
  const std::string word = word_of_path(path);
  directories_.insert_or_assign(word, id);
  SPARK_CHECK(write("D " + word + " " + std::to_string(id.inode) + " " + std::to_string(id.birth_ns) + "\n"));
  // Without the line after a power loss, the directory would keep the wrong owner, and each further sync be refused.
  if (::fdatasync(file_.get()) == 0) return {};
  return failure(system_error("sync the journal of unfinished files", errno));
}

bool Journal::has_made(const std::string& path, const DirectoryId& id) const {
  const auto found = directories_.find(word_of_path(path));
  return found != directories_.end() && found->second == id;
}

Result<void> Journal::write(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (write_fully(file_.get(), line)) return {};
  return failure(system_error("write the journal of unfinished files", errno));
}

}  // namespace sparkplan::copy
