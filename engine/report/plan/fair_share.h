#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sparkplan {

/// A part of a text that has a limit.
struct SharedPart {
  std::size_t bytes = 0;
  std::vector<std::string> nodes;         ///< The node that it is about; empty: the controller.
  std::size_t frame = 0;                  ///< The frame that it stands in.
  std::optional<std::size_t> needs = {};  ///< An earlier part without which it is not shown.
};

/// Pure. Which of the parts are shown in `most` bytes. `frames` are the bytes around the parts of each frame, which
/// count with the first of them. If not all fit, every node and the controller get an equal share for their first
/// parts. The rest goes to the remaining parts, in order. So no node pushes the parts of others out.
std::vector<bool> parts_to_show(const std::vector<SharedPart>& parts, const std::vector<std::size_t>& frames,
                                std::size_t most);

}  // namespace sparkplan
