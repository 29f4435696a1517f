#pragma once

#include "engine/core/value.h"
#include "engine/resource/record_list.h"

namespace sparkplan {

/// Pure. `over` on top of `base`, both values of one section. Maps merge by key, and the section's `records` (null if
/// it has none) by identity. Everything else is replaced. A null in `over` replaces a value of `base` and means
/// "dropped": see without_nulls().
Value merge(const Value& base, const Value& over, const RecordList* records = nullptr);

/// Removes map entries with the value null, at any depth.
Value without_nulls(Value value);

}  // namespace sparkplan
