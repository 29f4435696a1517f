#include "engine/core/diagnostic.h"

#include <ctime>

#include "engine/core/text.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

Diagnostic finding(SourceRange where) {
  return Diagnostic{Severity::kError, "yaml.unknown-key", "unknown key \"mtuu\"", "", "cluster.yaml", where, {}, ""};
}

TEST_CASE("A finding is rendered with its place, its line and a caret range") {
  CHECK(render(finding({2, 3, 7}), "fabric:\n  mtuu: 9000\n") ==
        "cluster.yaml:2:3: error: unknown key \"mtuu\"\n"
        "    2 |   mtuu: 9000\n"
        "      |   ^~~~\n");
}

TEST_CASE("A finding without a position or a file is rendered with the parts it has") {
  CHECK(render(finding({}), "a: 1\n") == "cluster.yaml: error: unknown key \"mtuu\"\n");
  Diagnostic bare = finding({});
  bare.file.clear();
  bare.node = "spark-01";
  bare.severity = Severity::kWarning;
  CHECK(render(bare, "") == "warning: spark-01: unknown key \"mtuu\"\n");
}

TEST_CASE("Without the source only the position is rendered") {
  CHECK(render(finding({2, 3, 7}), "") == "cluster.yaml:2:3: error: unknown key \"mtuu\"\n");
}

TEST_CASE("The hint and the notes follow the source line") {
  Diagnostic diagnostic = finding({2, 1, 5});
  diagnostic.hint = "did you mean \"mtu\"?";
  diagnostic.notes.push_back({"first defined here", {1, 1, 2}});
  CHECK(render(diagnostic, "a: 1\nmtuu: 2\n") ==
        "cluster.yaml:2:1: error: unknown key \"mtuu\"\n"
        "    2 | mtuu: 2\n"
        "      | ^~~~\n"
        "  hint: did you mean \"mtu\"?\n"
        "cluster.yaml:1:1: note: first defined here\n"
        "    1 | a: 1\n"
        "      | ^\n");
}

TEST_CASE("A caret after a tab is aligned") {
  CHECK(render(finding({1, 2, 3}), "\tx") ==
        "cluster.yaml:1:2: error: unknown key \"mtuu\"\n"
        "    1 |         x\n"
        "      |         ^\n");
  CHECK(render(finding({1, 4, 5}), "ab\tx") ==
        "cluster.yaml:1:4: error: unknown key \"mtuu\"\n"
        "    1 | ab      x\n"
        "      |         ^\n");
}

TEST_CASE("Columns count characters, not bytes, and wide characters take two cells") {
  CHECK(render(finding({1, 4, 6}), "äö: xy") ==
        "cluster.yaml:1:4: error: unknown key \"mtuu\"\n"
        "    1 | äö: xy\n"
        "      |    ^~\n");
  CHECK(render(finding({1, 3, 4}), "名前x") ==
        "cluster.yaml:1:3: error: unknown key \"mtuu\"\n"
        "    1 | 名前x\n"
        "      |     ^\n");
}

TEST_CASE("A caret after an escaped character is aligned") {
  CHECK(render(finding({1, 2, 3}), "\u202ex") ==
        "cluster.yaml:1:2: error: unknown key \"mtuu\"\n"
        "    1 | <U+202E>x\n"
        "      |         ^\n");
}

TEST_CASE("An escape of an invisible character takes as many cells as it has characters") {
  CHECK(render(finding({1, 2, 3}), "\u200dx\u3164") ==
        "cluster.yaml:1:2: error: unknown key \"mtuu\"\n"
        "    1 | <U+200D>x<U+3164>\n"
        "      |         ^\n");
}

TEST_CASE("A position at or after the end of the line has its caret after the line") {
  CHECK(render(finding({1, 4, 4}), "abc\n") ==
        "cluster.yaml:1:4: error: unknown key \"mtuu\"\n"
        "    1 | abc\n"
        "      |    ^\n");
  CHECK(render(finding({1, 99, 120}), "abc\n") ==
        "cluster.yaml:1:99: error: unknown key \"mtuu\"\n"
        "    1 | abc\n"
        "      |    ^\n");
}

TEST_CASE("A line that the source lacks is rendered empty") {
  CHECK(render(finding({9, 1, 2}), "abc\n") ==
        "cluster.yaml:9:1: error: unknown key \"mtuu\"\n"
        "    9 | \n"
        "      | ^\n");
}

TEST_CASE("A carriage return before the newline is not shown") {
  CHECK(render(finding({1, 1, 2}), "abc\r\nd\r\n").find("\u240d") == std::string::npos);
}

TEST_CASE("A very long line is shortened around the caret") {
  const std::string text = render(finding({1, 5001, 5003}), std::string(5000, 'a') + "xy" + std::string(5000, 'b'));
  CHECK(text.size() < 700);
  CHECK(text.find("...aaa") != std::string::npos);
  CHECK(text.find("xybbb") != std::string::npos);
  const auto line = text.find(" | ...") + 3;
  const auto marks = text.find(" | ", line) + 3;
  CHECK(text.find("xy", line) - line == text.find("^~", marks) - marks);
}

TEST_CASE("A long line is shortened between characters, not inside one") {
  std::string line;
  for (int i = 0; i < 300; ++i) line += "ö";
  const std::string text = render(finding({1, 301, 302}), line + "xy" + line);
  CHECK(is_valid_utf8(text));
  CHECK(text.find("...öö") != std::string::npos);
  CHECK(text.find("öxy") != std::string::npos);
  CHECK(text.ends_with("| " + std::string(103, ' ') + "^\n"));
}

TEST_CASE("A position after the end of a long line has its caret after the line") {
  const std::string text = render(finding({1, 9000, 9001}), std::string(5000, 'a'));
  CHECK(text.find("...aaa") != std::string::npos);
  CHECK(text.ends_with("| " + std::string(103, ' ') + "^\n"));
}

TEST_CASE("Rendering a finding in a line of a megabyte costs little more than reading the line") {
  const std::string line(1 << 20, 'a');
  constexpr int kTurns = 20;
  const auto cpu_time_of = [](const auto& work) {
    const std::clock_t began = std::clock();
    for (int i = 0; i < kTurns; ++i) work();
    return std::clock() - began;
  };
  std::size_t seen = 0;
  const auto reading = cpu_time_of([&] {
    for (const char c : line) seen += c == 'a' ? 1 : 0;
  });
  const auto rendering = cpu_time_of([&] { seen += render(finding({1, 1 << 19, 0}), line).size(); });
  REQUIRE(seen > kTurns * line.size());
  CHECK(rendering < 4 * reading);  // The factor was 20 when every character of the line became a cell.
}

TEST_CASE("No message, hint, file, node or source controls the terminal") {
  Diagnostic diagnostic = finding({1, 1, 2});
  diagnostic.message = "m\x1b";
  diagnostic.hint = "h\x1b";
  diagnostic.file = "f\x1b";
  diagnostic.node = "n\x1b";
  diagnostic.notes.push_back({"o\x1b", {1, 1, 2}});
  CHECK(render(diagnostic, "s\x1b").find('\x1b') == std::string::npos);
}

TEST_CASE("Only a finding with severity error is an error") {
  Diagnostic warning = finding({});
  warning.severity = Severity::kWarning;
  CHECK_FALSE(has_errors({}));
  CHECK_FALSE(has_errors({warning}));
  CHECK(has_errors({warning, finding({})}));
}

TEST_CASE("Severities have the names used in reports") {
  CHECK(to_string(Severity::kError) == "error");
  CHECK(to_string(Severity::kWarning) == "warning");
  CHECK(to_string(Severity::kNote) == "note");
}

}  // namespace
}  // namespace sparkplan
