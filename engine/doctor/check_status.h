#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sparkplan {

/// How one check ended: of `verify`, or of one row of the doctor's table.
enum class CheckStatus : std::uint8_t {
  kPass,
  kWarn,
  kFail,
  kSkip,  ///< Not examined: there is nothing of the kind, or it could not be read.
};
/// "pass", "warn", "fail", "skip".
constexpr std::string_view to_string(CheckStatus status) {
  constexpr std::array<std::string_view, 4> kNames{"pass", "warn", "fail", "skip"};
  return kNames.at(static_cast<std::size_t>(status));
}

}  // namespace sparkplan
