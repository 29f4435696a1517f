// docs/security.md makes no promise without a test.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

const std::string kSource = test::source_folder();

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string threat_model() {
  const std::string page = text_of(kSource + "/docs/security.md");
  const auto begin = page.find("## Threat model");
  const auto end = page.find("## Reporting");
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  return page.substr(begin, end - begin);
}

std::vector<std::string> quoted_in(const std::string& text) {
  std::vector<std::string> names;
  for (auto at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1)) {
    const auto end = text.find('"', at + 1);
    REQUIRE(end != std::string::npos);
    names.push_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

std::string all_tests() {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource + "/tests")) {
    const auto extension = entry.path().extension();
    if (extension == ".cc" || extension == ".py" || extension == ".sh") all += text_of(entry.path());
  }
  return all;
}

}  // namespace

TEST_CASE("every test that the threat model names exists") {
  const auto names = quoted_in(threat_model());
  REQUIRE(names.size() > 30);
  const auto tests = all_tests();
  for (const std::string& name : names) {
    INFO(name);
    CHECK(tests.find('"' + name + '"') != std::string::npos);
  }
}

TEST_CASE("every row of the threat model names a test") {
  std::size_t rows = 0;
  const std::string page = threat_model();
  for (const std::string_view line : split_lines(page)) {
    if (!line.starts_with("| ") || line.starts_with("| attempt ")) continue;
    ++rows;
    INFO(line);
    CHECK(line.ends_with("\" |"));
  }
  CHECK(rows > 15);
}

TEST_CASE("every point of a list in the threat model names a test") {
  std::size_t points = 0;
  const std::string page = threat_model();
  for (const std::string_view line : split_lines(page)) {
    if (!line.starts_with("- ")) continue;
    ++points;
    INFO(line);
    CHECK_FALSE(quoted_in(std::string(line)).empty());
  }
  CHECK(points > 50);
}

}  // namespace sparkplan
