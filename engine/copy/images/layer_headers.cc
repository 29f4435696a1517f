#include "engine/copy/images/layer_headers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/number_format.h"

namespace sparkplan::copy {
namespace {

/// No disk is larger.
constexpr std::int64_t kLargestContent = std::int64_t{1} << 60U;

/// Engines decompress gzip, bzip2, xz, zstd, and zstd behind a frame that it skips.
/// Source: go-archive/compression of moby, pkg/archive of containers/storage.
bool is_compressed(std::string_view bytes) {
  constexpr std::array<std::string_view, 4> kMarks{"\x1f\x8b", "BZh", "\xfd\x37zXZ", "\x28\xb5\x2f\xfd"};
  constexpr std::string_view kSkippedFrame = "*M\x18";
  const bool is_marked = std::ranges::any_of(kMarks, [&](std::string_view mark) { return bytes.starts_with(mark); });
  return is_marked || (bytes.front() >= 'P' && bytes.front() <= '_' && bytes.substr(1).starts_with(kSkippedFrame));
}

/// Links, devices, directories and pipes, whatever size their header states.
bool has_no_content(char type) { return type >= '1' && type <= '6'; }

/// Directories in front of a name that the name before it does not have.
std::int64_t new_directories(std::string_view name, std::string_view before) {
  const auto other = std::mismatch(name.begin(), name.end(), before.begin(), before.end()).first;
  name.remove_prefix(static_cast<std::size_t>(other - name.begin()));
  while (name.ends_with('/')) name.remove_suffix(1);
  return std::ranges::count(name, '/');
}

tl::unexpected<Error> refused_layer(const std::string& why) {
  return failure(ErrorCode::kUnsupported, why, "nothing was loaded; look at the image on the source");
}

}  // namespace

void LayerHeaders::add(std::string_view bytes) {
  while (verdict_ && !has_ended_ && !bytes.empty()) {
    if (skipped_ > 0) {
      const auto count = std::min(skipped_, static_cast<std::int64_t>(bytes.size()));
      skipped_ -= count;
      bytes.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    const auto piece = bytes.substr(0, part_size_ - part_.size());
    part_ += piece;
    bytes.remove_prefix(piece.size());
    if (part_.size() < part_size_) return;
    verdict_ = take_part();
    part_.clear();
  }
}

Result<void> LayerHeaders::end() const {
  if (!verdict_ || has_ended_) return verdict_;
  // Readers do without the filler of the last content, and without the blocks behind it.
  const bool is_whole = part_.empty() && part_kind_ == Part::kHeader && skipped_ <= filler_;
  return is_whole ? Result<void>() : refused_layer("is no whole tar archive");
}

Result<void> LayerHeaders::take_part() {
  const Part kind = std::exchange(part_kind_, Part::kHeader);
  if (kind == Part::kHeader) return take_header();
  part_size_ = kTarBlock;
  filler_ = skipped_ = tar_filler(static_cast<std::int64_t>(part_.size()));
  if (kind == Part::kLongTarget) return {};
  if (kind != Part::kLongName) return take_records(kind == Part::kRecordsForAll);
  next_.long_name = part_.substr(0, part_.find('\0'));
  return {};
}

Result<void> LayerHeaders::take_header() {
  if (is_first_ && is_compressed(part_)) return refused_layer("is compressed, and is listed as if it were not");
  is_first_ = false;
  if (is_zero(part_)) {
    has_ended_ = has_zero_block_;
    has_zero_block_ = true;
    return {};
  }
  const auto size = tar_number(part_, kTarSize);
  if (has_zero_block_ || !size || *size > kLargestContent || !has_tar_checksum(part_))
    return refused_layer("is no tar archive that engines write");
  bool is_there = false;
  switch (const char type = part_[kTarTypeAt]; type) {
    case 'x':
      return begin_part(Part::kRecords, *size, next_.has_records);
    case 'g':
      // Engines take it for an entry, and forget the headers before it.
      next_ = {};
      return begin_part(Part::kRecordsForAll, *size, is_there);
    case 'L':
      return begin_part(Part::kLongName, *size, next_.has_long_name);
    case 'K':
      return begin_part(Part::kLongTarget, *size, next_.has_long_target);
    case 'S':
      return refused_layer("has a file with holes, which engines do not write");
    default:
      return take_entry(type, *size);
  }
}

Result<void> LayerHeaders::take_entry(char type, std::int64_t size) {
  size = next_.size.value_or(size);
  if (has_no_content(type)) size = 0;
  if (size > 0 && type == '\0' && could_be_directory())
    return refused_layer("has a file that could also be a directory");
  count_name();
  next_ = {};
  skip_content(size);
  return {};
}

void LayerHeaders::count_name() {
  std::string name = !next_.long_name.empty() ? std::move(next_.long_name) : std::move(next_.path);
  if (name.empty()) {
    name = tar_text(part_, kTarPrefix);
    if (!name.empty()) name += '/';
    name += tar_text(part_, kTarName);
  }
  ++names_;
  implied_directories_ += new_directories(name, last_name_);
  last_name_ = std::move(name);
}

/// Without a type, a file is a directory by its name alone, and has no content then.
bool LayerHeaders::could_be_directory() const {
  if (next_.path.ends_with('/') || next_.long_name.ends_with('/')) return true;
  const auto own = tar_text(part_, kTarName);
  const bool has_other = !next_.path.empty() || !next_.long_name.empty();
  return !has_other && (own.empty() || own.ends_with('/'));
}

/// An engine reads a chain of such headers before it does anything with them.
Result<void> LayerHeaders::begin_part(Part part, std::int64_t size, bool& was_there) {
  if (std::exchange(was_there, true) || size > kLargestTarRecords)
    return refused_layer("has an extended header that no engine writes");
  extended_bytes_ += size;
  if (size == 0) return {};
  part_kind_ = part;
  part_size_ = static_cast<std::size_t>(size);
  return {};
}

Result<void> LayerHeaders::take_records(bool for_all) {
  return for_each_tar_record(part_, [&](std::string_view key, std::string_view value) -> Result<void> {
    if (key.starts_with("GNU.sparse")) return refused_layer("has a file with holes, which engines do not write");
    if (key == "path" && !for_all) next_.path = value;
    if (key != "size") return {};
    const auto size = parse_number(value);
    if (for_all || !size || *size < 0 || *size > kLargestContent)
      return refused_layer("has an extended header that no engine writes");
    next_.size = size;
    return {};
  });
}

void LayerHeaders::skip_content(std::int64_t size) {
  filler_ = tar_filler(size);
  skipped_ = size + filler_;
}

}  // namespace sparkplan::copy
