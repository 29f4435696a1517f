#pragma once

#include <optional>
#include <string>

#include "engine/model/plan.h"

// Internal to engine/plan: whether two plans show, and do, the same about one resource. All of it is pure. Every text
// that is returned is one clause without a final period, for an Error.

namespace sparkplan {

/// Equal, where an Unknown equals one of the same reason and producer.
bool same_shown(const Value& a, const Value& b);

/// Equal, where what is Unknown in `then` may have become anything.
bool may_become(const Value& then, const Value& now);

/// Why the second change is not displayed as the first one; nothing when it is. What is Unknown in one is Unknown in
/// the other, for the same reason.
std::optional<std::string> why_shown_otherwise(const Change& then, const Change& now);

/// Why the second step is not the first one: it begins or ends elsewhere, or is carried out in another way.
std::optional<std::string> why_another_step(const Step& then, const Step& now);

/// What a later stage is going to do about a resource, held against what was displayed before the first: values that
/// were displayed stay, Unknown ones may have become known, where a field begins does not matter any more. Why it
/// goes beyond that; nothing when it does not.
std::optional<std::string> why_beyond(const Change& shown, const Change& now);

}  // namespace sparkplan
