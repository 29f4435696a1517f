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
constexpr std::int64_t kLargestRecords = std::int64_t{1} << 20U;
constexpr std::int64_t kLargestFiller = std::int64_t{1} << 20U;

/// A field of a header. Source: pax(1), "ustar Interchange Format".
struct Field {
  std::size_t at;
  std::size_t size;
};
constexpr Field kNameField{0, 100};
constexpr Field kModeField{100, 8};
constexpr Field kSizeField{124, 12};
constexpr Field kChecksumField{148, 8};
constexpr std::size_t kTypeAt = 156;
constexpr Field kTargetField{157, 100};
constexpr Field kMagicField{257, 5};
/// Of a long name, and in GNU's headers times that no engine writes.
constexpr Field kPrefixField{345, 155};

tl::unexpected<Error> refused_archive(const std::string& why) {
  return failure(ErrorCode::kUnsupported, "the archive " + why);
}

std::string_view bytes_in(const std::string& block, Field field) {
  return std::string_view(block).substr(field.at, field.size);
}

std::string_view text_in(const std::string& block, Field field) {
  const auto text = bytes_in(block, field);
  return text.substr(0, text.find('\0'));
}

bool is_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == '\0'; });
}

/// Engines decompress an archive that begins with the mark of gzip, bzip2, xz or zstd. All of these but bzip2's have
/// bytes that are no printable ASCII.
bool is_plain_name(std::string_view name) {
  const bool is_printable = std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
  return !name.empty() && is_printable && !name.starts_with("BZ");
}

/// A big-endian number behind a bit that is set. Nothing if it is negative or too large.
std::optional<std::int64_t> binary_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint64_t byte = static_cast<unsigned char>(bytes[i]);
    if (i == 0) byte &= 0x7FU;
    if (number >> 55U != 0) return std::nullopt;
    number = (number << 8U) | byte;
  }
  return static_cast<std::int64_t>(number);
}

/// Octal digits between blanks and zero bytes, or a binary number.
std::optional<std::int64_t> number_in(const std::string& block, Field field) {
  auto bytes = bytes_in(block, field);
  const unsigned first = static_cast<unsigned char>(bytes.front());
  if ((first & 0x80U) != 0) return binary_number(bytes);
  const auto is_filler = [](char c) { return c == ' ' || c == '\0'; };
  while (!bytes.empty() && is_filler(bytes.front())) bytes.remove_prefix(1);
  while (!bytes.empty() && is_filler(bytes.back())) bytes.remove_suffix(1);
  if (bytes.empty()) return std::int64_t{0};
  const auto number = parse_number<std::uint64_t>(bytes, 8);
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;  // At most 12 digits.
}

bool has_right_checksum(const std::string& block) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_own = i >= kChecksumField.at && i < kChecksumField.at + kChecksumField.size;
    sum += is_own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return number_in(block, kChecksumField) == sum;
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
      if (!is_zero(next)) return refused_archive("goes on behind its end");
      SPARK_CHECK(check_filler());
      return at_end();
    }
    const auto size = number_in(block, kSizeField);
    if (text_in(block, kMagicField) != "ustar" || !has_right_checksum(block) || !size) {
      return refused_archive("has a header of another format");
    }
    if (!is_zero(bytes_in(block, kPrefixField))) return refused_archive("has a name in two parts");
    if (!is_plain_name(text_in(block, kNameField))) return refused_archive("has a name of other characters");
    const char type = block[kTypeAt];
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
    if (size_ - at_ > kLargestFiller) return refused_archive("goes on behind its end");
    SPARK_TRY(const std::string filler, read_bytes(size_ - at_));
    return is_zero(filler) ? Result<void>() : refused_archive("goes on behind its end");
  }

  Result<bool> at_end() const {
    if (is_extended_) return refused_archive("ends behind an extended header");
    return false;
  }

  Result<void> take_entry(const std::string& block, char type, std::int64_t size) {
    const auto kind = kind_of(type);
    if (!kind) return refused_archive("has a name of another kind than file, directory and link");
    const auto mode = number_in(block, kModeField);
    if (!mode || !fits_mode(*kind, *mode)) return refused_archive("has a name whose mode is of another kind");
    if (*kind != TarEntry::Kind::kLink && !is_zero(bytes_in(block, kTargetField)))
      return refused_archive("has a target that belongs to no link");
    if (entries_.size() == kMostEntries) return refused_archive("has too many names");
    TarEntry entry;
    entry.name = std::string(text_in(block, kNameField));
    entry.kind = *kind;
    entry.size = extended_size_.value_or(size);
    entry.offset = at_;
    if (*kind == TarEntry::Kind::kLink) entry.target = std::string(text_in(block, kTargetField));
    is_extended_ = false;
    extended_size_.reset();
    if (entry.kind != TarEntry::Kind::kFile && entry.size != 0)
      return refused_archive("has content that belongs to no file");
    SPARK_CHECK(skip(entry.size));
    entries_.push_back(std::move(entry));
    return {};
  }

  /// An extended header: lines of "LENGTH KEY=VALUE". Source: pax(1), "pax Extended Header".
  Result<void> read_records(std::int64_t size) {
    if (is_extended_ || size > kLargestRecords) return refused_archive("has an extended header that no engine writes");
    is_extended_ = true;
    const auto begin = at_;
    SPARK_TRY(const std::string text, read_bytes(size));
    at_ = begin;
    SPARK_CHECK(skip(size));
    std::string_view left = text;
    while (!left.empty()) {
      const auto blank = std::min(left.find(' '), left.size());
      const auto length = parse_number<std::size_t>(left.substr(0, blank)).value_or(0);
      if (length < blank + 2 || length > left.size() || left[length - 1] != '\n') {
        return refused_archive("has an extended header of another format");
      }
      SPARK_CHECK(take_record(left.substr(blank + 1, length - blank - 2)));
      left.remove_prefix(length);
    }
    return {};
  }

  /// Only a size has a meaning here. A record that gives a name is refused: an engine needs none.
  Result<void> take_record(std::string_view record) {
    const auto equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return refused_archive("has an extended header of another format");
    const auto key = record.substr(0, equals);
    if (key == "path" || key == "linkpath" || key.starts_with("GNU.")) {
      return refused_archive("has a name or a map of holes in an extended header");
    }
    if (key != "size") return {};
    const auto size = parse_number(record.substr(equals + 1));
    if (!size || *size < 0 || extended_size_) return refused_archive("has a size of another format");
    extended_size_ = size;
    return {};
  }

  Result<std::string> read_bytes(std::int64_t count) {
    if (count > size_ - at_) return refused_archive("is cut off");
    std::vector<char> bytes(static_cast<std::size_t>(count));
    SPARK_CHECK(read_at(file_, bytes, at_));
    at_ += count;
    return std::string(bytes.begin(), bytes.end());
  }

  /// Over content, and what fills its last block.
  Result<void> skip(std::int64_t count) {
    if (count > size_ - at_) return refused_archive("is cut off");
    at_ += count;
    const auto filler = (kTarBlock - at_ % kTarBlock) % kTarBlock;
    if (filler > size_ - at_) return refused_archive("is cut off");
    at_ += filler;
    return {};
  }

  const int file_;
  const std::int64_t size_;
  std::int64_t at_ = 0;
  bool is_extended_ = false;  ///< The next name has an extended header.
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
