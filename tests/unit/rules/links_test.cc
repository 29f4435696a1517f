// Every relative link of a page leads to a file, from each place where the page is read.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

/// The pages of the repository. Those of the resource types are there twice: below docs/resources they are links.
std::vector<fs::path> pages() {
  const fs::path source = test::source_folder();
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(source)) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  for (const char* folder : {"docs", "engine", "examples", "resources", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source / folder)) {
      if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
  }
  return found;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The targets of the links in a text, without code and without their anchors.
std::vector<std::string> relative_links_in(const std::string& page) {
  static const std::regex code("`[^`]*`");
  static const std::regex link("\\]\\(([^)\\s#:]+)(#[^)\\s]*)?\\)");
  std::vector<std::string> links;
  bool block = false;
  for (const std::string_view line : split_lines(page)) {
    if (line.starts_with("```")) block = !block;
    if (block) continue;
    const std::string text = std::regex_replace(std::string(line), code, "");
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) links.push_back((*at)[1]);
  }
  return links;
}

}  // namespace

TEST_CASE("links in code, to other sites and within a page are no relative links") {
  CHECK(relative_links_in("[a](b.md#c), [d](../e/f.md) `[g](h.md)` [i](https://j.k) [l](#m)\n```\n[n](o.md)\n```\n") ==
        std::vector<std::string>{"b.md", "../e/f.md"});
}

TEST_CASE("every relative link of a page leads to a file") {
  std::size_t links = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& link : relative_links_in(text_of(page))) {
      INFO(page.string() << ": " << link);
      CHECK(fs::exists(page.parent_path() / link));
      ++links;
    }
  }
  CHECK(links > 100);
}

TEST_CASE("the pages below docs/resources are those of the types") {
  for (const auto& entry : fs::directory_iterator(test::source_folder() + "/docs/resources")) {
    if (entry.path().filename() == "README.md") continue;
    INFO(entry.path().string());
    CHECK(fs::is_symlink(entry.symlink_status()));
  }
}

}  // namespace sparkplan
