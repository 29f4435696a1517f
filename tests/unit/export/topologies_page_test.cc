// docs/topologies.md: each picture is the program's drawing of the file above it.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "engine/core/text.h"
#include "engine/export/export.h"
#include "engine/load/load.h"
#include "engine/resource/registry.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

const std::string kPage = test::source_folder() + "/docs/topologies.md";
constexpr std::string_view kFence = "```";
constexpr std::string_view kFileFence = "```yaml";

/// A file of the page, and the lines of the picture below it.
struct Drawing {
  std::string file;
  std::string picture;
  std::size_t begin = 0;  ///< First line of the picture.
  std::size_t end = 0;    ///< The fence after it.
};

std::vector<std::string> lines_of_page() {
  std::ifstream page(kPage, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) lines.emplace_back(line);
  return lines;
}

std::vector<Drawing> drawings_in(const std::vector<std::string>& lines) {
  std::vector<Drawing> drawings;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (lines[at] != kFileFence) continue;
    Drawing drawing;
    for (++at; at < lines.size() && lines[at] != kFence; ++at) drawing.file += lines[at] + "\n";
    REQUIRE(at + 1 < lines.size());
    REQUIRE(lines[++at] == kFence);
    drawing.begin = at + 1;
    for (++at; at < lines.size() && lines[at] != kFence; ++at) drawing.picture += lines[at] + "\n";
    drawing.end = at;
    drawings.push_back(std::move(drawing));
  }
  return drawings;
}

std::string drawn(const std::string& file) {
  const auto loaded = load_cluster(file, "cluster.yaml", builtin_registry());
  INFO(file);
  for (const auto& finding : loaded.diagnostics) UNSCOPED_INFO(render(finding, file));
  REQUIRE(loaded.cluster);
  const auto picture = export_cluster(*loaded.cluster, "topology", builtin_registry());
  REQUIRE(picture);
  return picture->text;
}

/// With SPARKPLAN_ACCEPT set, writes the current pictures into the page.
void rewrite(const std::vector<std::string>& lines, const std::vector<Drawing>& drawings) {
  std::ofstream page(kPage, std::ios::binary | std::ios::trunc);
  std::size_t at = 0;
  for (const Drawing& drawing : drawings) {
    for (; at < drawing.begin; ++at) page << lines[at] << "\n";
    page << drawn(drawing.file);
    at = drawing.end;
  }
  for (; at < lines.size(); ++at) page << lines[at] << "\n";
}

}  // namespace

TEST_CASE("topologies: each picture on the page matches the file above it") {
  const auto lines = lines_of_page();
  const auto drawings = drawings_in(lines);
  REQUIRE(drawings.size() == 6);
  if (std::getenv("SPARKPLAN_ACCEPT") != nullptr) return rewrite(lines, drawings);
  for (const Drawing& drawing : drawings) CHECK(drawing.picture == drawn(drawing.file));
}

}  // namespace sparkplan
