#pragma once

#include <string>

namespace sparkplan {

/// With as many digits as a measurement is worth: "9000", "93.4", "1.47".
std::string number_text(double number);

}  // namespace sparkplan
