#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace sparkplan::copy {

/// One chunk of one file, by its place among the expected entries.
struct ChunkId {
  std::uint32_t file = 0;
  std::uint32_t chunk = 0;

  auto operator<=>(const ChunkId&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
};

/// A chunk that this node lacks.
struct Wanted {
  ChunkId id;
  std::size_t bytes = 0;
  bool local = false;  ///< The file that is to be replaced may contain it at the same place.
};

/// Orders all chunks so that up to four large files take turns. The kernel lets one thread at a time write to a file,
/// so the connections write to several files. The chunks of a file stay in order, and a small file stays together.
std::deque<Wanted> in_turns(const std::deque<Wanted>& wanted);

}  // namespace sparkplan::copy
