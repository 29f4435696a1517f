#include "resources/limits/item.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/core/ascii.h"
#include "engine/core/number_format.h"
#include "engine/core/units.h"

namespace sparkplan::limits {
namespace {

constexpr std::int64_t kKibibyte = 1024;
constexpr std::int64_t kSecondsPerMinute = 60;
constexpr std::int64_t kNiceCeiling = 20;
constexpr std::int64_t kLowestNice = -20;
constexpr std::int64_t kHighestNice = 19;
/// The largest values before pam_limits, which multiplies by 1024 or 60, sets RLIM_INFINITY.
constexpr std::int64_t kMostKibibytes = (std::int64_t{1} << 54) - 1;
constexpr std::int64_t kMostMinutes = std::numeric_limits<std::int64_t>::max() / kSecondsPerMinute;

/// Source: limits.conf(5); proc(5), "/proc/pid/limits".
constexpr std::array<Item, 19> kItems{{
    {"as", Unit::kKibibytes, "Max address space"},
    {"core", Unit::kKibibytes, "Max core file size"},
    {"cpu", Unit::kMinutes, "Max cpu time"},
    {"data", Unit::kKibibytes, "Max data size"},
    {"fsize", Unit::kKibibytes, "Max file size"},
    {"locks", Unit::kCount, "Max file locks"},
    {"maxlogins", Unit::kCount, ""},
    {"maxsyslogins", Unit::kCount, ""},
    {"memlock", Unit::kKibibytes, "Max locked memory"},
    {"msgqueue", Unit::kBytes, "Max msgqueue size"},
    {"nice", Unit::kNice, "Max nice priority"},
    {"nofile", Unit::kCount, "Max open files"},
    {"nonewprivs", Unit::kSwitch, ""},
    {"nproc", Unit::kCount, "Max processes"},
    {"priority", Unit::kPriority, ""},
    {"rss", Unit::kKibibytes, "Max resident set"},
    {"rtprio", Unit::kCount, "Max realtime priority"},
    {"sigpending", Unit::kCount, "Max pending signals"},
    {"stack", Unit::kKibibytes, "Max stack size"},
}};

/// "8GiB", "1.5MB". A unit without the final B ("64k") is ambiguous: 1000 or 1024.
bool is_size(std::string_view text) {
  const std::size_t unit = text.find_first_not_of("0123456789.");
  return unit != std::string_view::npos && unit > 0 && is_digit(text.front()) && text.ends_with('B');
}

tl::unexpected<Error> bad_value(const Item& item, std::string_view text, const std::string& why,
                                std::string hint = {}) {
  return failure(ErrorCode::kInvalidInput,
                 "\"" + std::string(text) + "\" is not a valid limit for " + std::string(item.name) + ": " + why,
                 std::move(hint));
}

std::int64_t most(const Item& item) {
  if (item.unit == Unit::kKibibytes) return kMostKibibytes;
  if (item.unit == Unit::kMinutes) return kMostMinutes;
  return std::numeric_limits<std::int64_t>::max();
}

Result<std::string> resolve_number(const Item& item, std::string_view text, std::int64_t number) {
  if (item.unit == Unit::kSwitch) {
    if (number == 0 || number == 1) return std::to_string(number);
    return bad_value(item, text, "it must be 0 or 1");
  }
  if (item.unit == Unit::kNice || item.unit == Unit::kPriority) {
    if (number >= kLowestNice && number <= kHighestNice) return std::to_string(number);
    return bad_value(item, text, "it must be from -20 to 19");
  }
  if (number == -1) return std::string(kUnlimited);
  if (number < 0) return bad_value(item, text, "it is negative", "write -1 or unlimited for no limit");
  if (number > most(item)) return bad_value(item, text, "it is too large", "write unlimited");
  return std::to_string(number);
}

Result<std::string> resolve_size(const Item& item, std::string_view text) {
  if (item.unit != Unit::kKibibytes && item.unit != Unit::kBytes) {
    return bad_value(item, text, "the limit is not a size", "write a number without a unit");
  }
  SPARK_TRY(const std::int64_t bytes, parse_bytes(text));
  if (item.unit == Unit::kBytes) return resolve_number(item, text, bytes);
  if (bytes % kKibibyte == 0) return resolve_number(item, text, bytes / kKibibyte);
  return bad_value(item, text, "it is not a whole number of KiB", "use KiB, MiB or GiB");
}

bool means_unlimited(const Item& item, std::string_view text) {
  return item.can_be_unlimited() && (text == kUnlimited || text == "infinity" || text == "-1");
}

/// As strtol(3) reads it: a sign, then digits; the rest is ignored.
std::optional<std::int64_t> leading_number(std::string_view text) {
  const std::size_t sign = !text.empty() && (text.front() == '-' || text.front() == '+') ? 1 : 0;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789", sign), text.size());
  if (digits == sign) return std::nullopt;
  return parse_number(text.substr(text.front() == '+' ? 1 : 0, digits - (text.front() == '+' ? 1 : 0)));
}

}  // namespace

const Item* find_item(std::string_view name) {
  const auto* const found = std::ranges::find(kItems, name, &Item::name);
  return found == kItems.end() ? nullptr : found;
}

std::string_view unit_name(const Item& item) {
  switch (item.unit) {
    case Unit::kKibibytes:
      return "KiB";
    case Unit::kBytes:
      return "bytes";
    case Unit::kMinutes:
      return "minutes";
    default:
      return "";
  }
}

Result<std::string> resolve_value(const Item& item, const Value& value) {
  if (const std::int64_t* number = value.integer()) {
    return resolve_number(item, std::to_string(*number), *number);
  }
  const std::string* text = value.string();
  if (text == nullptr) {
    return failure(ErrorCode::kInvalidInput, "a limit is text or an integer, not " + std::string(value.kind_name()));
  }
  if (means_unlimited(item, *text)) return std::string(kUnlimited);
  if (!item.can_be_unlimited() && (*text == kUnlimited || *text == "infinity")) {
    return bad_value(item, *text, "it must be a number");
  }
  if (const auto number = parse_number(*text)) return resolve_number(item, *text, *number);
  if (is_size(*text)) return resolve_size(item, *text);
  return bad_value(item, *text, "it is not a whole number",
                   "write unlimited, a number, or for sizes a number with KiB, MiB or GiB");
}

std::optional<std::string> value_as_read(const Item& item, std::string_view text) {
  if (means_unlimited(item, text) || (item.can_be_unlimited() && text == "-")) return std::string(kUnlimited);
  if (item.unit == Unit::kSwitch) {
    if (text == "0" || text == "1") return std::string(text);
    return std::nullopt;
  }
  const std::optional<std::int64_t> number = leading_number(text);
  if (!number) return std::nullopt;
  if (item.unit == Unit::kNice) return std::to_string(std::clamp(*number, kLowestNice, kHighestNice));
  if (item.unit == Unit::kPriority) return std::to_string(*number);
  if (*number < 0 || *number > most(item)) return std::string(kUnlimited);
  return std::to_string(*number);
}

std::string proc_value(const Item& item, std::string_view value) {
  const std::optional<std::int64_t> number = parse_number(value);
  if (!number) return std::string(value);
  switch (item.unit) {
    case Unit::kKibibytes:
      // The largest value in bytes is too large for a signed number.
      return std::to_string(static_cast<std::uint64_t>(*number) * kKibibyte);
    case Unit::kMinutes:
      return std::to_string(*number * kSecondsPerMinute);
    case Unit::kNice:
      return std::to_string(kNiceCeiling - *number);
    default:
      return std::string(value);
  }
}

std::string display_proc_value(const Item& item, std::string_view shown) {
  const std::optional<std::int64_t> number = parse_number(shown);
  if (!number) return std::string(shown);
  const std::string unit = unit_name(item).empty() ? "" : " " + std::string(unit_name(item));
  if (item.unit == Unit::kNice) return std::to_string(kNiceCeiling - *number);
  if (item.unit == Unit::kKibibytes && *number % kKibibyte == 0) return std::to_string(*number / kKibibyte) + unit;
  if (item.unit == Unit::kKibibytes) return std::string(shown) + " bytes";
  if (item.unit == Unit::kMinutes && *number % kSecondsPerMinute == 0) {
    return std::to_string(*number / kSecondsPerMinute) + unit;
  }
  if (item.unit == Unit::kMinutes) return std::string(shown) + " seconds";
  return std::string(shown) + unit;
}

bool allows_more(std::string_view a, std::string_view b) {
  if (a == b || b == kUnlimited) return false;
  if (a == kUnlimited) return true;
  // Without leading zeros, the longer of two numbers is larger.
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

}  // namespace sparkplan::limits
