// Findings as text for people.
#include "engine/report/text/diagnostics_text.h"

#include <algorithm>
#include <chrono>

#include "engine/core/text.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

Diagnostic about(const std::string& node, const std::string& message) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::kWarning;
  diagnostic.code = "limits.not_effective";
  diagnostic.message = message;
  diagnostic.file = "cluster.yaml";
  diagnostic.where = {1, 1, 2};
  diagnostic.node = node;
  return diagnostic;
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (const std::string_view line : split_lines(text)) count += line.find(part) != std::string_view::npos ? 1U : 0U;
  return count;
}

}  // namespace

TEST_CASE("a finding that several nodes share is there once, with their names") {
  std::vector<Diagnostic> findings;
  for (int number = 1; number <= 8; ++number)
    findings.push_back(about("spark-0" + std::to_string(number), "a new login gets memlock 8192"));
  findings.push_back(about("spark-03", "something else"));
  const std::string text = diagnostics_text(findings, "limits: []\n", {});
  INFO(text);
  CHECK(lines_with(text, "warning: spark-[01-08]: a new login gets memlock 8192") == 1);
  CHECK(lines_with(text, "warning: spark-03: something else") == 1);
  CHECK(lines_with(text, "warning") == 2);
}

TEST_CASE("a finding whose text names its node is shared, too") {
  const std::string text = diagnostics_text(
      {about("a-1", "a-1 was removed from the file"), about("a-2", "a-2 was removed from the file")}, "", {});
  CHECK(lines_with(text, "warning: a-[1-2]: a-[1-2] was removed from the file") == 1);
  // The name of one node may be a part of another name.
  const std::string other = diagnostics_text({about("a-1", "a-10 is off"), about("a-2", "a-20 is off")}, "", {});
  CHECK(lines_with(other, "is off") == 2);
}

TEST_CASE("findings of the file are never merged, and neither are findings at different places") {
  Diagnostic second = about("", "this key is unknown");
  second.where = {2, 1, 2};
  const std::string text = diagnostics_text({about("", "this key is unknown"), second}, "", {});
  CHECK(lines_with(text, "this key is unknown") == 2);
}

TEST_CASE("long findings are wrapped, and the lines of the file are cut around the caret") {
  std::string message = "a";
  for (int i = 0; i < 60; ++i) message += " word";
  const std::string source = "key: " + std::string(150, 'x') + "\n";
  const std::string text = diagnostics_text({about("spark-01", message)}, source, {});
  INFO(text);
  for (const std::string_view line : split_lines(text)) CHECK(text_width(line) <= 100);
  CHECK(lines_with(text, " | key: xxx") == 1);
  CHECK(lines_with(text, "xxx...") == 1);
  TextStyle verbose;
  verbose.verbose = true;
  CHECK(lines_with(diagnostics_text({about("spark-01", message)}, source, verbose), std::string(150, 'x')) == 1);
}

TEST_CASE("a quoted line of the file fits the terminal, and the caret stays below its word") {
  for (const char* filler : {"x", "漢"}) {
    std::string before;
    for (int i = 0; i < 60; ++i) before += filler;
    Diagnostic finding = about("", "this key is unknown");
    finding.where = {1, 62, 66};
    const std::string source = before + " oops " + before + before + "\n";
    for (const int width : {40, 60, 100, 180}) {
      TextStyle style;
      style.width = width;
      const std::string text = diagnostics_text({finding}, source, style);
      INFO(width << "\n" << text);
      std::string_view quote;
      std::string_view marks;
      for (const std::string_view line : split_lines(text)) {
        if (line.starts_with("    1 | ")) quote = line;
        if (line.starts_with("      | ")) marks = line;
      }
      REQUIRE(quote.find("oops") != std::string_view::npos);
      REQUIRE(marks.find('^') != std::string_view::npos);
      const std::string head(quote.substr(0, quote.find("oops")));
      const std::size_t wide = filler[0] == 'x' ? 0 : text_width(head) - 9 - (head.find("...") == 8 ? 3 : 0);
      CHECK(marks.find('^') == text_width(head) + wide);
      CHECK(marks.find("^~~~") != std::string_view::npos);
      CHECK(text_width(quote) <= static_cast<std::size_t>(width));
      CHECK(text_width(marks) <= static_cast<std::size_t>(width));
    }
  }
}

TEST_CASE("a node that invents findings hides only its own: ten of a node are printed, and all of the others") {
  std::vector<Diagnostic> findings;
  for (int i = 0; i < 60; ++i) findings.push_back(about("liar", "harmless " + std::to_string(i)));
  for (int i = 0; i < 5; ++i) findings.push_back(about("spark-01", "real " + std::to_string(i)));
  // A finding that the liar shares with another node is printed for the other one.
  findings.push_back(about("liar", "shared"));
  findings.push_back(about("spark-02", "shared"));
  const std::string text = diagnostics_text(findings, "", {});
  INFO(text);
  CHECK(lines_with(text, "harmless") == 10);
  CHECK(lines_with(text, "real") == 5);
  CHECK(lines_with(text, "shared") == 1);
  CHECK(text.ends_with("and 50 more of liar\n  hint: use --json to list all\n"));
}

TEST_CASE("the numbers of findings that are not printed take a bounded number of lines") {
  std::vector<Diagnostic> findings;
  for (int node = 100; node < 200; ++node) {
    for (int i = 0; i < 12; ++i) findings.push_back(about("n" + std::to_string(node), "shared " + std::to_string(i)));
  }
  const std::string shared = diagnostics_text(findings, "", {});
  INFO(shared);
  CHECK(lines_with(shared, "warning: n[100-199]: shared") == 10);
  CHECK(lines_with(shared, "and 2 more of n[100-199]") == 1);
  for (int node = 100; node < 200; ++node) {
    findings.push_back(about("n" + std::to_string(node), "own " + std::to_string(7 * node)));
  }
  const std::string own = diagnostics_text(findings, "", {});
  INFO(own);
  CHECK(lines_with(own, "and 1 more of n1") == 10);
  CHECK(lines_with(own, "and 92 more of other nodes") == 1);
}

TEST_CASE("the texts of a finding about a node are cut where they are printed: the node words parts of them") {
  Diagnostic one = finding(Severity::kWarning, "fabric.take-over", "eth1 loses " + std::string(1 << 20, 'x'), "");
  one.node = "n1";
  const Diagnostic other = finding(Severity::kWarning, "a.b", "another finding", "");
  const std::string text = diagnostics_text({one, other}, "", {});
  CHECK(text.size() < 8'000);
  CHECK(text.find("eth1 loses") != std::string::npos);
  CHECK(text.find("another finding") != std::string::npos);
}

TEST_CASE("30,000 findings that differ in one text only cost less than five seconds") {
  for (const bool in_hint : {false, true}) {
    std::vector<Diagnostic> findings;
    for (int i = 0; i < 30'000; ++i) {
      findings.push_back(about("liar", "the same"));
      (in_hint ? findings.back().hint : findings.back().code) = "limits.x" + std::to_string(i);
    }
    const auto begin = std::chrono::steady_clock::now();
    const std::string text = diagnostics_text(findings, "", {});
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    CHECK(lines_with(text, "the same") == 10);
  }
}

}  // namespace sparkplan
