#include "engine/copy/images/tar_fields.h"

#include <algorithm>

#include "engine/core/number_format.h"

namespace sparkplan::copy {
namespace {

constexpr TarField kChecksum{148, 8};

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

}  // namespace

std::string_view tar_bytes(std::string_view block, TarField field) { return block.substr(field.at, field.size); }

std::string_view tar_text(std::string_view block, TarField field) {
  const auto text = tar_bytes(block, field);
  return text.substr(0, text.find('\0'));
}

std::optional<std::int64_t> tar_number(std::string_view block, TarField field) {
  auto bytes = tar_bytes(block, field);
  const unsigned first = static_cast<unsigned char>(bytes.front());
  if ((first & 0x80U) != 0) return binary_number(bytes);
  const auto is_filler = [](char c) { return c == ' ' || c == '\0'; };
  while (!bytes.empty() && is_filler(bytes.front())) bytes.remove_prefix(1);
  while (!bytes.empty() && is_filler(bytes.back())) bytes.remove_suffix(1);
  if (bytes.empty()) return std::int64_t{0};
  const auto number = parse_number<std::uint64_t>(bytes, 8);
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;  // At most 12 digits.
}

bool has_tar_checksum(std::string_view block) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_own = i >= kChecksum.at && i < kChecksum.at + kChecksum.size;
    sum += is_own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return tar_number(block, kChecksum) == sum;
}

bool is_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == '\0'; });
}

tl::unexpected<Error> refused_tar(const std::string& why) {
  return failure(ErrorCode::kUnsupported, "the archive " + why);
}

Result<void> for_each_tar_record(std::string_view records, const TakeTarRecord& take) {
  const auto other_format = [] { return refused_tar("has an extended header of another format"); };
  while (!records.empty()) {
    const auto blank = std::min(records.find(' '), records.size());
    const auto length = parse_number<std::size_t>(records.substr(0, blank)).value_or(0);
    if (length < blank + 2 || length > records.size() || records[length - 1] != '\n') return other_format();
    const auto record = records.substr(blank + 1, length - blank - 2);
    const auto equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0) return other_format();
    SPARK_CHECK(take(record.substr(0, equals), record.substr(equals + 1)));
    records.remove_prefix(length);
  }
  return {};
}

}  // namespace sparkplan::copy
