#include <string>
#include <string_view>

#include "engine/fleet/history/history.h"

namespace sparkplan {

std::string time_of_run(const std::string& run) {
  static constexpr std::string_view kShape = "00000000T000000Z-";
  if (run.size() <= kShape.size()) return {};
  for (std::size_t at = 0; at < kShape.size(); ++at) {
    const bool fits = kShape[at] == '0' ? run[at] >= '0' && run[at] <= '9' : run[at] == kShape[at];
    if (!fits) return {};
  }
  const auto part = [&](std::size_t begin, std::size_t length) { return run.substr(begin, length); };
  return part(0, 4) + "-" + part(4, 2) + "-" + part(6, 2) + "T" + part(9, 2) + ":" + part(11, 2) + ":" + part(13, 2) +
         "Z";
}

}  // namespace sparkplan
