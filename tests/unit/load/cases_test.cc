// Every folder of cases/ is one cluster.yaml with all its findings. With SPARKPLAN_ACCEPT=1 the findings are written
// instead of compared: read the difference before you keep it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/load/load.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string place(const SourceRange& where) {
  return std::to_string(where.line) + ":" + std::to_string(where.column) + "-" + std::to_string(where.end_column);
}

std::string describe(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const auto& diagnostic : diagnostics) {
    text += place(diagnostic.where) + " " + std::string(to_string(diagnostic.severity)) + " " + diagnostic.code + ": " +
            diagnostic.message + "\n";
    if (!diagnostic.hint.empty()) text += "    hint: " + diagnostic.hint + "\n";
    for (const auto& note : diagnostic.notes) text += "    note: " + place(note.where) + " " + note.message + "\n";
  }
  return text.empty() ? "no findings\n" : text;
}

}  // namespace

TEST_CASE("every case in cases/ has exactly its expected findings") {
  const std::filesystem::path folder = std::filesystem::path(test::source_folder()) / "tests/unit/load/cases";
  const bool accept = std::getenv("SPARKPLAN_ACCEPT") != nullptr;
  std::set<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) cases.insert(entry.path());
  CHECK(cases.size() >= 70);
  for (const auto& path : cases) {
    INFO(path.filename().string());
    const auto loaded = load_cluster_file(path / "cluster.yaml", builtin_registry());
    REQUIRE(loaded);
    CHECK(loaded->cluster.has_value() == !has_errors(loaded->diagnostics));
    const std::string findings = describe(loaded->diagnostics);
    if (accept) std::ofstream(path / "findings.txt", std::ios::binary) << findings;
    CHECK(read_file(path / "findings.txt") == findings);
  }
}

}  // namespace sparkplan
