#include "engine/agent/node/utc_time.h"

#include <array>
#include <ctime>

#include "engine/core/text.h"

namespace sparkplan {

std::string utc_now() { return utc_time(std::time(nullptr)); }

std::string utc_time(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  const auto size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

std::int64_t seconds_since_boot() {
  std::timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec;
}

std::string boot_id(const NodeReader& node) {
  const auto text = node.read_file("/proc/sys/kernel/random/boot_id");
  return text ? std::string(trim(*text)) : std::string();
}

}  // namespace sparkplan
