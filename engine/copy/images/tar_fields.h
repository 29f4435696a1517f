#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

/// The parts of a tar archive that each of its readers needs. Source: pax(1).
namespace sparkplan::copy {

/// Headers, and the content behind each, fill whole blocks of an archive.
inline constexpr std::int64_t kTarBlock = 512;
/// Of one extended header. Readers written in Go have the same bound.
inline constexpr std::int64_t kLargestTarRecords = std::int64_t{1} << 20U;

/// A field of a header. Source: pax(1), "ustar Interchange Format".
struct TarField {
  std::size_t at;
  std::size_t size;
};
inline constexpr TarField kTarName{0, 100};
inline constexpr TarField kTarSize{124, 12};
/// The begin of a long path; a slash and the name follow. In GNU's headers: times that no engine writes.
inline constexpr TarField kTarPrefix{345, 155};
inline constexpr std::size_t kTarTypeAt = 156;

/// `block` is a whole block, in these functions.
std::string_view tar_bytes(std::string_view block, TarField field);
/// Up to the first zero byte.
std::string_view tar_text(std::string_view block, TarField field);
/// Octal digits between blanks and zero bytes, or a binary number. Nothing if it is negative, too large, or no number.
std::optional<std::int64_t> tar_number(std::string_view block, TarField field);
bool has_tar_checksum(std::string_view block);

bool is_zero(std::string_view bytes);
/// The bytes that fill the last block of a content.
constexpr std::int64_t tar_filler(std::int64_t size) { return (kTarBlock - size % kTarBlock) % kTarBlock; }

/// kUnsupported: "the archive WHY".
tl::unexpected<Error> refused_tar(const std::string& why);

/// One record of an extended header.
using TakeTarRecord = std::function<Result<void>(std::string_view key, std::string_view value)>;
/// Lines of "LENGTH KEY=VALUE". Source: pax(1), "pax Extended Header". Errors: kUnsupported, and those of `take`.
Result<void> for_each_tar_record(std::string_view records, const TakeTarRecord& take);

}  // namespace sparkplan::copy
