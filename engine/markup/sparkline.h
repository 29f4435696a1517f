#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/markup/markup.h"

namespace sparkplan {

/// The course of one value as a small line without axes, for a cell of a table.
struct Sparkline {
  std::string name;                        ///< For a screen reader.
  std::vector<double> values;              ///< Oldest first.
  std::optional<std::size_t> change = {};  ///< The place of the first value after a change: a dashed line before it.
};

/// Pure. Writes an element svg. Its height is a fifth of the middle value or more, so that noise stays flat. Left out
/// are values that are not finite or above 1e12. Writes nothing if no value is left.
void draw(Markup& markup, const Sparkline& line);

}  // namespace sparkplan
