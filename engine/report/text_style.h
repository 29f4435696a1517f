#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Colours, plurals and widths of all texts for people.
namespace sparkplan {

struct TextStyle {
  bool color = false;
  bool quiet = false;  ///< Only findings that need attention, and the last line.
  bool show_in_sync = true;
  int width = 100;
};

enum class Colour : std::uint8_t { kNone, kRed, kGreen, kYellow, kMagenta, kDim, kBold };

/// The text in colour if the style asks for it, else unchanged.
std::string paint(std::string_view text, Colour colour, const TextStyle& style);
Colour colour_of_symbol(char symbol);

/// False for the second and later bytes of a UTF-8 sequence.
bool starts_code_point(char byte);
/// Columns that the text takes on a terminal, by counting code points.
std::size_t text_width(std::string_view text);

/// "1 node", "2 nodes"
std::string counted(std::size_t number, std::string_view noun);

/// `text` in lines of at most `style.width` columns, each after `indent` blanks; breaks only between words.
std::string wrapped(const std::string& text, std::size_t indent, const TextStyle& style);

}  // namespace sparkplan
