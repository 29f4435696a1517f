// Valid files, damaged at random with a fixed seed. Loading must end with findings inside the file or with a cluster,
// never with a crash. With the sanitizers this is a cheap fuzz test.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "engine/core/text.h"
#include "engine/load/load.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t limit) { return limit == 0 ? 0 : random() % limit; }

std::vector<std::string> seeds() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() + "/examples")) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  const std::filesystem::path cases = test::source_folder() + "/tests/unit/load/cases";
  for (const char* const name :
       {"fabric-without-effect", "fabric-not-a-ring", "sections-given-twice", "nodes-ssh-settings",
        "yaml-alias-is-fine", "schema-null-where-nothing-inherited", "fabric-duplicate-addresses"}) {
    paths.push_back(cases / name / "cluster.yaml");
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    texts.push_back(text.str());
    CHECK_FALSE(texts.back().empty());
  }
  return texts;
}

void damage_byte(std::string& text, Random& random) {
  static const std::string kInteresting = "{}[]:,-#&*!|>'\"%@`?~\t\n \\0a/\x7f\x80\xff";
  const std::size_t place = below(random, text.size() + 1);
  const char byte = kInteresting[below(random, kInteresting.size())];
  switch (below(random, 3)) {
    case 0:
      text.insert(place, 1, byte);
      break;
    case 1:
      if (place < text.size()) text[place] = byte;
      break;
    default:
      if (place < text.size()) text.erase(place, 1 + below(random, 4));
      break;
  }
}

void damage_line(std::string& text, Random& random) {
  std::vector<std::string> lines;
  for (const auto line : split_lines(text)) lines.emplace_back(line);
  if (lines.empty()) return;
  const std::size_t place = below(random, lines.size());
  const std::size_t other = below(random, lines.size());
  switch (below(random, 4)) {
    case 0:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(place));
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(place), lines[other]);
      break;
    case 2:
      std::swap(lines[place], lines[other]);
      break;
    default:
      lines[place].insert(0, 1 + below(random, 3), ' ');
      break;
  }
  text = join(lines, "\n") + "\n";
}

void check_inside(const SourceRange& where, const std::vector<std::string_view>& lines) {
  const auto last = std::max<std::size_t>(1, lines.size());
  const bool inside = where.line >= 1 && static_cast<std::size_t>(where.line) <= last && where.column >= 1 &&
                      where.end_column > where.column;
  CHECK(inside);
  if (!inside || lines.empty()) return;
  // The column after the end of a line marks a missing text.
  CHECK(static_cast<std::size_t>(where.column) <= lines[static_cast<std::size_t>(where.line) - 1].size() + 1);
}

}  // namespace

TEST_CASE("damaged files give findings inside the file, or a cluster") {
  const auto texts = seeds();
  Random random(20240607);
  int with_cluster = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = texts[below(random, texts.size())];
    for (std::size_t i = 0, count = 1 + below(random, 4); i < count; ++i) {
      if (below(random, 2) == 0) {
        damage_byte(text, random);
      } else {
        damage_line(text, random);
      }
    }
    INFO(text);
    const auto loaded = load_cluster(text, "cluster.yaml", builtin_registry());
    CHECK(loaded.cluster.has_value() == !has_errors(loaded.diagnostics));
    with_cluster += loaded.cluster.has_value() ? 1 : 0;
    const auto lines = split_lines(text);
    for (const auto& diagnostic : loaded.diagnostics) {
      INFO(diagnostic.code + ": " + diagnostic.message);
      check_inside(diagnostic.where, lines);
      for (const auto& note : diagnostic.notes) check_inside(note.where, lines);
      CHECK_FALSE(diagnostic.message.empty());
      CHECK(is_valid_utf8(diagnostic.message));
    }
  }
  CHECK(with_cluster > 15);
}

}  // namespace sparkplan
