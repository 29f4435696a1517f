#include "engine/report/changes/folded_names.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/ascii.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostDigits = 18;

}  // namespace

std::optional<std::string> folded_series(std::span<const std::string> texts) {
  if (texts.size() < 2) return std::nullopt;
  const auto is_long = [](const std::string& text) { return text.size() > kLongestFoldedName; };
  if (std::any_of(texts.begin(), texts.end(), is_long)) return std::nullopt;
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
  std::vector<std::string> numbers;
  numbers.reserve(texts.size());
  for (const std::string& text : texts) {
    if (prefix + suffix >= text.size()) return std::nullopt;
    std::string digits = text.substr(prefix, text.size() - prefix - suffix);
    if (digits.size() > kMostDigits || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
    const unsigned long long number = std::stoull(digits);
    if (&text != &texts.front() && number <= last) return std::nullopt;
    last = number;
    numbers.push_back(std::move(digits));
  }
  std::string folded(first.substr(0, prefix));
  folded.append("[").append(fold_numbers(std::move(numbers))).append("]");
  return folded.append(first.substr(first.size() - suffix));
}

}  // namespace sparkplan
