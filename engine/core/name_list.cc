#include "engine/core/name_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostDigits = 18;

std::optional<std::uint64_t> number_in_name(std::string_view digits) {
  const bool all_digits =
      std::all_of(digits.begin(), digits.end(), [](char byte) { return byte >= '0' && byte <= '9'; });
  if (digits.empty() || digits.size() > kMostDigits || !all_digits) return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string with_width(std::uint64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

/// "01-02,04"; nothing if it is no list of numbers and ranges, or if it has too many numbers.
std::optional<std::vector<std::string>> numbers_in(std::string_view list) {
  std::vector<std::string> numbers;
  for (const std::string_view range : split(list, ',')) {
    const auto dash = range.find('-');
    const std::string_view first_digits = range.substr(0, dash);
    const auto first = number_in_name(first_digits);
    const auto last = dash == std::string_view::npos ? first : number_in_name(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostUnfoldedNames - numbers.size()) return std::nullopt;
    for (std::uint64_t number = *first; number <= *last; ++number) {
      numbers.push_back(with_width(number, first_digits.size()));
    }
  }
  return numbers;
}

/// Calls itself once for each pair of brackets, and holds a copy of the rest meanwhile: kMostBrackets bounds both.
std::vector<std::string> unfolded(std::string_view text) {
  std::vector<std::string> itself{std::string(text)};
  const auto open = text.find('[');
  const auto close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return itself;
  const auto numbers = numbers_in(text.substr(open + 1, close - open - 1));
  if (!numbers) return itself;
  const auto ends = unfolded(text.substr(close + 1));
  if (numbers->size() * ends.size() > kMostUnfoldedNames) return itself;
  std::size_t longest = 0;
  for (const std::string& end : ends) longest = std::max(longest, open + kMostDigits + end.size());
  if (numbers->size() * ends.size() * longest > kMostUnfoldedBytes) return itself;
  std::vector<std::string> names;
  for (const std::string& number : *numbers) {
    for (const std::string& end : ends) names.push_back(std::string(text.substr(0, open)).append(number).append(end));
  }
  return names;
}

/// Why numbers_in() finds no numbers.
std::string fault_of_numbers(std::string_view list) {
  for (const std::string_view range : split(list, ',')) {
    const auto dash = range.find('-');
    const auto first = number_in_name(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_in_name(range.substr(dash + 1));
    if (!first || !last) return "brackets hold numbers and ranges, such as [01-03,07]";
    if (*last < *first) {
      const std::string smaller(range.substr(dash + 1));
      const std::string larger(range.substr(0, dash));
      return "the range " + printable(range) + " is reversed: write " + smaller + "-" + larger;
    }
  }
  return "brackets name at most " + std::to_string(kMostUnfoldedNames) + " nodes";
}

}  // namespace

std::string fault_of_brackets(std::string_view text) {
  for (auto open = text.find('['); open != std::string_view::npos; open = text.find('[', open + 1)) {
    const auto close = text.find(']', open);
    if (close == std::string_view::npos) return "a \"[\" has no \"]\"";
    const auto list = text.substr(open + 1, close - open - 1);
    if (!numbers_in(list)) return fault_of_numbers(list);
  }
  return {};
}

bool has_too_many_brackets(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '[')) > kMostBrackets;
}

std::vector<std::string> unfold_names(std::string_view text) {
  if (has_too_many_brackets(text)) return {std::string(text)};
  return unfolded(text);
}

std::vector<std::string> split_name_list(std::string_view text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  bool in_brackets = false;
  bool in_node = true;
  const auto end_part = [&](std::size_t end) {
    if (const auto part = trim(text.substr(begin, end - begin)); !part.empty()) parts.emplace_back(part);
    begin = end + 1;
    in_brackets = false;
    in_node = true;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') in_node = false;
    if (in_node && text[i] == '[') in_brackets = true;
    if (text[i] == ']') in_brackets = false;
    if (text[i] == ',' && !(in_node && in_brackets)) end_part(i);
  }
  end_part(text.size());
  return parts;
}

}  // namespace sparkplan
