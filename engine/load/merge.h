#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"

namespace sparkplan {

/// Pure. `over` on top of `base`, both the value of `key`: maps merge by key; limits, units,
/// interfaces, storage and files by their records' identity; everything else is replaced. A null in
/// `over` drops what is in `base`. Nulls that are left stand for "dropped": see without_nulls().
Value merge(std::string_view key, const Value& base, const Value& over);

/// The same tree without map entries that are null, at any depth.
Value without_nulls(Value value);

/// The keys that tell records of the list `key` apart; empty for lists of anything else.
std::vector<std::string> identity_keys(std::string_view key);

/// A record's identity for comparing; empty when one of `keys` is missing or no text.
std::optional<std::string> identity_of(const Value& record, const std::vector<std::string>& keys);

}  // namespace sparkplan
