#include "engine/core/utf8.h"

#include <algorithm>
#include <array>

namespace sparkplan {
namespace {

struct CodePoints {
  char32_t first;
  char32_t last;
};

constexpr std::array kTreacherous{
    CodePoints{0x80, 0x9F},       CodePoints{0xAD, 0xAD},       CodePoints{0x34F, 0x34F},    CodePoints{0x61C, 0x61C},
    CodePoints{0x115F, 0x1160},   CodePoints{0x17B4, 0x17B5},   CodePoints{0x180B, 0x180F},  CodePoints{0x200B, 0x200F},
    CodePoints{0x2028, 0x202E},   CodePoints{0x2060, 0x206F},   CodePoints{0x3164, 0x3164},  CodePoints{0xFDD0, 0xFDEF},
    CodePoints{0xFE00, 0xFE0F},   CodePoints{0xFEFF, 0xFEFF},   CodePoints{0xFFA0, 0xFFA0},  CodePoints{0xFFF0, 0xFFFB},
    CodePoints{0x1BCA0, 0x1BCA3}, CodePoints{0x1D173, 0x1D17A}, CodePoints{0xE0000, 0xE0FFF}};

}  // namespace

bool is_treacherous(char32_t value) {
  // The last two code points of each of the seventeen planes are not characters.
  if ((value & 0xFFFEU) == 0xFFFEU) return true;
  return std::any_of(kTreacherous.begin(), kTreacherous.end(),
                     [value](const CodePoints& span) { return value >= span.first && value <= span.last; });
}

bool is_reordering(char32_t value) {
  return value == 0x061C || value == 0x200E || value == 0x200F || (value >= 0x202A && value <= 0x202E) ||
         (value >= 0x2066 && value <= 0x2069);
}

}  // namespace sparkplan
