#include "engine/copy/images/layer_headers.h"

#include <algorithm>
#include <array>

#include "engine/core/number_format.h"

namespace sparkplan::copy {
namespace {

/// No disk is larger.
constexpr std::int64_t kLargestContent = std::int64_t{1} << 60U;

/// What engines decompress: gzip, bzip2, xz, zstd, and zstd behind a frame that it skips.
/// Source: go-archive/compression of moby, pkg/archive of containers/storage.
bool is_compressed(std::string_view bytes) {
  constexpr std::array<std::string_view, 4> kMarks{"\x1f\x8b", "BZh", "\xfd\x37zXZ", "\x28\xb5\x2f\xfd"};
  constexpr std::string_view kSkippedFrame = "*M\x18";
  const bool is_marked = std::ranges::any_of(kMarks, [&](std::string_view mark) { return bytes.starts_with(mark); });
  return is_marked || (bytes.front() >= 'P' && bytes.front() <= '_' && bytes.substr(1).starts_with(kSkippedFrame));
}

/// Links, devices, directories and pipes, whatever size their header states.
bool has_no_content(char type) { return type >= '1' && type <= '6'; }

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
  const bool is_whole = part_.empty() && !is_records_ && skipped_ <= filler_;
  return is_whole ? Result<void>() : refused_layer("is no whole tar archive");
}

Result<void> LayerHeaders::take_part() {
  if (!is_records_) return take_header();
  is_records_ = false;
  part_size_ = kTarBlock;
  return take_records();
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
  switch (const char type = part_[kTarTypeAt]; type) {
    case 'x':
    case 'g':
      return begin_records(*size, type == 'g');
    case 'L':
    case 'K':
      has_other_header_ = true;
      skip_content(*size);
      return {};
    case 'S':
      return refused_layer("has a file with holes, which engines do not write");
    default:
      return take_entry(type, *size);
  }
}

Result<void> LayerHeaders::take_entry(char type, std::int64_t size) {
  size = extended_size_.value_or(size);
  if (has_no_content(type)) size = 0;
  // By its name alone, such a file could be a directory, and have no content.
  const auto name = tar_text(part_, kTarName);
  const bool is_clear = type != '\0' || (!has_other_header_ && !name.empty() && !name.ends_with('/'));
  if (size > 0 && !is_clear) return refused_layer("has a file that could also be a directory");
  extended_size_.reset();
  has_other_header_ = false;
  skip_content(size);
  return {};
}

Result<void> LayerHeaders::begin_records(std::int64_t size, bool for_all) {
  if (size > kLargestTarRecords) return refused_layer("has an extended header that no engine writes");
  extended_size_.reset();
  has_other_header_ = true;
  if (size == 0) return {};
  is_records_ = true;
  is_for_all_ = for_all;
  part_size_ = static_cast<std::size_t>(size);
  return {};
}

Result<void> LayerHeaders::take_records() {
  filler_ = skipped_ = tar_filler(static_cast<std::int64_t>(part_.size()));
  return for_each_tar_record(part_, [this](std::string_view key, std::string_view value) -> Result<void> {
    if (key.starts_with("GNU.sparse")) return refused_layer("has a file with holes, which engines do not write");
    if (key != "size") return {};
    const auto size = parse_number(value);
    if (is_for_all_ || !size || *size < 0 || *size > kLargestContent)
      return refused_layer("has an extended header that no engine writes");
    extended_size_ = size;
    return {};
  });
}

void LayerHeaders::skip_content(std::int64_t size) {
  filler_ = tar_filler(size);
  skipped_ = size + filler_;
}

}  // namespace sparkplan::copy
