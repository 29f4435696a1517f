#pragma once

#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Earlier values that a median is made of, at least.
inline constexpr std::size_t kFewestEarlier = 3;
/// How much of the median of earlier runs is as good as it.
inline constexpr double kAsGood = 0.9;

/// Pure. Warns where `check` has passed and is below 0.9 times the median of earlier runs; of a time, in
/// "us", above the median divided by 0.9.
void hold_against(const std::vector<double>& earlier, Check& check);
/// Pure. True for a check whose value is worth keeping: a rate or a time.
bool is_measurement(const Check& check);

/// Gives each node the values that were measured from it, and holds them against the earlier ones that it
/// kept. What goes wrong with that is a warning and never more.
std::vector<Diagnostic> compare_with_earlier(VerifyContext& context);

}  // namespace sparkplan
