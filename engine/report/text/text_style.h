#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Colours, plurals and widths of all texts for people.
namespace sparkplan {

struct TextStyle {
  bool color = false;
  bool quiet = false;  ///< Only findings that need attention, and the last line.
  bool show_in_sync = true;
  int width = 100;       ///< Columns of the terminal.
  bool verbose = false;  ///< Lists and long values in full.
};

enum class Colour : std::uint8_t {
  kNone,
  kRed,
  kGreen,
  kYellow,
  kMagenta,
  kDim,
  kBold,
  kShade0,  ///< Backgrounds of cells, from blue (good) to orange: people with any colour vision can tell them apart.
  kShade1,
  kShade2,
  kShade3,
  kShade4,
};

/// The text in colour if the style asks for it, else unchanged.
std::string paint(std::string_view text, Colour colour, const TextStyle& style);
Colour colour_of_symbol(char symbol);

/// False for the second and later bytes of a UTF-8 sequence.
bool starts_code_point(char byte);
/// Columns that the text takes on a terminal, by counting code points.
std::size_t text_width(std::string_view text);

/// "1 node", "2 nodes"
std::string counted(std::size_t number, std::string_view noun);

/// The columns that a text may use: `style.width`, but at least 40.
std::size_t columns_of(const TextStyle& style);

/// `text` in lines of at most `style.width` columns, each after `indent` blanks; breaks only between words.
std::string wrapped(const std::string& text, std::size_t indent, const TextStyle& style);

/// One line with a newline. A line that is wider than `style.width` continues below, at `column`; breaks as broken().
std::string continued(std::string_view line, std::size_t column, const TextStyle& style);

/// `text` in pieces of at most `width` columns. Breaks between words, and in words that are too long for a line.
std::vector<std::string> broken(std::string_view text, std::size_t width);

/// The beginning and the end of a text that is longer than `limit` (at least 8), with "..." between them.
std::string shortened(std::string_view text, std::size_t limit);

/// Two lines, each cut to `limit` columns. Cut lines show the first place where the two differ.
std::pair<std::string, std::string> cut_where_they_differ(const std::string& a, const std::string& b,
                                                          std::size_t limit);

/// A part of a line.
struct Part {
  std::string text;
  Colour colour = Colour::kNone;
  std::size_t gap = 2;  ///< The blanks before it.

  bool operator==(const Part&) const = default;
};

/// A line that is begun, and continued below if it is full.
class FlowingLine {
 public:
  /// `begin` is printed as it is and may contain colours; it takes `width` columns. Its parts, and the lines that
  /// continue it, begin at `column` or after it.
  FlowingLine(std::string begin, std::size_t width, std::size_t column, const TextStyle& style);
  /// Adds a part. It comes on a new line if it does not fit, and is broken if a line is too short for it.
  void add(const Part& part);
  /// Adds the words of a text one by one: the line may end between them. `gap`: the blanks before the first word.
  void add_words(std::string_view text, Colour colour, std::size_t gap);
  /// As add(), but not before `column`, if the line has room for that.
  void add_at(const Part& part, std::size_t column);
  /// Begins a new line if the last one has no room for so many columns, and a new one has.
  void keep_together(std::size_t columns);
  /// The columns of the last line.
  std::size_t width() const { return width_; }
  bool one_line() const { return one_line_; }
  /// Ends with a newline.
  std::string text() && { return std::move(text_) + "\n"; }

 private:
  void place(std::size_t column, const Part& part);
  void next_line() { text_ += "\n", width_ = 0, one_line_ = false; }

  std::string text_;
  std::size_t width_;
  std::size_t column_;
  bool one_line_ = true;
  const TextStyle& style_;
};

}  // namespace sparkplan
