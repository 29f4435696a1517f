#pragma once

#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/verify/measured_history.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {

/// The fewest earlier values that make a median.
inline constexpr std::size_t kFewestEarlier = 3;
/// The part of the median of earlier runs that counts as equal to it.
inline constexpr double kAsGood = 0.9;

/// Pure. The median of one value or more.
double median_of(std::vector<double> values);

/// Pure. The limit from which a value counts as slower than the usual one: kAsGood of a rate, or a time as much longer.
double slow_limit(double usual, bool less_is_better);

/// Pure. True if the value is beyond slow_limit().
bool is_slower(double value, double usual, bool less_is_better);

/// Pure. Warns if `check` has passed and its value is below 0.9 times the median of earlier runs. A time, in "us", must
/// not exceed the median divided by 0.9. The values come from the record of the check's first node, which the warning
/// names; those that are no measurements are left out.
void hold_against(std::vector<double> earlier, Check& check);
/// Pure. True for a check whose value is worth keeping: a rate or a time that other runs measure in the same way.
bool is_measurement(const Check& check);

/// Pure. The checks that concern the node, counted.
VerifySummary summary_for(const std::string& node, const VerifyContext& context);

/// The nodes' stored values, with this run, read over their open connections. A node that cannot be read has an error.
std::vector<NodeMeasurements> stored_measurements(VerifyContext& context);

/// Stores each value on the node from which it was measured, and compares it with the earlier values there. Stores a
/// summary on each node, unless the run was stopped. Its errors become warnings.
std::vector<Diagnostic> compare_with_earlier(VerifyContext& context);

}  // namespace sparkplan
