#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"

/// What pam_limits can limit, and in which units. Pure.
namespace sparkplan::limits {

inline constexpr std::string_view kUnlimited = "unlimited";

enum class Unit : std::uint8_t { kKibibytes, kBytes, kMinutes, kCount, kNice, kPriority, kSwitch };

/// One item of limits.conf(5) but chroot, which is no limit.
struct Item {
  std::string_view name;
  Unit unit = Unit::kCount;
  std::string_view proc_name;  ///< Its line of /proc/PID/limits; empty for what is no resource limit.

  /// Such an item has no soft and hard value: pam_limits looks at the value alone.
  bool has_one_value() const { return proc_name.empty(); }
  bool can_be_unlimited() const { return unit != Unit::kNice && unit != Unit::kPriority && unit != Unit::kSwitch; }
};

/// Null for a name that is no item.
const Item* find_item(std::string_view name);

/// "KiB", "bytes", "minutes"; empty for what is counted.
std::string_view unit_name(const Item& item);

/// A value of cluster.yaml as our file has it: "unlimited" (infinity and -1 are the same), or a
/// whole number in the item's own unit. Sizes such as 8GiB are converted.
/// Errors: kInvalidInput for what pam_limits would read as something else, or not at all.
Result<std::string> resolve_value(const Item& item, const Value& value);

/// What pam_limits makes of a value in somebody else's file, in the same form; nothing where it
/// ignores the line. Source: pam_limits(8), limits.conf(5): the number ends where its digits end.
std::optional<std::string> value_as_read(const Item& item, std::string_view text);

/// A canonical value as /proc/PID/limits shows it: bytes, seconds, 20 - nice.
std::string proc_value(const Item& item, std::string_view value);

/// The inverse, for people: "8192 KiB".
std::string display_proc_value(const Item& item, std::string_view shown);

/// True when what /proc/PID/limits shows as `a` allows more than `b`.
bool allows_more(std::string_view a, std::string_view b);

}  // namespace sparkplan::limits
