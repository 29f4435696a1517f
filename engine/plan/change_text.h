#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/report.h"

// How one node's plan reads, before it is known how wide the columns are; and what other reports are
// painted with.

namespace sparkplan {

struct TextLine {
  enum class Kind : std::uint8_t {
    kHead,   ///< "  + sysctl  vm.swappiness      60 -> 10"
    kField,  ///< "      mtu                      1500 -> 9000"
    kRaw,    ///< `text` as it is.
  };
  Kind kind = Kind::kRaw;
  char symbol = ' ';
  std::string type;
  std::string label;  ///< The name or the field's path.
  std::string text;   ///< May be coloured: nothing stands to the right of it.

  bool operator==(const TextLine&) const = default;
};

enum class Colour : std::uint8_t { kNone, kRed, kGreen, kYellow, kMagenta, kDim, kBold };

/// The text in colour if the style asks for it, else as it is.
std::string paint(std::string_view text, Colour colour, const TextStyle& style);
Colour colour_of_symbol(char symbol);

/// Columns that the text takes on a terminal, as far as counting code points tells.
std::size_t text_width(std::string_view text);

/// "1 node", "2 nodes"
std::string counted(std::size_t number, std::string_view noun);

/// Changes, blocked resources and notes of one node. `file` is cluster.yaml's name.
std::vector<TextLine> lines_of(const NodeReport& node, const std::string& file, const TextStyle& style);

/// The last line. No newline.
std::string summary_line(const Report& report);

}  // namespace sparkplan
