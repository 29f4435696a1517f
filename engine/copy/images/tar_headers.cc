#include "engine/copy/images/tar_headers.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/copy/file_bytes.h"
#include "engine/core/number_format.h"

namespace sparkplan::copy {
namespace {

constexpr std::size_t kMostEntries = 10'000;
/// Of all extended headers of an archive: they are read without a sign of life.
constexpr std::int64_t kLargestAllRecords = std::int64_t{16} << 20U;
constexpr std::int64_t kLargestFiller = std::int64_t{1} << 20U;

constexpr TarField kModeField{100, 8};
constexpr TarField kTargetField{157, 100};
constexpr TarField kMagicField{257, 5};

/// Engines decompress an archive that begins with the mark of gzip, bzip2, xz or zstd. All of these but bzip2's have
/// bytes that are no printable ASCII.
bool is_plain_name(std::string_view name) {
  const bool is_printable = std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
  return !name.empty() && is_printable && !name.starts_with("BZ");
}

std::optional<TarEntry::Kind> kind_of(char type) {
  switch (type) {
    case '0':
    case '\0':
      return TarEntry::Kind::kFile;
    case '5':
      return TarEntry::Kind::kDirectory;
    case '2':
      return TarEntry::Kind::kLink;
    default:
      return std::nullopt;
  }
}

/// Readers written in Go take the kind from the mode, whatever the type is: such a reader would follow a file with the
/// mode of a link. Source: archive/tar of Go, FileInfo().
bool fits_mode(TarEntry::Kind kind, std::int64_t mode) {
  constexpr std::int64_t kRights = 07777;
  const std::int64_t kind_bits = mode & ~kRights;
  if (kind_bits == 0) return true;
  if (kind == TarEntry::Kind::kDirectory) return kind_bits == S_IFDIR;
  return kind_bits == (kind == TarEntry::Kind::kLink ? S_IFLNK : S_IFREG);
}

class TarReader {
 public:
  TarReader(int file, std::int64_t size) : file_(file), size_(size) {}

  Result<std::vector<TarEntry>> run() {
    while (true) {
      SPARK_TRY(const bool more, read_header());
      if (!more) return std::move(entries_);
    }
  }

 private:
  /// False at the end of the archive.
  Result<bool> read_header() {
    if (at_ == size_) return at_end();
    SPARK_TRY(const std::string block, read_bytes(kTarBlock));
    if (is_zero(block)) {
      if (at_ == size_) return at_end();
      SPARK_TRY(const std::string next, read_bytes(kTarBlock));
      if (!is_zero(next)) return refused_tar("goes on behind its end");
      SPARK_CHECK(check_filler());
      return at_end();
    }
    const auto size = tar_number(block, kTarSize);
    if (tar_text(block, kMagicField) != "ustar" || !has_tar_checksum(block) || !size) {
      return refused_tar("has a header of another format");
    }
    if (!is_zero(tar_bytes(block, kTarPrefix))) return refused_tar("has a name in two parts");
    if (!is_plain_name(tar_text(block, kTarName))) return refused_tar("has a name of other characters");
    const char type = block[kTarTypeAt];
    if (type == 'x') {
      SPARK_CHECK(read_records(*size));
    } else {
      SPARK_CHECK(take_entry(block, type, *size));
    }
    return true;
  }

  /// Behind the end. Other bytes could be a second archive, for a reader that takes the first header for the beginning
  /// of compressed bytes.
  Result<void> check_filler() {
    if (size_ - at_ > kLargestFiller) return refused_tar("goes on behind its end");
    SPARK_TRY(const std::string filler, read_bytes(size_ - at_));
    return is_zero(filler) ? Result<void>() : refused_tar("goes on behind its end");
  }

  Result<bool> at_end() const {
    if (is_extended_) return refused_tar("ends behind an extended header");
    return false;
  }

  Result<void> take_entry(const std::string& block, char type, std::int64_t size) {
    const auto kind = kind_of(type);
    if (!kind) return refused_tar("has a name of another kind than file, directory and link");
    const auto mode = tar_number(block, kModeField);
    if (!mode || !fits_mode(*kind, *mode)) return refused_tar("has a name whose mode is of another kind");
    if (*kind != TarEntry::Kind::kLink && !is_zero(tar_bytes(block, kTargetField)))
      return refused_tar("has a target that belongs to no link");
    if (entries_.size() == kMostEntries) return refused_tar("has too many names");
    TarEntry entry;
    entry.name = std::string(tar_text(block, kTarName));
    entry.kind = *kind;
    entry.size = extended_size_.value_or(size);
    entry.offset = at_;
    if (*kind == TarEntry::Kind::kLink) entry.target = std::string(tar_text(block, kTargetField));
    is_extended_ = false;
    extended_size_.reset();
    if (entry.kind != TarEntry::Kind::kFile && entry.size != 0)
      return refused_tar("has content that belongs to no file");
    SPARK_CHECK(skip(entry.size));
    entries_.push_back(std::move(entry));
    return {};
  }

  Result<void> read_records(std::int64_t size) {
    records_ += std::min(size, kLargestAllRecords);
    if (is_extended_ || size > kLargestTarRecords || records_ > kLargestAllRecords)
      return refused_tar("has an extended header that no engine writes");
    is_extended_ = true;
    const auto begin = at_;
    SPARK_TRY(const std::string text, read_bytes(size));
    at_ = begin;
    SPARK_CHECK(skip(size));
    return for_each_tar_record(text, [this](auto key, auto value) { return take_record(key, value); });
  }

  /// Only a size has a meaning here. A record that gives a name is refused: an engine needs none.
  Result<void> take_record(std::string_view key, std::string_view value) {
    if (key == "path" || key == "linkpath" || key.starts_with("GNU.")) {
      return refused_tar("has a name or a map of holes in an extended header");
    }
    if (key != "size") return {};
    const auto size = parse_number(value);
    if (!size || *size < 0 || extended_size_) return refused_tar("has a size of another format");
    extended_size_ = size;
    return {};
  }

  Result<std::string> read_bytes(std::int64_t count) {
    if (count > size_ - at_) return refused_tar("is cut off");
    std::vector<char> bytes(static_cast<std::size_t>(count));
    SPARK_CHECK(read_at(file_, bytes, at_));
    at_ += count;
    return std::string(bytes.begin(), bytes.end());
  }

  /// Over content, and what fills its last block.
  Result<void> skip(std::int64_t count) {
    if (count > size_ - at_) return refused_tar("is cut off");
    at_ += count;
    const auto filler = tar_filler(at_);
    if (filler > size_ - at_) return refused_tar("is cut off");
    at_ += filler;
    return {};
  }

  const int file_;
  const std::int64_t size_;
  std::int64_t at_ = 0;
  bool is_extended_ = false;  ///< The next name has an extended header.
  std::int64_t records_ = 0;  ///< Bytes of all extended headers.
  std::optional<std::int64_t> extended_size_;
  std::vector<TarEntry> entries_;
};

}  // namespace

Result<std::vector<TarEntry>> tar_entries(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return failure(system_error("read the archive", errno));
  return TarReader(file, status.st_size).run();
}

}  // namespace sparkplan::copy
