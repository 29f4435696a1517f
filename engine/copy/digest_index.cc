#include "engine/copy/digest_index.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "engine/copy/accounts.h"
#include "engine/copy/images/image_store.h"
#include "engine/copy/index_file.h"
#include "engine/core/digest.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"

namespace sparkplan::copy {
namespace {

constexpr std::size_t kFewLines = 1000;

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto parsed = parse_number<Number>(text);
  number = parsed.value_or(number);
  return parsed.has_value();
}

Result<void> make_directories(const std::string& path) {
  for (auto end = path.find('/', 1);; end = path.find('/', end + 1)) {
    if (::mkdir(path.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST) {
      return failure(system_error("make " + path.substr(0, end), errno));
    }
    if (end == std::string::npos) return {};
  }
}

/// A word that is never empty and contains no blank.
std::string word_of(const std::string& text) { return text.empty() ? "-" : base64_encode(text); }

std::optional<std::string> text_of_word(std::string_view word) {
  if (word == "-") return "";
  auto text = base64_decode(word);
  if (!text) return std::nullopt;
  return *std::move(text);
}

std::string line_of_link(const std::string& path, const std::string& target) {
  return "L " + word_of(path) + " " + word_of(target) + "\n";
}
std::string line_of_directory(const std::string& path) { return "D " + word_of(path) + "\n"; }
std::string line_of_origin(const DigestIndex::Origin& origin) {
  std::string line = "T " + word_of(origin.path) + " " + word_of(origin.owner) + (origin.made ? " made" : " found");
  if (!origin.image.empty()) {
    line += " " + word_of(origin.image) + " " + word_of(origin.image_id) + " " + std::string(to_string(origin.engine));
  }
  return line + "\n";
}

}  // namespace

std::string state_directory() {
  if (::geteuid() == 0) return "/var/lib/sparkplan/copy";
  const auto account = account_named(user_name(::geteuid()));
  const char* home = std::getenv("HOME");
  const std::string below = account && !account->home.empty() ? account->home : (home != nullptr ? home : "/tmp");
  return below + "/.local/state/sparkplan/copy";
}

std::vector<DigestIndex::Origin> recorded_trees() {
  std::vector<DigestIndex::Origin> trees;
  const std::string directory = state_directory();
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::opendir(directory.c_str()), ::closedir);
  while (const dirent* item = names ? ::readdir(names.get()) : nullptr) {
    const std::string name = directory + "/" + item->d_name;
    const FileDescriptor file = open_index(name, O_RDONLY);
    if (!name.ends_with(kIndexEnding) || !file.valid() || trees.size() == kMostCopyTrees) continue;
    const auto text = read_index(file.get());
    if (!text) continue;
    const auto index = DigestIndex::of_text(*text, false);
    const auto origin = index.origin();
    // An index is found by the path, so that no other text can lead to it.
    if (!origin || index_name(origin->path) != name) continue;
    if (index.has_brought() || is_path_of_stage(origin->path)) trees.push_back(*origin);
  }
  std::sort(trees.begin(), trees.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return trees;
}

Result<void> forget_tree(const std::string& path) {
  const std::string name = index_name(path);
  SPARK_TRY(const auto file, open_locked_index(name, 0));
  if (!file.valid()) return {};
  (void)::unlink(new_index_name(name).c_str());
  if (::unlink(name.c_str()) == 0) return {};
  return failure(system_error("remove " + name, errno));
}

DigestIndex::DigestIndex(DigestIndex&& other) noexcept
    : entries_(std::move(other.entries_)),
      numbered_(std::move(other.numbered_)),
      links_(std::move(other.links_)),
      directories_(std::move(other.directories_)),
      origin_(std::move(other.origin_)),
      lines_(other.lines_),
      chunks_(other.chunks_),
      file_(std::move(other.file_)),
      is_cut_off_(other.is_cut_off_) {}

Result<DigestIndex> DigestIndex::open(const std::string& path, bool write) {
  DigestIndex index;
  const std::string directory = state_directory();
  const std::string name = index_name(path);
  if (!write) {
    const FileDescriptor file = open_index(name, O_RDONLY);
    if (!file.valid()) return index;
    SPARK_TRY(const auto text, read_index(file.get()));
    index.read(text);
    return index;
  }
  SPARK_CHECK(make_directories(directory));
  SPARK_TRY(index.file_, open_locked_index(name, O_CREAT | O_APPEND));
  SPARK_TRY(const auto text, read_index(index.file_.get()));
  index.read(text);
  // The next line must not continue one that a crash has cut off.
  if (!text.empty() && text.back() != '\n') index.write("\n");
  index.compact(name);
  return index;
}

DigestIndex DigestIndex::of_text(const std::string& text, bool with_digests) {
  DigestIndex index;
  index.with_digests_ = with_digests;
  index.read(text);
  return index;
}

void DigestIndex::read(const std::string& text) {
  const auto complete = std::string_view(text).substr(0, text.rfind('\n') + 1);
  for_each_line(complete, [this](std::string_view line) { read_line(line); });
}

/// "F PATH SIZE MTIME CTIME INODE received|equal|read" begins a file, with its path in base64; "C NUMBER CHUNK DIGEST"
/// is a chunk of the file that the NUMBERth of these lines began. "L PATH TARGET" is a link and "D PATH" a directory
/// that a sync made, "T PATH OWNER made|found" the tree itself. A line without CTIME is of an older version: that file
/// is read again.
void DigestIndex::read_line(std::string_view line) {
  ++lines_;
  if (!with_digests_ && line.starts_with("C ")) return;
  const auto words = split(line, ' ');
  if (words.size() == 6 && words[0] == "F") {
    numbered_.emplace_back();
  } else if (words.size() == 7 && words[0] == "F") {
    Entry entry;
    entry.number = numbered_.size();
    const auto path = base64_decode(words[1]);
    numbered_.push_back(path.value_or(""));
    FileStamp& stamp = entry.record.stamp;
    const bool whole = parse(words[2], stamp.size) && parse(words[3], stamp.mtime_ns) &&
                       parse(words[4], stamp.ctime_ns) && parse(words[5], stamp.inode);
    if (!path || !whole || stamp.size < 0 || stamp.size > kLargestCopyFile) return;
    entry.record.received = words[6] != "read";
    entry.record.brought = words[6] == "received";
    if (entry.record.received) links_.erase(*path);
    const auto former = entries_.find(*path);
    if (former != entries_.end()) {
      chunks_ -= former->second.record.digests.size();
      entries_.erase(former);
    }
    // Records of files that are gone stay, so that trees of the largest size one after another could fill the memory.
    const auto chunks = with_digests_ ? static_cast<std::size_t>(chunks_of(stamp.size)) : 0;
    if (chunks_ + chunks > 2 * static_cast<std::size_t>(kMostCopyChunks)) return;
    chunks_ += chunks;
    entry.record.digests.resize(chunks);
    entries_.emplace(*path, std::move(entry));
  } else if (words.size() == 4 && words[0] == "C") {
    std::size_t number = 0;
    std::size_t chunk = 0;
    if (!parse(words[1], number) || !parse(words[2], chunk) || number >= numbered_.size()) return;
    const auto found = entries_.find(numbered_[number]);
    if (found == entries_.end() || found->second.number != number) return;
    auto& digests = found->second.record.digests;
    if (chunk < digests.size()) digests[chunk] = digest_from_hex(words[3]);
  } else {
    read_name(words);
  }
}

void DigestIndex::read_name(const std::vector<std::string_view>& words) {
  const auto first = words.size() > 1 ? text_of_word(words[1]) : std::nullopt;
  if (!first) return;
  if (words.size() == 2 && words[0] == "D") directories_.insert(*first);
  const auto second = words.size() > 2 ? text_of_word(words[2]) : std::nullopt;
  if (!second) return;
  if (words.size() == 3 && words[0] == "L") note_link(*first, *second);
  if (words[0] != "T" || (words.size() != 4 && words.size() != 7)) return;
  origin_ = Origin{*first, *second, words[3] == "made"};
  if (words.size() == 4) return;
  const auto image = text_of_word(words[4]);
  const auto id = text_of_word(words[5]);
  // The names come to the engine's program as arguments.
  if (!image || !id || !is_image_name(*image) || !is_sha256(*id)) return;
  origin_->image = *image;
  origin_->image_id = *id;
  origin_->engine =
      words[6] == to_string(ContainerEngine::kPodman) ? ContainerEngine::kPodman : ContainerEngine::kDocker;
}

void DigestIndex::compact(const std::string& file_name) {
  std::size_t live = links_.size() + directories_.size() + (origin_ ? 1 : 0);
  for (const auto& [path, entry] : entries_) live += 1 + entry.record.digests.size();
  if (lines_ < 2 * live + kFewLines) return;
  std::string text;
  auto former = std::exchange(numbered_, {});
  for (const auto& [path, entry] : entries_) text += lines_of(path, entry.record);
  for (const auto& [path, target] : links_) text += line_of_link(path, target);
  for (const std::string& path : directories_) text += line_of_directory(path);
  if (origin_) text += line_of_origin(*origin_);
  // Prune and drift need the records, so the old file stays until the new one is whole on the disk.
  auto replaced = replace_index(file_name, text);
  if (!replaced.valid()) {
    numbered_ = std::move(former);
    return;
  }
  std::size_t number = 0;
  for (auto& [path, entry] : entries_) entry.number = number++;
  file_ = std::move(replaced);
  is_cut_off_ = false;
  lines_ = live;
}

std::string DigestIndex::lines_of(const std::string& path, const Record& record) {
  const auto number = std::to_string(numbered_.size());
  numbered_.push_back(path);
  const FileStamp& stamp = record.stamp;
  std::string lines = "F " + base64_encode(path) + " " + std::to_string(stamp.size) + " " +
                      std::to_string(stamp.mtime_ns) + " " + std::to_string(stamp.ctime_ns) + " " +
                      std::to_string(stamp.inode) +
                      (record.brought    ? " received\n"
                       : record.received ? " equal\n"
                                         : " read\n");
  for (std::size_t i = 0; i < record.digests.size(); ++i) {
    if (!is_known(record.digests[i])) continue;
    lines += "C " + number + " " + std::to_string(i) + " " + hex(record.digests[i]) + "\n";
  }
  return lines;
}

void DigestIndex::write(const std::string& lines) {
  // Without this line the file is read again one day; that is no reason to fail now. But lines name earlier ones by
  // their number: behind one that is missing or cut off, files would get the digests of others.
  if (file_.valid() && !is_cut_off_) is_cut_off_ = !write_fully(file_.get(), lines);
}

std::vector<Digest> DigestIndex::find(const std::string& path, const FileStamp& stamp, std::size_t chunks) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(path);
  if (found == entries_.end() || found->second.record.stamp != stamp) return std::vector<Digest>(chunks);
  auto digests = found->second.record.digests;
  digests.resize(chunks);
  return digests;
}

std::map<std::string, DigestIndex::Record> DigestIndex::records() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Record> records;
  for (const auto& [path, entry] : entries_) records.emplace(path, entry.record);
  return records;
}

void DigestIndex::add(const std::string& path, const FileStamp& stamp, std::size_t chunks, std::size_t chunk,
                      const Digest& digest) {
  const std::lock_guard lock(mutex_);
  auto found = entries_.find(path);
  std::string lines;
  if (found == entries_.end() || found->second.record.stamp != stamp) {
    const bool received = found != entries_.end() && found->second.record.received;
    const Entry fresh{{stamp, std::vector<Digest>(chunks), received, false}, numbered_.size()};
    found = entries_.insert_or_assign(path, fresh).first;
    lines = lines_of(path, fresh.record);
  }
  if (chunk >= found->second.record.digests.size()) return;
  found->second.record.digests[chunk] = digest;
  lines += "C " + std::to_string(found->second.number) + " " + std::to_string(chunk) + " " + hex(digest) + "\n";
  write(lines);
}

void DigestIndex::add(const std::string& path, const FileStamp& stamp, const std::vector<Digest>& digests, Came came) {
  const std::lock_guard lock(mutex_);
  links_.erase(path);  // A file can replace a link of an earlier sync.
  const Entry fresh{{stamp, digests, true, came == Came::kReceived}, numbered_.size()};
  write(lines_of(path, fresh.record));
  entries_.insert_or_assign(path, fresh);
}

bool DigestIndex::is_brought(const std::string& path, const FileStamp& stamp) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(path);
  return found != entries_.end() && found->second.record.brought && found->second.record.stamp == stamp;
}

bool DigestIndex::has_brought() const {
  const std::lock_guard lock(mutex_);
  const auto is_brought = [](const auto& entry) { return entry.second.record.brought; };
  return !links_.empty() || std::any_of(entries_.begin(), entries_.end(), is_brought);
}

std::map<std::string, std::string> DigestIndex::links() const {
  const std::lock_guard lock(mutex_);
  return links_;
}

std::set<std::string> DigestIndex::directories() const {
  const std::lock_guard lock(mutex_);
  return directories_;
}

void DigestIndex::add_link(const std::string& path, const std::string& target) {
  const std::lock_guard lock(mutex_);
  note_link(path, target);
  write(line_of_link(path, target));
}

/// A link can replace a file of an earlier sync. With both records, that file would pass for a changed one.
void DigestIndex::note_link(const std::string& path, const std::string& target) {
  const auto former = entries_.find(path);
  if (former != entries_.end()) {
    chunks_ -= std::min(chunks_, former->second.record.digests.size());
    entries_.erase(former);
  }
  links_.insert_or_assign(path, target);
}

void DigestIndex::add_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (directories_.insert(path).second) write(line_of_directory(path));
}

std::optional<DigestIndex::Origin> DigestIndex::origin() const {
  const std::lock_guard lock(mutex_);
  return origin_;
}

void DigestIndex::set_origin(Origin origin) {
  const std::lock_guard lock(mutex_);
  // Only the first sync sees that the directory is new.
  origin.made = origin.made || (origin_ && origin_->made);
  if (origin_ && origin.image.empty()) {
    origin.image = origin_->image;
    origin.image_id = origin_->image_id;
    origin.engine = origin_->engine;
  }
  if (origin_ == origin) return;
  write(line_of_origin(origin));
  origin_ = std::move(origin);
}

}  // namespace sparkplan::copy
