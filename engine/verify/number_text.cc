#include "engine/verify/number_text.h"

#include <fmt/core.h>

#include <cmath>

namespace sparkplan {

std::string number_text(double number) {
  const double size = std::fabs(number);
  if (size == std::floor(size) || size >= 1000) return fmt::format("{:.0f}", number);
  return size >= 10 ? fmt::format("{:.1f}", number) : fmt::format("{:.2f}", number);
}

}  // namespace sparkplan
