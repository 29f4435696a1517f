#pragma once

#include <string>

#include "engine/verify/check.h"

namespace sparkplan {

/// Pure. What is behind level and nodes in the check's id: "A", "A/bandwidth", "all/all_reduce".
std::string what_of(const Check& check);

}  // namespace sparkplan
