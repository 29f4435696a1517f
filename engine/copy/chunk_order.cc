#include "engine/copy/chunk_order.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sparkplan::copy {
namespace {

constexpr std::size_t kFilesAtOnce = 4;
/// Files with fewer chunks are whole before their writers disturb each other.
constexpr std::ptrdiff_t kLarge = 16;

using Place = std::deque<Wanted>::const_iterator;

Place end_of_file(const Place& begin, const Place& end) {
  return std::find_if(begin, end, [&](const Wanted& other) { return other.id.file != begin->id.file; });
}

}  // namespace

std::deque<Wanted> in_turns(const std::deque<Wanted>& wanted) {
  std::deque<Wanted> ordered;
  std::vector<std::pair<Place, Place>> large;
  Place next = wanted.begin();
  while (next != wanted.end() || !large.empty()) {
    while (large.size() < kFilesAtOnce && next != wanted.end()) {
      const Place end = end_of_file(next, wanted.end());
      if (end - next < kLarge) {
        ordered.insert(ordered.end(), next, end);
      } else {
        large.emplace_back(next, end);
      }
      next = end;
    }
    for (auto& [chunk, end] : large) ordered.push_back(*chunk++);
    std::erase_if(large, [](const auto& file) { return file.first == file.second; });
  }
  return ordered;
}

}  // namespace sparkplan::copy
