#include "engine/core/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "engine/core/ascii.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// One letter alone means a power of 1024, as in GNU coreutils and systemd: "64k" is a page of 65536 bytes.
constexpr std::array kByteUnits{
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"KiB", std::int64_t{1} << 10},
    Unit{"MiB", std::int64_t{1} << 20},
    Unit{"GiB", std::int64_t{1} << 30},
    Unit{"TiB", std::int64_t{1} << 40},
    Unit{"k", std::int64_t{1} << 10},
    Unit{"K", std::int64_t{1} << 10},
    Unit{"M", std::int64_t{1} << 20},
    Unit{"G", std::int64_t{1} << 30},
    Unit{"T", std::int64_t{1} << 40},
    Unit{"kB", 1'000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
};

// Largest first, which is also the order in which they may follow each other.
constexpr std::array kTimeUnits{Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000}, Unit{"ms", 1}};

struct Prefix {
  std::string_view name;
  double factor;
};

constexpr std::array kRatePrefixes{
    Prefix{"", 1},
    Prefix{"k", 1e3},
    Prefix{"K", 1e3},
    Prefix{"M", 1e6},
    Prefix{"G", 1e9},
    Prefix{"T", 1e12},
    Prefix{"Ki", 1024.0},
    Prefix{"Mi", 1048576.0},
    Prefix{"Gi", 1073741824.0},
    Prefix{"Ti", 1099511627776.0},
};

template <std::size_t kCount>
std::optional<std::int64_t> factor_of(const std::array<Unit, kCount>& units, std::string_view name) {
  for (const auto& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

// "12.50": the digits before and after the point; at least one before, and one after if there is a point.
struct Decimal {
  std::string_view text;
  std::string_view whole;
  std::string_view fraction;
};

std::optional<Decimal> leading_decimal(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == 0) return std::nullopt;
  Decimal decimal{text.substr(0, end), text.substr(0, end), {}};
  if (end == text.size() || text[end] != '.') return decimal;
  std::size_t last = end + 1;
  while (last < text.size() && is_digit(text[last])) ++last;
  if (last == end + 1) return std::nullopt;
  decimal.text = text.substr(0, last);
  decimal.fraction = text.substr(end + 1, last - end - 1);
  return decimal;
}

enum class Fault { kNotWhole, kTooLarge };

tl::expected<std::int64_t, Fault> times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return tl::unexpected(Fault::kTooLarge);
  return product;
}

// decimal * factor in whole numbers only: a double would lose bytes above 2^53.
tl::expected<std::int64_t, Fault> scale(Decimal decimal, std::int64_t factor) {
  while (decimal.fraction.ends_with('0')) decimal.fraction.remove_suffix(1);
  const std::string digits = std::string(decimal.whole) + std::string(decimal.fraction);
  std::int64_t mantissa = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), mantissa).ec != std::errc()) {
    return tl::unexpected(Fault::kTooLarge);
  }
  // Each fractional digit divides by 2 and by 5. Each division is made on the side that still has that factor.
  for (std::size_t i = 0; i < decimal.fraction.size(); ++i) {
    for (const std::int64_t prime : {2, 5}) {
      if (factor % prime == 0) {
        factor /= prime;
      } else if (mantissa % prime == 0) {
        mantissa /= prime;
      } else {
        return tl::unexpected(Fault::kNotWhole);
      }
    }
  }
  return times(mantissa, factor);
}

tl::unexpected<Error> no_quantity(std::string_view text, std::string_view what, std::string_view why,
                                  std::string_view hint) {
  return failure(ErrorCode::kInvalidInput,
                 "\"" + printable(text) + "\" is not a valid " + std::string(what) + ": " + std::string(why),
                 std::string(hint));
}

std::string_view explain(Fault fault, std::string_view unit) {
  if (fault == Fault::kTooLarge) return "too large";
  return unit;
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kHint = "write 256MiB, 1.5GB, 64k or a plain number of bytes";
  const std::string_view trimmed = trim(text);
  const auto decimal = leading_decimal(trimmed);
  if (!decimal) return no_quantity(text, "size", "it does not begin with a number", kHint);
  const auto factor = factor_of(kByteUnits, trim(trimmed.substr(decimal->text.size())));
  if (!factor) return no_quantity(text, "size", "the unit is not known", kHint);
  const auto bytes = scale(*decimal, *factor);
  if (!bytes) return no_quantity(text, "size", explain(bytes.error(), "not a whole number of bytes"), kHint);
  return *bytes;
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  constexpr std::string_view kHint = "write 90s, 5m, 1h30m, 200ms or a plain number of seconds";
  std::string_view rest = trim(text);
  std::int64_t total = 0;
  std::int64_t smallest_so_far = kLargest;
  if (rest.empty()) return no_quantity(text, "duration", "it is empty", kHint);
  while (!rest.empty()) {
    const auto decimal = leading_decimal(rest);
    if (!decimal) return no_quantity(text, "duration", "a number is missing", kHint);
    rest.remove_prefix(decimal->text.size());
    std::size_t length = 0;
    while (length < rest.size() && !is_digit(rest[length])) ++length;
    const bool bare = length == 0 && total == 0 && smallest_so_far == kLargest;
    const auto factor = bare ? std::int64_t{1'000} : factor_of(kTimeUnits, rest.substr(0, length));
    if (!factor) return no_quantity(text, "duration", "the unit is not known", kHint);
    if (*factor >= smallest_so_far) return no_quantity(text, "duration", "larger units come first", kHint);
    smallest_so_far = *factor;
    rest.remove_prefix(length);
    const auto part = scale(*decimal, *factor);
    if (!part) return no_quantity(text, "duration", explain(part.error(), "not a whole number of milliseconds"), kHint);
    if (__builtin_add_overflow(total, *part, &total)) return no_quantity(text, "duration", "too large", kHint);
  }
  return std::chrono::milliseconds(total);
}

std::string format_duration(std::chrono::milliseconds duration) {
  const std::int64_t count = duration.count();
  // Unsigned, because the smallest int64 has no positive counterpart.
  auto rest = static_cast<std::uint64_t>(count);
  std::string text;
  if (count < 0) {
    text = "-";
    rest = 0 - rest;
  }
  if (rest == 0) return "0s";
  if (rest % 1'000 != 0) return text + std::to_string(rest) + "ms";
  for (const auto& unit : kTimeUnits) {
    const auto factor = static_cast<std::uint64_t>(unit.factor);
    if (rest / factor > 0) text += std::to_string(rest / factor) + std::string(unit.name);
    rest %= factor;
  }
  return text;
}

std::string format_megabytes(std::int64_t bytes) { return std::to_string(bytes / 1'000'000) + " MB"; }

Result<double> parse_rate(std::string_view text) {
  constexpr std::string_view kHint = "write 200Gb/s (bits) or 21.875 GB/s (bytes)";
  const std::string_view trimmed = trim(text);
  const auto decimal = leading_decimal(trimmed);
  if (!decimal) return no_quantity(text, "rate", "it does not begin with a number", kHint);
  std::string_view unit = trim(trimmed.substr(decimal->text.size()));
  double bits = 0;
  if (unit.ends_with("b/s")) {
    bits = 1;
  } else if (unit.ends_with("B/s")) {
    bits = 8;
  } else {
    return no_quantity(text, "rate", "the unit must end in b/s or B/s", kHint);
  }
  unit.remove_suffix(3);
  for (const auto& prefix : kRatePrefixes) {
    if (prefix.name != unit) continue;
    const double rate = std::strtod(std::string(decimal->text).c_str(), nullptr) * prefix.factor * bits;
    if (!std::isfinite(rate)) return no_quantity(text, "rate", "too large", kHint);
    return rate;
  }
  return no_quantity(text, "rate", "the unit is not known", kHint);
}

}  // namespace sparkplan
