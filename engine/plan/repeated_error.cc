#include "engine/plan/repeated_error.h"

#include <algorithm>
#include <string>

#include "engine/core/bounded_text.h"

namespace sparkplan {
namespace {

/// Of all copies together.
constexpr std::size_t kMostRepeatedBytes = std::size_t{2} << 20;
/// Of each copy: enough for a reason. sparkplan's own errors are rarely longer.
constexpr std::size_t kLeastRepeatedBytes = 100;

}  // namespace

Error repeated_error(const Error& error, std::size_t times) {
  const auto most = std::max(kLeastRepeatedBytes, kMostRepeatedBytes / std::max<std::size_t>(times, 1));
  std::size_t bytes = error.message.size() + error.hint.size();
  for (const std::string& level : error.context) bytes += sizeof(std::string) + level.size();
  if (bytes <= most) return error;
  return {error.code, cut_text(error.message, most), {}, error.sys_errno, {}};
}

}  // namespace sparkplan
