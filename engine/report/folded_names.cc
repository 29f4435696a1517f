#include "engine/report/folded_names.h"

#include <algorithm>
#include <string_view>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

constexpr std::size_t kMostDigits = 18;

}  // namespace

std::optional<std::string> folded_series(std::span<const std::string> texts) {
  if (texts.size() < 2) return std::nullopt;
  const std::string_view first = texts.front();
  std::size_t prefix = first.size();
  std::size_t suffix = first.size();
  for (const std::string_view text : texts) {
    const std::size_t shorter = std::min(first.size(), text.size());
    const auto ends = std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(shorter), text.begin());
    prefix = std::min(prefix, static_cast<std::size_t>(ends.first - first.begin()));
    const auto tails =
        std::mismatch(first.rbegin(), first.rbegin() + static_cast<std::ptrdiff_t>(shorter), text.rbegin());
    suffix = std::min(suffix, static_cast<std::size_t>(tails.first - first.rbegin()));
  }
  // A number is never split: "19" and "10" differ in the whole number.
  while (prefix > 0 && is_digit(first[prefix - 1])) --prefix;
  while (suffix > 0 && is_digit(first[first.size() - suffix])) --suffix;
  unsigned long long last = 0;
  for (const std::string& text : texts) {
    if (prefix + suffix >= text.size()) return std::nullopt;
    const std::string digits = text.substr(prefix, text.size() - prefix - suffix);
    if (digits.size() > kMostDigits || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
    const unsigned long long number = std::stoull(digits);
    if (&text != &texts.front() && number <= last) return std::nullopt;
    last = number;
  }
  const std::string folded = fold_names(texts);
  // fold_names() may choose another run of digits, or find no way to write the numbers as one.
  const bool as_expected = folded.starts_with(std::string(first.substr(0, prefix)) + "[") &&
                           folded.ends_with("]" + std::string(first.substr(first.size() - suffix)));
  return as_expected ? std::optional(folded) : std::nullopt;
}

}  // namespace sparkplan
