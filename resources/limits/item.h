#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

/// The items that pam_limits can limit, and their units. Pure.
namespace sparkplan::limits {

inline constexpr std::string_view kUnlimited = "unlimited";

enum class Unit : std::uint8_t { kKibibytes, kBytes, kMinutes, kCount, kNice, kPriority, kSwitch };

/// One item of limits.conf(5), except chroot, which is no limit.
struct Item {
  std::string_view name;
  Unit unit = Unit::kCount;
  std::string_view proc_name;  ///< Its line in /proc/PID/limits; empty if it is no resource limit.

  /// True for an item without soft and hard values: pam_limits reads only its value.
  bool has_one_value() const { return proc_name.empty(); }
  bool can_be_unlimited() const { return unit != Unit::kNice && unit != Unit::kPriority && unit != Unit::kSwitch; }
};

/// Null for an unknown name.
const Item* find_item(std::string_view name);

/// "KiB", "bytes", "minutes"; empty for numbers without a unit.
std::string_view unit_name(const Item& item);

/// A value of cluster.yaml in the form of our file: "unlimited" (infinity and -1 are the same), or a whole number in
/// the item's own unit. Sizes such as 8GiB are converted.
/// Errors: kInvalidInput for a value that pam_limits would ignore or read as another one.
Result<std::string> resolve_value(const Item& item, const Value& value);

/// The value that pam_limits reads from a foreign file, in the same form; nothing if it ignores the line.
/// Source: pam_limits(8), limits.conf(5): the number ends where its digits end.
std::optional<std::string> value_as_read(const Item& item, std::string_view text);

/// A canonical value as /proc/PID/limits shows it: bytes, seconds, 20 - nice.
std::string proc_value(const Item& item, std::string_view value);

/// The inverse, in the item's own unit and for people: "8192 KiB".
std::string display_proc_value(const Item& item, std::string_view shown);

/// True if the limit `a` allows more than `b`, both as /proc/PID/limits shows them.
bool allows_more(std::string_view a, std::string_view b);

}  // namespace sparkplan::limits
