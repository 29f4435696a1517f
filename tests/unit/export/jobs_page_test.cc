// docs/jobs.md beside the formats of `export`.
#include <fstream>
#include <iterator>
#include <string>

#include "engine/core/text.h"
#include "engine/export/export.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {

TEST_CASE("exports: the page of jobs has a line for each format, with the next command to type") {
  std::ifstream file(test::source_folder() + "/docs/jobs.md", std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& format : export_formats()) {
    INFO(format);
    std::size_t rows = 0;
    for (const auto line : split_lines(page)) {
      const auto cells = split(line, '|');
      if (cells.size() != 5 || trim(cells[1]) != "`" + format + "`") continue;
      const auto command = trim(cells[3]);
      if (command.starts_with('`') && command.ends_with('`') && command.size() > 2) ++rows;
    }
    CHECK(rows == 1);
  }
}

}  // namespace sparkplan
