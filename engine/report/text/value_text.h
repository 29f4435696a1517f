#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/model/plan.h"
#include "engine/report/text/text_style.h"

// Values and their changes as texts for people. All pure; all texts are printable.

namespace sparkplan {

/// "(none)" for null. Long values are shortened, except with `style.verbose`.
std::string value_text(const Value& value, const TextStyle& style);

/// "60 -> 10". For lists of plain values, the difference: "+ 192.168.100.11/24, - 10.0.0.1/8", or "3 added, 1 removed"
/// for long ones. Only the new value if there was none and the resource is new. "1 -> (removed)" if nothing remains of
/// a resource that is removed. Long values are cut where they differ.
std::string transition(const Value& before, const Value& after, Action action, const TextStyle& style);

/// A text of several lines: its change is shown as a diff.
bool is_long_text(const Value& value);

/// The lines of a unified diff, in colour. Pairs of long lines are cut where they differ, and only the
/// first 400 lines are there, except with `style.verbose`.
/// `width` is the number of columns of a line.
std::vector<Part> diff_lines(const std::string& label, const Value& before, const Value& after, std::size_t width,
                             const TextStyle& style);

/// The items of a list, or the only item of anything else; 0 for null.
std::size_t count_of(const Value& value);

}  // namespace sparkplan
