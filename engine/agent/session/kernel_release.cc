#include "engine/agent/session/kernel_release.h"

#include <charconv>
#include <string>
#include <utility>

#include "engine/core/bounded_text.h"

namespace sparkplan {

Result<void> check_kernel(std::string_view release) {
  const char* const end = release.data() + release.size();
  int major = 0;
  int minor = 0;
  const auto first = std::from_chars(release.data(), end, major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return {};
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc{}) return {};
  if (std::pair(major, minor) >= std::pair(kOldestKernel[0], kOldestKernel[1])) return {};
  return failure(ErrorCode::kUnsupported, "Linux " + shown_text(release, 40) + " is too old: the agent needs Linux " +
                                              std::to_string(kOldestKernel[0]) + "." +
                                              std::to_string(kOldestKernel[1]) + " or newer");
}

}  // namespace sparkplan
