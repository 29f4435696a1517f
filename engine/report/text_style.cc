#include "engine/report/text_style.h"

#include <algorithm>
#include <map>

#include "engine/core/text.h"

namespace sparkplan {

bool starts_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::string paint(std::string_view text, Colour colour, const TextStyle& style) {
  static const std::map<Colour, std::string_view> kCodes = {{Colour::kRed, "31"},    {Colour::kGreen, "32"},
                                                            {Colour::kYellow, "33"}, {Colour::kMagenta, "35"},
                                                            {Colour::kDim, "2"},     {Colour::kBold, "1"}};
  const auto code = kCodes.find(colour);
  if (!style.color || code == kCodes.end()) return std::string(text);
  return "\x1b[" + std::string(code->second) + "m" + std::string(text) + "\x1b[0m";
}

Colour colour_of_symbol(char symbol) {
  switch (symbol) {
    case '+':
      return Colour::kGreen;
    case '~':
      return Colour::kYellow;
    case '-':
    case '!':
      return Colour::kRed;
    case '=':
      return Colour::kDim;
    default:
      return Colour::kNone;
  }
}

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::string counted(std::size_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string wrapped(const std::string& text, std::size_t indent, const TextStyle& style) {
  const auto width = static_cast<std::size_t>(std::max(style.width, 40));
  std::string all;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) all += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for (const std::string_view word : split(text, ' ')) {
    if (!line.empty() && indent + text_width(line) + 1 + text_width(word) > width) end_line();
    if (!line.empty()) line += ' ';
    line += word;
  }
  end_line();
  return all;
}

}  // namespace sparkplan
