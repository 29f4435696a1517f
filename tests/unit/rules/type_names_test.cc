// Two types of one name in one namespace share their inline functions in a program that has both: the linker keeps one.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

/// The name of the type that a line at the left margin defines; nothing for other lines, also for declarations.
std::optional<std::string> defined_in(const std::string& line) {
  std::vector<std::string> words = words_of(line);
  if (!words.empty() && words.front() == "enum") words.erase(words.begin());
  if (words.size() < 3 || (words[0] != "struct" && words[0] != "class")) return std::nullopt;
  if (!line.ends_with('{') && !line.ends_with("{};")) return std::nullopt;
  return words[1];
}

/// "sparkplan::Route", for each type that a header defines outside of other types.
std::vector<std::string> types_of(const std::string& text) {
  std::vector<std::string> types;
  std::string space;
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with("namespace ")) space = words_of(line)[1];
    if (line.starts_with(' ')) continue;
    if (const auto name = defined_in(std::string(line))) types.push_back(space + "::" + *name);
  }
  return types;
}

std::map<std::string, std::vector<std::string>> headers_of_types() {
  std::map<std::string, std::vector<std::string>> headers;
  const fs::path root = test::source_folder();
  for (const char* tree : {"engine", "resources"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / tree)) {
      if (entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      for (const std::string& type : types_of(text)) {
        headers[type].push_back(fs::relative(entry.path(), root).string());
      }
    }
  }
  return headers;
}

}  // namespace

TEST_CASE("a type is found in its namespace, and a declaration or a type within another is not") {
  CHECK(types_of("namespace sparkplan {\nclass A;\nstruct B : A {\n  struct C {\n  };\n};\n}\n") ==
        std::vector<std::string>{"sparkplan::B"});
  CHECK(types_of("namespace sparkplan::formats {\nenum class D : int {\n  kOne,\n};\n}\n") ==
        std::vector<std::string>{"sparkplan::formats::D"});
}

TEST_CASE("no two headers define types of one name in one namespace") {
  const auto headers = headers_of_types();
  for (const auto& [type, files] : headers) {
    INFO(type << " is in " << files.front() << " and in " << files.back());
    CHECK(files.size() == 1);
  }
  // Otherwise the headers are not in the folder that this test searches.
  CHECK(headers.contains("sparkplan::FabricPort"));
}

}  // namespace sparkplan
