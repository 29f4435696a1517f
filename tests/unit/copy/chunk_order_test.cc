// The order in which a receiver asks for chunks.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "engine/copy/chunk_order.h"
#include "tests/support/catch.h"

namespace sparkplan::copy {
namespace {

/// All chunks of files with so many of them.
std::deque<Wanted> of_files(const std::vector<std::uint32_t>& chunks) {
  std::deque<Wanted> wanted;
  for (std::uint32_t file = 0; file < chunks.size(); ++file) {
    for (std::uint32_t chunk = 0; chunk < chunks[file]; ++chunk) wanted.push_back({{file, chunk}, 1, chunk == 0});
  }
  return wanted;
}

std::vector<std::uint32_t> files_of(const std::deque<Wanted>& wanted, std::size_t begin, std::size_t count) {
  std::vector<std::uint32_t> files;
  for (std::size_t i = begin; i < begin + count; ++i) files.push_back(wanted.at(i).id.file);
  return files;
}

}  // namespace

TEST_CASE("chunk order: four large files take turns, and the next one begins when one of them is whole") {
  const auto ordered = in_turns(of_files({16, 100, 100, 100, 100}));
  REQUIRE(ordered.size() == 416);
  CHECK(files_of(ordered, 0, 8) == std::vector<std::uint32_t>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(files_of(ordered, 60, 8) == std::vector<std::uint32_t>{0, 1, 2, 3, 1, 2, 3, 4});
}

TEST_CASE(
    "chunk order: small files stay whole and in order, and come before the turns of the large files around them") {
  const auto ordered = in_turns(of_files({20, 2, 15, 20}));
  REQUIRE(ordered.size() == 57);
  CHECK(files_of(ordered, 0, 2) == std::vector<std::uint32_t>{1, 1});
  CHECK(files_of(ordered, 2, 15) == std::vector<std::uint32_t>(15, 2));
  CHECK(files_of(ordered, 17, 4) == std::vector<std::uint32_t>{0, 3, 0, 3});
}

TEST_CASE("chunk order: every chunk comes once, unchanged, and those of a file in their order") {
  const auto wanted = of_files({1, 40, 3, 17, 90, 16, 200, 0, 33, 1});
  const auto ordered = in_turns(wanted);
  REQUIRE(ordered.size() == wanted.size());
  std::map<std::uint32_t, std::uint32_t> next;
  for (const Wanted& one : ordered) {
    CHECK(one.id.chunk == next[one.id.file]++);
    CHECK(one.local == (one.id.chunk == 0));
  }
  CHECK(in_turns({}).empty());
}

}  // namespace sparkplan::copy
