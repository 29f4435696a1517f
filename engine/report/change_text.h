#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/report.h"
#include "engine/report/text_style.h"

// The text of one node's plan, before the width of the columns is known.

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
  std::string text;   ///< May contain colours: it is the last column.

  bool operator==(const TextLine&) const = default;
};

/// Changes, blocked resources and notes of one node. `file` is cluster.yaml's name.
std::vector<TextLine> lines_of(const NodeReport& node, const std::string& file, const TextStyle& style);

}  // namespace sparkplan
