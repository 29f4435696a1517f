#include "engine/report/text/local_time.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <optional>

#include "engine/core/ascii.h"

namespace sparkplan {
namespace {

using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::int64_t kDaySeconds = std::int64_t{24} * 60 * 60;

int number_at(std::string_view text, std::size_t begin, std::size_t length) {
  int number = 0;
  std::from_chars(text.data() + begin, text.data() + begin + length, number);
  return number;
}

/// Seconds since 1970 of "2026-03-01T12:00:00Z"; nothing for every other text.
std::optional<std::int64_t> parse_utc(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  const auto fits = [](char c, char form) { return form == 'd' ? is_digit(c) : c == form; };
  if (text.size() != kForm.size() || !std::equal(text.begin(), text.end(), kForm.begin(), fits)) return std::nullopt;
  const year_month_day date{std::chrono::year(number_at(text, 0, 4)),
                            std::chrono::month(static_cast<unsigned>(number_at(text, 5, 2))),
                            std::chrono::day(static_cast<unsigned>(number_at(text, 8, 2)))};
  const std::int64_t hour = number_at(text, 11, 2);
  const std::int64_t minute = number_at(text, 14, 2);
  if (!date.ok() || hour > 23 || minute > 59) return std::nullopt;
  return sys_days(date).time_since_epoch().count() * kDaySeconds + hour * 3600 + minute * 60;
}

struct LocalMinute {
  year_month_day date;
  std::int64_t minute = 0;  ///< Of the day.
};

LocalMinute local_minute(std::int64_t seconds, const LocalClock& clock) {
  const std::chrono::seconds local(seconds + clock.ahead_of_utc(seconds));
  const auto day = std::chrono::floor<std::chrono::days>(local);
  return {year_month_day(sys_days(day)), (local - day).count() / 60};
}

}  // namespace

LocalClock local_clock() {
  const auto ahead = [](std::int64_t seconds) -> std::int64_t {
    const std::time_t time = seconds;
    std::tm local{};
    return ::localtime_r(&time, &local) == nullptr ? 0 : local.tm_gmtoff;
  };
  return {std::time(nullptr), ahead};
}

std::string local_time_text(std::string_view utc, const LocalClock& clock) {
  static constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto seconds = parse_utc(utc);
  if (!seconds) return utc.empty() ? "" : "?";
  const LocalMinute then = local_minute(*seconds, clock);
  const LocalMinute now = local_minute(clock.now, clock);
  const auto month = static_cast<unsigned>(then.date.month());
  const auto day = static_cast<unsigned>(then.date.day());
  if (then.date.year() != now.date.year()) {
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(then.date.year()), month, day);
  }
  const auto date = then.date == now.date ? std::string("today") : fmt::format("{} {:02}", kMonths.at(month - 1), day);
  return fmt::format("{} {:02}:{:02}", date, then.minute / 60, then.minute % 60);
}

}  // namespace sparkplan
